// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

/// openat2(2): resolves a complete path without leaving a directory.
///
/// `RESOLVE_BENEATH` refuses `..`, absolute symlinks and symlinks that lead out, in the kernel and without races;
/// `RESOLVE_NO_MAGICLINKS` refuses those of /proc. If the call is not available (before Linux 5.6, or in a sandbox that
/// forbids it), the path is resolved name by name and no symlink is followed.
enum BeneathOpen {
    private struct How {
        var flags: UInt64
        var mode: UInt64
        var resolve: UInt64
    }

    private typealias SystemCall =
        @convention(c) (Int, Int, UnsafePointer<CChar>, UnsafeRawPointer, Int) -> Int

    /// syscall(2): its arguments are passed in registers, so a variadic call equals one with a fixed number of
    /// arguments.
    private static var systemCall: SystemCall? {
        #if os(Linux)
        unsafeBitCast(dlsym(nil, "syscall"), to: SystemCall?.self)
        #else
        nil
        #endif
    }
    private static let call = Self.systemCall
    /// `__NR_openat2`, the same number on every architecture.
    private static let number = 437
    /// `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`.
    private static let beneath: UInt64 = 0x08 | 0x02
    /// `RESOLVE_NO_SYMLINKS`.
    private static let noLinks: UInt64 = 0x04

    #if os(Linux)
    /// `O_PATH`: refers to a file without opening it.
    static let pathOnly: Int32 = 0o10_000_000
    #else
    /// No flag: the file is opened for reading, without blocking.
    static let pathOnly: Int32 = 0
    #endif

    /// Opens a path below a directory.
    ///
    /// Never blocks on a FIFO and never takes a terminal.
    ///
    /// - Parameters:
    ///   - directory: The open directory.
    ///   - names: The path's names, none of which may be `..`.
    ///   - flags: The flags of open(2), without `O_CREAT`.
    ///   - followingLinks: Whether symlinks that stay below are followed; otherwise a symlink is `ELOOP`.
    /// - Returns: The descriptor, or the error number.
    static func open(
        _ directory: OpenFile,
        _ names: [String],
        _ flags: Int32,
        followingLinks: Bool = true
    ) -> Result<OpenFile, SystemError> {
        // `O_PATH` opens nothing that could block, and openat2(2) rejects other flags with it.
        let flags = flags | O_CLOEXEC | (flags & self.pathOnly != 0 ? 0 : O_NONBLOCK | O_NOCTTY)
        guard let call else { return self.walk(directory, names, flags) }
        var how = How(
            flags: UInt64(UInt32(bitPattern: flags)),
            mode: 0,
            resolve: followingLinks ? self.beneath : self.beneath | self.noLinks
        )
        let path = self.path(names)
        var patience = 8
        while true {
            let raw = path.withCString { path in
                call(self.number, Int(directory.raw), path, &how, MemoryLayout<How>.size)
            }
            if raw >= 0 { return .success(OpenFile(Int32(raw))) }
            switch errno {
            case EINTR: continue
            // A component was renamed during the lookup: openat2(2) says to try again.
            case EAGAIN where patience > 0: patience -= 1
            case ENOSYS, EPERM: return self.walk(directory, names, flags)
            case let number: return .failure(SystemError(number: number))
            }
        }
    }

    /// The relative path of names.
    static func path(_ names: [String]) -> String {
        switch names.count {
        case 0: "."
        case 1: names[0]
        default: names.joined(separator: "/")
        }
    }

    /// The same without openat2(2); follows no symlink.
    static func walk(_ directory: OpenFile, _ names: [String], _ flags: Int32) -> Result<OpenFile, SystemError> {
        var current = directory
        for (index, name) in (names.isEmpty ? ["."] : names).enumerated() {
            let isLast = index >= names.count - 1
            let flags = isLast ? flags | O_NOFOLLOW : O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
            let raw = name.withCString { openat(current.raw, $0, flags) }
            guard raw >= 0 else { return .failure(SystemError(number: errno)) }
            current = OpenFile(raw)
        }
        return .success(current)
    }
}
