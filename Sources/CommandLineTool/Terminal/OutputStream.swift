#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Synchronization

/// Writes text to a descriptor; a reader that went away, or that does not read while the run stops, ends it quietly.
final class OutputStream: Sendable {
    /// The descriptor.
    let descriptor: Int32

    private let broken = Atomic<Bool>(false)
    private let hurried = Atomic<Bool>(false)

    /// Creates a stream.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Whether the reader went away.
    var isBroken: Bool { self.broken.load(ordering: .relaxed) }

    /// From now on a reader that takes nothing for two seconds is given up.
    func hurry() { self.hurried.store(true, ordering: .relaxed) }

    /// Writes all of a text.
    func write(_ text: String) {
        var text = text
        text.withUTF8 { self.write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes all of some bytes.
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
            // A pipe that is ready takes as much as this without blocking.
            let count = systemWrite(self.descriptor, rest.baseAddress, min(rest.count, 4096))
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR && errno != EAGAIN {
                self.broken.store(true, ordering: .relaxed)
            }
        }
    }
}

/// write(2) under a name that a method called `write` does not hide.
func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
