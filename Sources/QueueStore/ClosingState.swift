// SPDX-License-Identifier: Apache-2.0
/// The steps of closing a store: refuse new reads and writes, finish the pending ones, then close the connections.
struct ClosingState: Sendable {
    /// The action that the store performs next.
    enum Action: Sendable {
        /// Do nothing.
        case nothing
        /// Perform the pending writes and checkpoint.
        case drain
        case closeConnections
        /// Resume the callers of ``QueueStore/close()``.
        case resume([CheckedContinuation<Void, Never>])
    }

    private enum Phase {
        case open, draining, drained, closing, closed
    }

    private var phase = Phase.open
    private var reads = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// A read begins; returns false if the store is closing.
    mutating func readBegins() -> Bool {
        guard self.phase == .open else { return false }
        self.reads += 1
        return true
    }

    mutating func readEnded() -> Action {
        self.reads -= 1
        return self.closeIfIdle()
    }

    /// A caller requested the close.
    mutating func closeAsked(_ continuation: CheckedContinuation<Void, Never>) -> Action {
        if self.phase == .closed { return .resume([continuation]) }
        self.waiting.append(continuation)
        guard self.phase == .open else { return .nothing }
        self.phase = .draining
        return .drain
    }

    /// All writes are finished.
    mutating func drained() -> Action {
        self.phase = .drained
        return self.closeIfIdle()
    }

    /// The connections were closed.
    mutating func connectionsClosed() -> Action {
        self.phase = .closed
        defer { self.waiting = [] }
        return .resume(self.waiting)
    }

    private mutating func closeIfIdle() -> Action {
        guard self.phase == .drained, self.reads == 0 else { return .nothing }
        self.phase = .closing
        return .closeConnections
    }
}
