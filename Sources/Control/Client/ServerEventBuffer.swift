// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Events that were received but not read yet, or the reader that waits for one.
///
/// Pure value: the caller performs the returned actions after releasing its lock.
struct ServerEventBuffer {
    typealias Outcome = Result<ServerSentEvent?, ControlError>
    typealias Waiter = CheckedContinuation<Outcome, Never>

    private let capacity: Int
    private var events = CircularBuffer<ServerSentEvent>()
    private var waiter: Waiter?
    private var isPaused = false
    /// How the stream ended; earlier events are still read, except after a cancellation.
    private(set) var end: ServerEvents.End?

    init(capacity: Int) { self.capacity = max(1, capacity) }

    /// The actions after events were received or the stream ended.
    struct Arrival {
        /// The reader to resume, if one waits.
        var waiter: Waiter?
        /// The result for the reader.
        var answer: Outcome = .success(nil)
        /// Whether reading from the connection must pause.
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

    /// The actions after the reader requested an event.
    struct Reading {
        /// The result, if it is available; `nil` if the reader must wait.
        var answer: Outcome?
        /// Whether reading from the connection must resume.
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
