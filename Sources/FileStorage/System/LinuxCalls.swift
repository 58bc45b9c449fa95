import Platform

/// Linux calls that the Glibc module does not expose to Swift, because they need `_GNU_SOURCE`.
///
/// They are looked up by name once. If the C library does not have one, the call fails with `ENOSYS`, which every
/// caller treats as "not supported by this filesystem".
enum LinuxCalls {
    /// `O_TMPFILE` on all architectures that Swift supports: `__O_TMPFILE | O_DIRECTORY`.
    static let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY
    /// `O_PATH`.
    static let pathOnly: Int32 = 0o10_000_000
    /// `AT_EMPTY_PATH`: refers to the descriptor itself.
    static let emptyPath: Int32 = 0x1000

    private typealias Rename =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    private typealias SyncFilesystem = @convention(c) (Int32) -> Int32
    private typealias Allocate = @convention(c) (Int32, Int32, Int, Int) -> Int32
    private typealias FilesystemStatus = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    private typealias GetAttribute =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
    private typealias SetAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32

    private typealias CopyRange =
        @convention(c) (Int32, UnsafeMutablePointer<Int64>?, Int32, UnsafeMutablePointer<Int64>?, Int, UInt32) -> Int

    private static let copyCall = unsafeBitCast(dlsym(nil, "copy_file_range"), to: CopyRange?.self)
    private static let renameCall = unsafeBitCast(dlsym(nil, "renameat2"), to: Rename?.self)
    private static let syncCall = unsafeBitCast(dlsym(nil, "syncfs"), to: SyncFilesystem?.self)
    private static let allocateCall = unsafeBitCast(dlsym(nil, "fallocate"), to: Allocate?.self)
    private static let statusCall = unsafeBitCast(dlsym(nil, "fstatfs"), to: FilesystemStatus?.self)
    private static let getAttributeCall = unsafeBitCast(dlsym(nil, "lgetxattr"), to: GetAttribute?.self)
    private static let setAttributeCall = unsafeBitCast(dlsym(nil, "fsetxattr"), to: SetAttribute?.self)

    /// renameat2(2) with `RENAME_NOREPLACE`.
    static func renameWithoutReplacing(_ from: Int32, _ old: String, _ to: Int32, _ new: String) -> Int32 {
        guard let renameCall else { return unsupported() }
        return renameCall(from, old, to, new, 1)
    }

    /// copy_file_range(2) at both files' offsets.
    static func copyRange(_ from: Int32, _ to: Int32, _ count: Int) -> Int {
        guard let copyCall else { return Int(unsupported()) }
        return copyCall(from, nil, to, nil, count, 0)
    }

    /// syncfs(2).
    static func syncFilesystem(_ descriptor: Int32) -> Int32 {
        guard let syncCall else { return unsupported() }
        return syncCall(descriptor)
    }

    /// fallocate(2) with `FALLOC_FL_KEEP_SIZE`.
    static func allocateKeepingSize(_ descriptor: Int32, length: Int64) -> Int32 {
        guard let allocateCall else { return unsupported() }
        return allocateCall(descriptor, 1, 0, Int(length))
    }

    /// fallocate(2) with `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_KEEP_SIZE`.
    static func punchHole(_ descriptor: Int32, _ offset: Int64, length: Int64) -> Int32 {
        guard let allocateCall else { return unsupported() }
        return allocateCall(descriptor, 2 | 1, Int(offset), Int(length))
    }

    /// The filesystem's magic number from fstatfs(2), or 0 if it is unknown.
    static func filesystemMagic(_ descriptor: Int32) -> UInt32 {
        guard let statusCall else { return 0 }
        // struct statfs starts with the type as a long and has 120 bytes on 64-bit Linux.
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { buffer -> UInt32 in
            guard let base = buffer.baseAddress, statusCall(descriptor, base) == 0 else { return 0 }
            return UInt32(truncatingIfNeeded: base.load(as: Int.self))
        }
    }

    /// lgetxattr(2): the attribute's value, or `nil` if it does not exist or has more than 1,024 bytes.
    static func attribute(_ path: String, _ name: String) -> [UInt8]? {
        guard let getAttributeCall else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer -> [UInt8]? in
            guard let base = buffer.baseAddress else { return nil }
            let count = getAttributeCall(path, name, base, buffer.count)
            return count < 0 || count > buffer.count ? nil : Array(buffer[..<count])
        }
    }

    /// fsetxattr(2).
    static func setAttribute(_ descriptor: Int32, _ name: String, _ value: [UInt8]) -> Int32 {
        guard let setAttributeCall else { return unsupported() }
        return value.withUnsafeBytes { bytes -> Int32 in
            guard let base = bytes.baseAddress else { return 0 }
            return setAttributeCall(descriptor, name, base, bytes.count, 0)
        }
    }

    private static func unsupported() -> Int32 {
        errno = ENOSYS
        return -1
    }
}
