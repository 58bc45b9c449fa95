// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

/// The free space of a filesystem.
package enum FreeSpace {
    /// The number of bytes that an unprivileged user can still write, or `nil` if the filesystem does not report it.
    package static func bytes(_ descriptor: FileDescriptor) -> Int64? {
        var status = statvfs()
        guard FileCalls.fstatvfs(descriptor.raw, &status) == 0, status.f_blocks > 0 else { return nil }
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }

    /// The error for a file that does not fit.
    package static func error(needed: Int64, free: Int64, directory: String) -> StorageError {
        StorageError(
            .noSpace,
            "no space: needs \(Self.text(needed)), \(Self.text(free)) free in '\(directory)'; "
                + "free some space there or choose another directory",
            errno: ENOSPC
        )
    }

    private static func text(_ bytes: Int64) -> String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var unit = 0
        var tenths = bytes > .max / 10 ? bytes / 1024 * 10 : bytes * 10
        if bytes > .max / 10 { unit = 1 }
        while tenths >= 10_240, unit < units.count - 1 {
            tenths /= 1024
            unit += 1
        }
        return unit == 0 ? "\(bytes) bytes" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
