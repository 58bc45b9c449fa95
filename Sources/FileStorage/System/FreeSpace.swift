// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

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
    static func error(needed: Int64, free: Int64, directory: String) -> StorageError {
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

extension FileDescriptor {
    /// Reads a complete range; throws `.inputOutput` if the file is shorter or the range is invalid.
    func bytes(_ range: ByteRange, path: String) throws(StorageError) -> [UInt8] {
        guard range.lowerBound >= 0, let size = self.status()?.st_size, range.upperBound <= Int64(size) else {
            throw StorageError(.inputOutput, "cannot read '\(path)': it is shorter than expected; download it again")
        }
        var number: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            let result = self.read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            if result < 0 { number = Int32(-result) }
            count = max(0, min(result, range.count))
        }
        if number == 0, bytes.count < range.count { number = PrefixDigests.tooShort }
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, "cannot read", path) }
        return bytes
    }
}
