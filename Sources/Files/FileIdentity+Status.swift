// SPDX-License-Identifier: Apache-2.0
package import Platform
package import TransferCore

extension FileIdentity {
    package init(_ status: stat) {
        self.init(
            size: Int64(status.st_size),
            modified: Self.nanoseconds(status.modificationTime),
            changed: Self.nanoseconds(status.statusChangeTime),
            device: UInt64(truncatingIfNeeded: status.st_dev),
            inode: UInt64(status.st_ino)
        )
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension DirectoryHandle {
    /// Whether a name has another file than the one that may be replaced; false if none has the name.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - replaceable: The file that may be replaced; `nil` if any may be.
    /// - Returns: Whether another one has it.
    /// - Throws: ``StorageError`` if the name cannot be examined.
    package func hasOther(_ name: String, than replaceable: FileIdentity?) throws(StorageError) -> Bool {
        guard let replaceable, let status = try self.status(name) else { return false }
        return !FileIdentity(status).matches(replaceable)
    }
}
