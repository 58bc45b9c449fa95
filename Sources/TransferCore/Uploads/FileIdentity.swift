// SPDX-License-Identifier: Apache-2.0
/// The attributes that show whether a file changed between two checks.
///
/// Every write changes the change time (ctime), which no program can set; `touch -r`, and programs that restore the
/// modification time, reset the other attributes. `chmod`, `link` and `rename` change it as well: an unchanged file may
/// look changed, but a changed one never looks unchanged.
///
/// - Source: POSIX.1-2024, `<sys/stat.h>` and XBD 4.12, File Times Update.
public struct FileIdentity: Hashable, Sendable {
    /// The size in bytes.
    public var size: Int64
    /// The modification time, in nanoseconds since 1970.
    public var modified: Int64
    /// The change time, in nanoseconds since 1970; `nil` in records of earlier versions, which did not store it.
    public var changed: Int64?
    /// The device that contains the file.
    public var device: UInt64
    /// The file's number on its device.
    public var inode: UInt64

    /// Creates an identity.
    public init(size: Int64, modified: Int64, changed: Int64?, device: UInt64, inode: UInt64) {
        self.size = size
        self.modified = modified
        self.changed = changed
        self.device = device
        self.inode = inode
    }

    /// Whether nothing shows that the file changed between two checks; a change time that one of them lacks is not
    /// compared.
    public func matches(_ other: FileIdentity) -> Bool {
        guard let changed, let otherChanged = other.changed else {
            return self.size == other.size && self.modified == other.modified && self.device == other.device
                && self.inode == other.inode
        }
        return changed == otherChanged && self == other
    }
}

extension [FileIdentity] {
    /// Whether both have the same number of files, and each file matches the one at its index.
    package func matches(_ others: [FileIdentity]) -> Bool {
        self.count == others.count && zip(self, others).allSatisfy { $0.matches($1) }
    }
}
