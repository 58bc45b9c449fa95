// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Platform

/// Wakes a waiting thread from any other thread.
final class WakeUp: Sendable {
    private let reading: Int32
    private let writing: Int32

    /// Opens a pipe.
    ///
    /// - Throws: ``SyntaxError`` if no descriptor is available.
    init() throws(SyntaxError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw SyntaxError("no pipe could be opened: \(String(cString: strerror(errno))); raise the open-file limit")
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        self.reading = ends[0]
        self.writing = ends[1]
    }

    deinit {
        close(self.reading)
        close(self.writing)
    }

    /// Wakes the waiting thread, or makes the next wait return immediately.
    func wake() {
        var byte: UInt8 = 1
        _ = write(self.writing, &byte, 1)
    }

    /// Waits for a wake-up with a timeout; -1 waits indefinitely.
    ///
    /// - Returns: False after the timeout.
    @discardableResult
    func wait(milliseconds: Int32) -> Bool {
        var ready = pollfd(fd: self.reading, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, milliseconds) > 0 else { return false }
        self.clear()
        return true
    }

    /// The descriptor that is readable after ``wake()``, for a thread that waits for other descriptors too.
    var descriptor: Int32 { self.reading }

    /// Removes the wake-ups so far.
    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(self.reading, &bytes, bytes.count) == bytes.count {}
    }
}
