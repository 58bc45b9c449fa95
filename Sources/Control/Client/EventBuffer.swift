internal import NIOCore

/// The events that came and were not read yet, or the reader that waits for one.
///
/// Pure value: what it returns is to be done after the lock.
struct EventBuffer {
    typealias Outcome = Result<ServerSentEvent?, ControlError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    private let capacity: Int
    private var events = CircularBuffer<ServerSentEvent>()
    private var waiter: Waiter?
    private var isPaused = false
    /// How the stream ended; what came before is read first, but after a cancellation.
    private(set) var end: ServerEvents.End?

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// What is to be done when the connection brought something.
    struct Arrival {
        /// Who waited for it.
        var waiter: Waiter?
        /// What the waiter is given.
        var answer: Outcome = .success(nil)
        /// Whether the connection shall bring no more for now.
        var pausesReading = false
    }

    mutating func received(_ arrived: [ServerSentEvent]) -> Arrival {
        guard self.end == nil, !arrived.isEmpty else { return Arrival() }
        self.events.append(contentsOf: arrived)
        var action = Arrival()
        if let waiter = self.waiter, let first = self.events.popFirst() {
            self.waiter = nil
            action.waiter = waiter
            action.answer = .success(first)
        }
        if self.events.count >= self.capacity, !self.isPaused {
            self.isPaused = true
            action.pausesReading = true
        }
        return action
    }

    mutating func ended(_ end: ServerEvents.End) -> Arrival {
        guard self.end == nil else { return Arrival() }
        self.end = end
        if end == .cancelled { self.events.removeAll() }
        defer { self.waiter = nil }
        return Arrival(waiter: self.waiter, answer: Self.outcome(of: end))
    }

    /// What is to be done when the reader asks.
    struct Reading {
        /// What it is given at once; `nil` where it waits.
        var answer: Outcome?
        /// Whether the connection may bring more again.
        var resumesReading = false
    }

    mutating func asked(_ waiter: Waiter) -> Reading {
        if let event = self.events.popFirst() {
            let resumes = self.isPaused && self.events.count <= self.capacity / 4
            if resumes { self.isPaused = false }
            return Reading(answer: .success(event), resumesReading: resumes)
        }
        if let end = self.end { return Reading(answer: Self.outcome(of: end)) }
        guard self.waiter == nil else {
            return Reading(
                answer: .failure(
                    ControlError(.wrongState, "two tasks read one stream of events", remedy: "read it in one")
                )
            )
        }
        self.waiter = waiter
        return Reading()
    }

    private static func outcome(of end: ServerEvents.End) -> Outcome {
        if case .failed(let error) = end { .failure(error) } else { .success(nil) }
    }
}
