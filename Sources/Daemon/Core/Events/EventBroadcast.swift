// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization

/// Sends events to all listeners, each with a bounded buffer.
final class EventBroadcast: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextNumber = 0
        var isFinished = false

        var interest: ServiceEvent.Interest { self.listeners.values.reduce(into: []) { $0.formUnion($1.interest) } }
    }

    private let state = Mutex(State())

    /// The kinds of events that listeners receive.
    var interest: ServiceEvent.Interest { self.state.withLock { $0.interest } }

    /// Returns the events from now on, with a buffer for `capacity` events.
    func listen(_ interest: ServiceEvent.Interest = .all, capacity: Int) -> AsyncStream<[ServiceEvent]> {
        let listener = Listener(interest, capacity: max(1, capacity))
        let (number, isFinished) = self.state.withLock { state in
            state.nextNumber += 1
            if !state.isFinished { state.listeners[state.nextNumber] = listener }
            return (state.nextNumber, state.isFinished)
        }
        if isFinished { listener.finish() }
        // Only the stream retains this: when the stream is released, its listener is removed.
        let end = CallOnce { [weak self] in
            listener.finish()
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return AsyncStream(
            unfolding: {
                let events = await listener.next()
                if events == nil { end.now() }
                return events
            },
            onCancel: { end.now() }
        )
    }

    /// Sends events in their order; each listener is woken once for all of them.
    func send(_ events: [ServiceEvent]) {
        let listeners = self.state.withLock { $0.listeners }
        for (number, listener) in listeners {
            let wanted = events.filter { listener.interest.isSuperset(of: $0.interest) }
            guard !wanted.isEmpty, !listener.put(wanted) else { continue }
            _ = self.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
    }

    func finish() {
        let listeners = self.state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return state.listeners
        }
        for listener in listeners.values { listener.finish() }
    }
}
