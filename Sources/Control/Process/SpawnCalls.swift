#if canImport(Darwin)
internal import Platform

typealias SpawnActions = posix_spawn_file_actions_t?
typealias SpawnAttributes = posix_spawnattr_t?

/// Extensions of posix_spawn(2) beyond POSIX.
enum SpawnCalls {
    static let newSession = Int32(POSIX_SPAWN_SETSID)

    static func changeDirectory(_ actions: inout SpawnActions, to path: String) {
        posix_spawn_file_actions_addchdir_np(&actions, path)
    }

    /// Closes all descriptors from a number on; Darwin closes all that the actions did not open.
    static func closeAll(_ actions: inout SpawnActions, from first: Int32) -> Int32 {
        Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
    }
}
#else
internal import Platform

typealias SpawnActions = posix_spawn_file_actions_t
typealias SpawnAttributes = posix_spawnattr_t

/// Extensions of posix_spawn(3) beyond POSIX, which glibc's module does not export to Swift (they need `_GNU_SOURCE`).
enum SpawnCalls {
    /// `POSIX_SPAWN_SETSID` of glibc and musl.
    static let newSession: Int32 = 0x80

    private typealias ChangeDirectory =
        @convention(c) (UnsafeMutablePointer<SpawnActions>, UnsafePointer<CChar>) -> Int32
    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<SpawnActions>, Int32) -> Int32

    private static let changeCall = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addchdir_np"),
        to: ChangeDirectory?.self
    )
    private static let closeCall = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: CloseFrom?.self
    )

    static func changeDirectory(_ actions: inout SpawnActions, to path: String) {
        if let changeCall { _ = changeCall(&actions, path) }
    }

    /// Closes all descriptors from a number on.
    ///
    /// - Returns: The flags required for it.
    static func closeAll(_ actions: inout SpawnActions, from first: Int32) -> Int32 {
        if let closeCall {
            _ = closeCall(&actions, first)
            return 0
        }
        // A C library without the call: close the inheritable descriptors that are open now, up to number 1023.
        for descriptor in first..<1024 {
            let flags = fcntl(descriptor, F_GETFD)
            if flags >= 0, flags & FD_CLOEXEC == 0 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        }
        return 0
    }
}
#endif
