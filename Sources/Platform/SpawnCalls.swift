// SPDX-License-Identifier: Apache-2.0
/// The file actions of a process to be spawned.
#if canImport(Darwin)
package typealias SpawnActions = posix_spawn_file_actions_t?
package typealias SpawnAttributes = posix_spawnattr_t?
#else
package typealias SpawnActions = posix_spawn_file_actions_t
package typealias SpawnAttributes = posix_spawnattr_t
#endif

/// posix_spawn(3) and its extensions beyond POSIX, which Glibc's module does not export to Swift.
package enum SpawnCalls {
    /// Calls `body` with initialized actions and attributes, then destroys them.
    package static func withActions<Result>(_ body: (inout SpawnActions, inout SpawnAttributes) -> Result) -> Result {
        #if canImport(Darwin)
        var actions: SpawnActions
        var attributes: SpawnAttributes
        #else
        var actions = SpawnActions()
        var attributes = SpawnAttributes()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        return body(&actions, &attributes)
    }

    #if canImport(Darwin)
    /// The flag for a new session.
    package static let newSession = Int32(POSIX_SPAWN_SETSID)

    /// Sets the working directory.
    package static func changeDirectory(_ actions: inout SpawnActions, to path: String) {
        posix_spawn_file_actions_addchdir_np(&actions, path)
    }

    /// Closes all descriptors from a number on; Darwin closes all that the actions did not open.
    ///
    /// - Returns: The flags required for it.
    package static func closeAll(_ actions: inout SpawnActions, from first: Int32) -> Int32 {
        Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
    }
    #else
    /// The flag for a new session: `POSIX_SPAWN_SETSID` of Glibc and Musl.
    package static let newSession: Int32 = 0x80

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

    /// Sets the working directory.
    package static func changeDirectory(_ actions: inout SpawnActions, to path: String) {
        if let changeCall { _ = changeCall(&actions, path) }
    }

    /// Closes all descriptors from a number on.
    ///
    /// - Returns: The flags required for it.
    package static func closeAll(_ actions: inout SpawnActions, from first: Int32) -> Int32 {
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
    #endif
}
