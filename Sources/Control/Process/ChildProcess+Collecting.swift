// SPDX-License-Identifier: Apache-2.0
internal import Platform

extension ChildProcess {
    /// The end of a program whose output was collected.
    package enum Collected: Sendable, Hashable {
        /// It ended without being killed, with this output.
        case ended(End, output: [UInt8])
        /// It exceeded the timeout and was killed.
        case timedOut
        /// It printed too much and was killed.
        case tooMuchOutput
        /// The caller cancelled the collection, and it was killed.
        case cancelled
    }

    private enum Reading {
        case bytes
        case nothing
        case end
    }

    /// Reads the program's standard output until the program ends; blocks.
    ///
    /// Background processes of the program may outlive it and are not waited for. If the program is killed, its whole
    /// process group is.
    ///
    /// - Precondition: The program was started with `capturesOutput`; called once, after ``write(_:)``, instead of
    ///   ``wait()``.
    /// - Parameters:
    ///   - limit: The maximum size of the output in bytes.
    ///   - timeout: The time that the program may run from now on.
    ///   - isCancelled: Whether to kill the program; called ten times a second.
    /// - Returns: How the program ended.
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

    /// Reads once, waiting for data for at most a number of milliseconds.
    private static func read(_ descriptor: Int32, into bytes: inout [UInt8], waiting milliseconds: Int32) -> Reading {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return .nothing }
        let count = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { buffer in
            let count = Self.systemRead(descriptor, buffer.baseAddress, buffer.count)
            // Bounds: read(2) returns at most the size of the buffer.
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        if count < 0 { return errno == EINTR ? .nothing : .end }
        return count == 0 ? .end : .bytes
    }

    private static func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        Platform.read(descriptor, bytes, count)
    }
}
