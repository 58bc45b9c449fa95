/// How a store ends: no new reads and writes, then what runs comes to its end, then the connections are closed.
struct ClosingState: Sendable {
    /// What the store is to do.
    enum Action: Sendable {
        /// Nothing.
        case nothing
        /// Do the writes that wait, and checkpoint.
        case drain
        /// Close the connections.
        case closePool
        /// Let those go on that asked for the end.
        case resume([CheckedContinuation<Void, Never>])
    }

    private enum Phase {
        case open, draining, drained, closing, closed
    }

    private var phase = Phase.open
    private var reads = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Whether a read may begin.
    mutating func readBegins() -> Bool {
        guard self.phase == .open else { return false }
        self.reads += 1
        return true
    }

    /// A read came to its end.
    mutating func readEnded() -> Action {
        self.reads -= 1
        return self.closeIfIdle()
    }

    /// Somebody asks for the end.
    mutating func closeAsked(_ continuation: CheckedContinuation<Void, Never>) -> Action {
        if self.phase == .closed { return .resume([continuation]) }
        self.waiting.append(continuation)
        guard self.phase == .open else { return .nothing }
        self.phase = .draining
        return .drain
    }

    /// All writes are done.
    mutating func drained() -> Action {
        self.phase = .drained
        return self.closeIfIdle()
    }

    /// The connections are closed.
    mutating func poolClosed() -> Action {
        self.phase = .closed
        defer { self.waiting = [] }
        return .resume(self.waiting)
    }

    private mutating func closeIfIdle() -> Action {
        guard self.phase == .drained, self.reads == 0 else { return .nothing }
        self.phase = .closing
        return .closePool
    }
}
