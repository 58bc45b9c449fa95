// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
import TransferCore

/// Writes text to a descriptor; stops silently if the reader has closed it, or is stalled while the run stops.
final class OutputStream: Sendable {
    let descriptor: Int32

    private let broken = Atomic<Bool>(false)
    private let hurried = Atomic<Bool>(false)
    private let number = Atomic<Int32>(0)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Whether the reader has closed the descriptor, or was abandoned after ``hurry()``.
    var isBroken: Bool { self.broken.load(ordering: .relaxed) }

    /// The error number of the failed write(2), `EPIPE` if the reader has closed the descriptor; 0 if none failed.
    var failure: Int32 { self.number.load(ordering: .relaxed) }

    /// Limits the time for which a stalled reader is waited for to two seconds, from now on.
    func hurry() { self.hurried.store(true, ordering: .relaxed) }

    /// Writes a complete text.
    func write(_ text: String) {
        var text = text
        text.withUTF8 { self.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes all bytes.
    func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { self.write($0) } }

    private func write(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        var patience = 10
        while !rest.isEmpty, !self.isBroken {
            var ready = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            let found = poll(&ready, 1, 200)
            if found == 0 {
                if self.hurried.load(ordering: .relaxed) { patience -= 1 }
                if patience == 0 { self.broken.store(true, ordering: .relaxed) }
                continue
            }
            // A pipe that polls as writable accepts PIPE_BUF bytes without blocking.
            let count = systemWrite(self.descriptor, rest.baseAddress, min(rest.count, 4096))
            if count >= 0 {
                rest = rest.part(count..<rest.count)
            } else if errno != EINTR && errno != EAGAIN {
                self.number.store(errno, ordering: .relaxed)
                self.broken.store(true, ordering: .relaxed)
            }
        }
    }
}

/// Calls write(2), whose own name is shadowed by methods called `write`.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
