// SPDX-License-Identifier: Apache-2.0
/// Locks of whole files that end with the open file, so that a killed process leaves none.
///
/// On Linux they are open file description locks (fcntl(2), `F_OFD_SETLK`), elsewhere those of flock(2). Every program
/// on a machine uses the same kind.
package enum FileLock {
    #if os(Linux) && !PORTABLE_CALLS
    private static let setLock: Int32 = 37
    private static let getLock: Int32 = 36

    private static func request(_ type: Int32) -> flock {
        var request = flock()
        request.l_type = Int16(type)
        request.l_whence = Int16(SEEK_SET)
        return request
    }

    /// Locks a file without waiting.
    ///
    /// - Returns: 0, or -1 with `errno`: `EAGAIN` or `EACCES` if another open file has the lock.
    package static func lock(_ descriptor: Int32) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.lock(descriptor) }
        var request = self.request(F_WRLCK)
        return fcntl(descriptor, self.setLock, &request)
    }

    /// Releases the lock.
    package static func unlock(_ descriptor: Int32) {
        if let simulation = FileCalls.simulation { return simulation.unlock(descriptor) }
        var request = self.request(F_UNLCK)
        _ = fcntl(descriptor, self.setLock, &request)
    }

    /// Whether another open file has the lock.
    ///
    /// - Precondition: The descriptor itself does not have it.
    package static func isLockedElsewhere(_ descriptor: Int32) -> Bool {
        if let simulation = FileCalls.simulation { return simulation.isLockedElsewhere(descriptor) }
        var request = self.request(F_WRLCK)
        return fcntl(descriptor, self.getLock, &request) == 0 && request.l_type != Int16(F_UNLCK)
    }
    #else
    /// Locks a file without waiting.
    ///
    /// - Returns: 0, or -1 with `errno`: `EAGAIN` or `EACCES` if another open file has the lock.
    package static func lock(_ descriptor: Int32) -> Int32 {
        if let simulation = FileCalls.simulation { return simulation.lock(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB)
    }

    /// Releases the lock.
    package static func unlock(_ descriptor: Int32) {
        if let simulation = FileCalls.simulation { return simulation.unlock(descriptor) }
        _ = flock(descriptor, LOCK_UN)
    }

    /// Whether another open file has the lock.
    ///
    /// - Precondition: The descriptor itself does not have it.
    package static func isLockedElsewhere(_ descriptor: Int32) -> Bool {
        if let simulation = FileCalls.simulation { return simulation.isLockedElsewhere(descriptor) }
        // A shared lock is enough to see an exclusive one.
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            self.unlock(descriptor)
            return false
        }
        return errno == EWOULDBLOCK
    }
    #endif
}
