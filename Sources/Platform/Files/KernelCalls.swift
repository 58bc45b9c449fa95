// SPDX-License-Identifier: Apache-2.0
/// System calls beyond POSIX that few systems have.
///
/// On a system without a call, and in a build with `PORTABLE_CALLS`, it fails with `ENOSYS`, which every caller treats
/// as "not supported by this filesystem". Glibc's module does not export them, because they need `_GNU_SOURCE`: they are
/// looked up by name once.
package enum KernelCalls {
    #if os(Linux) && !PORTABLE_CALLS
    private static let isAvailable = true
    #else
    private static let isAvailable = false
    #endif

    private typealias Rename =
        @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    private typealias SyncFilesystem = @convention(c) (Int32) -> Int32
    private typealias Allocate = @convention(c) (Int32, Int32, Int, Int) -> Int32
    private typealias GetAttribute =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
    private typealias SetAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeRawPointer, Int, Int32) -> Int32
    private typealias GetOpenAttribute =
        @convention(c) (Int32, UnsafePointer<CChar>, UnsafeMutableRawPointer, Int) -> Int
    private typealias RemoveAttribute = @convention(c) (Int32, UnsafePointer<CChar>) -> Int32
    private typealias CopyRange =
        @convention(c) (Int32, UnsafeMutablePointer<Int64>?, Int32, UnsafeMutablePointer<Int64>?, Int, UInt32) -> Int

    private typealias Filesystem = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32
    private typealias WriteVector = @convention(c) (Int32, UnsafePointer<iovec>, Int32, Int, Int32) -> Int

    private static func address(_ name: String) -> UnsafeMutableRawPointer? {
        self.isAvailable ? dlsym(nil, name) : nil
    }

    private static let copyCall = unsafeBitCast(Self.address("copy_file_range"), to: CopyRange?.self)
    private static let filesystemCall = unsafeBitCast(Self.address("fstatfs"), to: Filesystem?.self)
    private static let writeCall = unsafeBitCast(Self.address("pwritev2"), to: WriteVector?.self)
    private static let renameCall = unsafeBitCast(Self.address("renameat2"), to: Rename?.self)
    private static let syncCall = unsafeBitCast(Self.address("syncfs"), to: SyncFilesystem?.self)
    private static let allocateCall = unsafeBitCast(Self.address("fallocate"), to: Allocate?.self)
    private static let getAttributeCall = unsafeBitCast(Self.address("lgetxattr"), to: GetAttribute?.self)
    private static let getOpenAttributeCall = unsafeBitCast(Self.address("fgetxattr"), to: GetOpenAttribute?.self)
    private static let removeAttributeCall = unsafeBitCast(Self.address("fremovexattr"), to: RemoveAttribute?.self)
    private static let setAttributeCall = unsafeBitCast(Self.address("fsetxattr"), to: SetAttribute?.self)

    // MARK: Pipes

    /// Writes to a pipe as much as there is room for, without waiting (`RWF_NOWAIT` of pwritev2(2); for pipes since Linux 6.4).
    ///
    /// `O_NONBLOCK` would do the same, but is a property of the pipe's end, which other processes may share.
    ///
    /// - Returns: The number of bytes, or -1 with `errno`: `EAGAIN` if there is no room.
    package static func writeWithoutWaiting(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        guard let call = self.writeCall else { return Int(self.unsupported()) }
        // The system does not write to the bytes.
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return call(descriptor, &vector, 1, -1, 0x8)
    }

    /// Makes a pipe larger, so that its ends wait for each other less often (`F_SETPIPE_SZ` of fcntl(2)).
    ///
    /// A larger pipe remains as it is. The system refuses a size above `/proc/sys/fs/pipe-max-size`, and a larger pipe to a
    /// user whose pipes together are too large.
    package static func enlargePipe(_ descriptor: Int32, to size: Int32) {
        // F_GETPIPE_SZ and F_SETPIPE_SZ of <linux/fcntl.h>.
        guard self.isAvailable, fcntl(descriptor, 1032) < size else { return }
        _ = fcntl(descriptor, 1031, size)
    }

    // MARK: Files and names

    /// Opens an unnamed file in a directory (`O_TMPFILE` of open(2)).
    ///
    /// - Returns: The descriptor, or -1 with `errno`.
    package static func openUnnamed(in directory: Int32, _ access: Int32, mode: mode_t) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.openUnnamed(directory, access, mode) }
        guard self.isAvailable else { return self.unsupported() }
        // `__O_TMPFILE | O_DIRECTORY` on all architectures that Swift supports.
        return openat(directory, ".", 0o20_000_000 | O_DIRECTORY | access | O_CLOEXEC, mode)
    }

    /// Opens a directory that may be searched but not read (`O_PATH` of open(2)).
    ///
    /// - Returns: The descriptor, or -1 with `errno`.
    package static func openForSearch(_ path: String) -> Int32 {
        if FileCalls.simulation != nil { return self.unsupported(EACCES) }
        guard self.isAvailable else { return self.unsupported(EACCES) }
        return open(path, 0o10_000_000 | O_DIRECTORY | O_CLOEXEC)
    }

    /// Links an open file to a name (`AT_EMPTY_PATH` of linkat(2), or the descriptor's path below /proc).
    ///
    /// Links by descriptor if the kernel permits it (with a capability, or since Linux 6.10), which avoids /proc.
    ///
    /// - Returns: 0, or -1 with `errno`; `EEXIST` if the name is taken.
    package static func link(_ descriptor: Int32, in directory: Int32, as name: String) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.link(descriptor, directory, name) }
        guard self.isAvailable else { return self.unsupported() }
        // Given as a pointer: the implicit conversion of a string copies it to the heap.
        return name.withCString { name in
            if "".withCString({ linkat(descriptor, $0, directory, name, 0x1000) }) == 0 { return 0 }
            guard errno == ENOENT || errno == EPERM || errno == EINVAL else { return -1 }
            return linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory, name, AT_SYMLINK_FOLLOW)
        }
    }

    /// renameat2(2) with `RENAME_NOREPLACE`.
    package static func renameWithoutReplacing(_ from: Int32, _ old: String, _ to: Int32, _ new: String) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.rename(from, old, to, new, replacing: false) }
        guard let renameCall else { return self.unsupported() }
        return renameCall(from, old, to, new, 1)
    }

    // MARK: Data

    /// copy_file_range(2) at both files' offsets.
    package static func copyRange(_ from: Int32, _ to: Int32, _ count: Int) -> Int {
        if let simulation = FileCalls.simulation { return simulation.copyRange(from, to, count) }
        guard let copyCall else { return Int(self.unsupported()) }
        return copyCall(from, nil, to, nil, count, 0)
    }

    /// syncfs(2).
    package static func syncFilesystem(_ descriptor: Int32) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.syncFilesystem(descriptor) }
        guard let syncCall else { return self.unsupported() }
        return syncCall(descriptor)
    }

    /// Whether a file is in a file system of the system's memory (tmpfs(5), ramfs).
    package static func isInMemory(_ descriptor: Int32) -> Bool {
        guard FileCalls.simulation == nil, let call = self.filesystemCall else { return false }
        // The structure begins with the type, a word, and has less than 32 words on all architectures.
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: 32) { words in
            words.initialize(repeating: 0)
            guard let start = words.baseAddress, call(descriptor, start) == 0 else { return false }
            // TMPFS_MAGIC and RAMFS_MAGIC of statfs(2).
            return [0x0102_1994, 0x8584_58F6].contains(UInt32(truncatingIfNeeded: words[0]))
        }
    }

    /// fallocate(2) with `FALLOC_FL_KEEP_SIZE`.
    package static func allocateKeepingSize(_ descriptor: Int32, length: Int64) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.allocate(descriptor, length: length) }
        guard let allocateCall else { return self.unsupported() }
        return allocateCall(descriptor, 1, 0, Int(length))
    }

    /// fallocate(2) with `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_KEEP_SIZE`.
    package static func punchHole(_ descriptor: Int32, _ offset: Int64, length: Int64) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.punchHole(descriptor, offset, length: length) }
        guard let allocateCall else { return self.unsupported() }
        return allocateCall(descriptor, 2 | 1, Int(offset), Int(length))
    }

    // MARK: Extended attributes

    /// lgetxattr(2) of a name in an open directory; it does not follow a symbolic link.
    ///
    /// - Returns: The attribute's value, or `nil` with `errno` if it does not exist, cannot be read or has more than
    ///   1,024 bytes.
    package static func attribute(in directory: Int32, _ name: String, _ attribute: String) -> [UInt8]? {
        if let simulation = FileCalls.simulation { return simulation.attribute(in: directory, name, attribute) }
        guard let getAttributeCall else {
            errno = ENOSYS
            return nil
        }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer -> [UInt8]? in
            guard let base = buffer.baseAddress else { return nil }
            // The path through the descriptor stays inside the directory.
            let count = getAttributeCall("/proc/self/fd/\(directory)/\(name)", attribute, base, buffer.count)
            // Bounds: a count outside of the buffer is refused.
            return count < 0 || count > buffer.count ? nil : Array(buffer[..<count])
        }
    }

    /// fsetxattr(2).
    package static func setAttribute(_ descriptor: Int32, _ name: String, _ value: [UInt8]) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.setAttribute(descriptor, name, value) }
        guard let setAttributeCall else { return self.unsupported() }
        return value.withUnsafeBytes { bytes -> Int32 in
            guard let base = bytes.baseAddress else { return 0 }
            return name.withCString { setAttributeCall(descriptor, $0, base, bytes.count, 0) }
        }
    }

    /// fgetxattr(2).
    ///
    /// - Returns: The attribute's value, or `nil` with `errno`: `ENODATA` if it does not exist, `ERANGE` if it has more
    ///   than 1,024 bytes.
    package static func attribute(of descriptor: Int32, _ name: String) -> [UInt8]? {
        if let simulation = FileCalls.simulation { return simulation.attribute(of: descriptor, name) }
        guard let getOpenAttributeCall else {
            errno = ENOSYS
            return nil
        }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer -> [UInt8]? in
            guard let base = buffer.baseAddress else { return nil }
            let count = getOpenAttributeCall(descriptor, name, base, buffer.count)
            return count < 0 ? nil : Array(buffer[..<min(count, buffer.count)])
        }
    }

    /// fremovexattr(2).
    package static func removeAttribute(_ descriptor: Int32, _ name: String) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.removeAttribute(descriptor, name) }
        guard let removeAttributeCall else { return self.unsupported() }
        return removeAttributeCall(descriptor, name)
    }

    private static func unsupported(_ number: Int32 = ENOSYS) -> Int32 {
        errno = number
        return -1
    }
}
