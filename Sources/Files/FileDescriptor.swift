// SPDX-License-Identifier: Apache-2.0
package import Platform
import Synchronization
package import TransferCore

/// An open file that is closed once, at the latest with the last reference.
package final class FileDescriptor: Sendable {
    /// The descriptor's number; -1 after it is closed.
    private let number: Atomic<Int32>

    /// Takes ownership of a descriptor.
    package init(_ number: Int32) {
        self.number = Atomic(number)
    }

    deinit {
        _ = self.close()
    }

    /// The number, or -1 after it is closed: all calls with it then fail with `EBADF`.
    package var raw: Int32 { self.number.load(ordering: .relaxed) }

    /// Closes the descriptor; returns 0 or the error number of close(2).
    ///
    /// Closing it again has no effect.
    package func close() -> Int32 {
        let raw = self.number.exchange(-1, ordering: .relaxed)
        guard raw >= 0 else { return 0 }
        // On Linux, close(2) releases the descriptor even if it fails with EINTR, so it is never repeated.
        return FileCalls.close(raw) == 0 || errno == EINTR ? 0 : errno
    }

    /// The result of fstat(2), or `nil` if it fails.
    package func status() -> stat? {
        var status = stat()
        return FileCalls.fstat(self.raw, &status) == 0 ? status : nil
    }

    /// The result of fstat(2); throws if it fails, because the file is then unknown, not absent.
    package func requiredStatus(of path: String) throws(StorageError) -> stat {
        var status = stat()
        if FileCalls.fstat(self.raw, &status) == 0 { return status }
        throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot examine", path)
    }

    /// Writes all bytes at `offset`, continuing after partial writes and signals; returns 0 or the error number.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        guard var next = bytes.baseAddress else { return 0 }
        var left = bytes.count
        var position = offset
        while left > 0 {
            let count = FileCalls.pwrite(self.raw, next, left, off_t(position))
            if count > 0 {
                next += count
                left -= count
                position += Int64(count)
            } else if count < 0, errno == EINTR {
                continue
            } else {
                // A write of 0 bytes without an error would loop forever: treat it as a full device.
                return count == 0 ? ENOSPC : errno
            }
        }
        return 0
    }

    /// Reads until the buffer is full or the file ends; returns the number of bytes, or a negated error number.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var filled = 0
        while filled < buffer.count {
            let count = FileCalls.pread(self.raw, base + filled, buffer.count - filled, off_t(offset) + off_t(filled))
            if count > 0 {
                filled += count
            } else if count == 0 {
                break
            } else if errno != EINTR {
                return -Int(errno)
            }
        }
        return filled
    }

    /// Syncs the data, and the metadata needed to read it; returns 0 or the error number.
    package func syncData() -> Int32 { Self.repeated { FileSync.syncData(self.raw) } }

    /// Syncs data and metadata; returns 0 or the error number.
    package func sync() -> Int32 { Self.repeated { FileCalls.fsync(self.raw) } }

    /// Sets the size; returns 0 or the error number.
    package func truncate(_ length: Int64) -> Int32 { Self.repeated { FileCalls.ftruncate(self.raw, off_t(length)) } }

    /// Sets the modification time without changing the access time; returns 0 or the error number.
    package func setModified(_ seconds: Int64) -> Int32 {
        let times = [timespec.omitted, timespec(tv_sec: Int(seconds), tv_nsec: 0)]
        return times.withUnsafeBufferPointer { FileCalls.futimens(self.raw, $0.baseAddress) } == 0 ? 0 : errno
    }

    /// Locks the file without waiting; returns 0, or `EAGAIN` if it is locked by another open file, or may be.
    ///
    /// The lock ends with the descriptor, so that a killed process leaves none. On filesystems without locks, this
    /// succeeds without a lock.
    package func lock() -> Int32 {
        var attempts = 0
        while FileLock.lock(self.raw) != 0 {
            switch errno {
            case EINTR: break
            case EAGAIN, EACCES: return EAGAIN
            case ENOLCK, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP: return 0
            // It is unknown who has it, and two processes must not write one file.
            default:
                if attempts == 16 { return EAGAIN }
                attempts += 1
            }
        }
        return 0
    }

    /// Releases the lock before the descriptor is closed.
    package func unlock() { FileLock.unlock(self.raw) }

    /// Whether another open file has the lock; does not lock.
    package func isLockedElsewhere() -> Bool { FileLock.isLockedElsewhere(self.raw) }

    private static func repeated(_ call: () -> Int32) -> Int32 {
        while call() != 0 {
            if errno != EINTR { return errno }
        }
        return 0
    }
}
