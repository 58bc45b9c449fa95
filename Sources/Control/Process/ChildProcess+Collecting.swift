#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

extension ChildProcess {
    /// The end of a program whose output was collected.
    package enum Collected: Sendable, Hashable {
        /// It ended without being killed, and printed this.
        case ended(End, output: [UInt8])
        /// It did not end in time, and was killed.
        case timedOut
        /// It printed too much, and was killed.
        case tooMuchOutput
        /// The caller lost interest, and it was killed.
        case cancelled
    }

    private enum Reading {
        case bytes
        case nothing
        case end
    }

    /// Reads its standard output until it ends; blocks.
    ///
    /// What it started in the background may outlive it, and is not waited for. A program that is killed is killed with its
    /// whole group.
    ///
    /// - Precondition: It was started with `capturesOutput`; called once, after ``write(_:)``, instead of ``wait()``.
    /// - Parameters:
    ///   - limit: The most bytes that it may print.
    ///   - timeout: How long it may run from now on.
    ///   - isCancelled: Whether to kill it; called ten times a second.
    /// - Returns: How it ended.
    package func collect(
        atMost limit: Int,
        within timeout: Duration,
        isCancelled: () -> Bool = { false }
    ) -> Collected {
        guard let output = self.output else { preconditionFailure("the output of \(self.id) is not captured") }
        defer { _ = close(output) }
        let deadline = ContinuousClock.now + timeout
        var bytes: [UInt8] = []
        var isOpen = true
        // A program usually ends right after it has closed its output.
        var pause: Int32 = 1
        while true {
            if isOpen {
                isOpen = Self.read(output, into: &bytes, waiting: 100) != .end
            } else {
                poll(nil, 0, pause)
                pause = min(pause * 2, 100)
            }
            if bytes.count > limit { return self.killed(.tooMuchOutput) }
            if let end = self.endIfAny() {
                while isOpen, bytes.count <= limit, Self.read(output, into: &bytes, waiting: 0) == .bytes {}
                return bytes.count > limit ? .tooMuchOutput : .ended(end, output: bytes)
            }
            if isCancelled() { return self.killed(.cancelled) }
            if ContinuousClock.now >= deadline { return self.killed(.timedOut) }
        }
    }

    private func killed(_ result: Collected) -> Collected {
        self.signal(SIGKILL)
        _ = self.wait()
        return result
    }

    /// Reads once, as soon as there is something, for so many milliseconds.
    private static func read(_ descriptor: Int32, into bytes: inout [UInt8], waiting milliseconds: Int32) -> Reading {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return .nothing }
        let count = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
            let count = Self.systemRead(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        if count < 0 { return errno == EINTR ? .nothing : .end }
        return count == 0 ? .end : .bytes
    }

    private static func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.read(descriptor, bytes, count)
        #elseif canImport(Musl)
        Musl.read(descriptor, bytes, count)
        #else
        Darwin.read(descriptor, bytes, count)
        #endif
    }
}
