/// What tells that a file is still the one, with the bytes, that it was.
///
/// A file that was changed has another modification time or size; one that was replaced, another inode.
public struct FileIdentity: Hashable, Sendable {
    /// The size in bytes.
    public var size: Int64
    /// The modification time, in nanoseconds since 1970.
    public var modified: Int64
    /// The device that the file lies on.
    public var device: UInt64
    /// The file's number on its device.
    public var inode: UInt64

    /// Creates an identity.
    public init(size: Int64, modified: Int64, device: UInt64, inode: UInt64) {
        self.size = size
        self.modified = modified
        self.device = device
        self.inode = inode
    }
}
