// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import Synchronization

/// An exclusive lock on a state directory, held by its daemon.
///
/// The lock is a kernel lock (flock(2)), which ends with the process. The file, which contains the holder's process
/// identifier, is never deleted: a deleted and recreated file could be locked twice.
package final class DaemonLock: Sendable {
    private let descriptor: Mutex<Int32>

    private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { self.release() }

    /// Takes the lock without waiting for another daemon to release it.
    ///
    /// - Parameters:
    ///   - path: ``StateDirectory/lockPath``; a missing file is created.
    ///   - pause: Waits briefly before another attempt: ``holder(of:)`` takes the lock for a moment.
    /// - Returns: `nil` if another process has the lock.
    /// - Throws: ``ControlError`` with `storage` or `diskFull` if the file cannot be created or locked.
    package static func take(
        _ path: String,
        pause: () -> Void = { usleep(5000) }
    ) throws(ControlError) -> DaemonLock? {
        let raw = self.open(path, O_RDWR | O_CREAT)
        guard raw >= 0 else { throw PosixPath.cannotMake(path) }
        var isLocked = false
        for attempt in 0..<20 where !isLocked {
            if attempt > 0 { pause() }
            isLocked = flock(raw, LOCK_EX | LOCK_NB) == 0
            if !isLocked, errno != EWOULDBLOCK, errno != EINTR {
                let reason = String(cString: strerror(errno))
                close(raw)
                throw ControlError(
                    .storage,
                    "cannot lock '\(path)': \(reason)",
                    remedy: "use a --state-dir on a filesystem that has locks"
                )
            }
        }
        guard isLocked else {
            // Not `release()`, which would delete the holder's process identifier from the file.
            close(raw)
            return nil
        }
        let lock = DaemonLock(raw)
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(raw, 0) == 0, pwrite(raw, text, text.count, 0) == text.count else {
            throw PosixPath.cannotMake(path)
        }
        return lock
    }

    package func release() {
        let raw = self.descriptor.withLock { raw in
            defer { raw = -1 }
            return raw
        }
        guard raw >= 0 else { return }
        _ = ftruncate(raw, 0)
        // Unlocked explicitly: close(2) does not release the lock while a child process that is being started has a
        // copy of the descriptor.
        _ = flock(raw, LOCK_UN)
        close(raw)
    }

    /// The process that has the lock, or `nil` if it is free.
    package static func holder(of path: String) -> Int32? {
        let raw = self.open(path, O_RDONLY)
        guard raw >= 0 else { return nil }
        defer { close(raw) }
        var text = [UInt8](repeating: 0, count: 16)
        let count = pread(raw, &text, text.count, 0)
        guard count > 0, let process = Int32(String(decoding: text[..<count].prefix { $0 != 0x0A }, as: UTF8.self)),
            process > 0, kill(process, 0) == 0 || errno == EPERM
        else { return nil }
        // The number may have been written by a process that was killed; only the lock is reliable.
        guard flock(raw, LOCK_SH | LOCK_NB) == 0 else { return process }
        _ = flock(raw, LOCK_UN)
        return nil
    }

    private static func open(_ path: String, _ flags: Int32) -> Int32 {
        var raw: Int32
        repeat { raw = systemOpen(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) } while raw < 0 && errno == EINTR
        return raw
    }
}

/// open(2) under a name that a method called `open` does not shadow.
func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { open(path, flags, mode) }
