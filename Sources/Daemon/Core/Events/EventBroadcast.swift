// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Sends events to all listeners, each with a bounded buffer.
final class EventBroadcast: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextNumber = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Whether there is a listener.
    var isHeard: Bool { self.state.withLock { !$0.listeners.isEmpty } }

    /// Returns the events from now on, with a buffer for `capacity` events.
    func listen(capacity: Int) -> AsyncStream<ServiceEvent> {
        let listener = Listener(capacity: max(1, capacity))
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
                let event = await listener.next()
                if event == nil { end.now() }
                return event
            },
            onCancel: { end.now() }
        )
    }

    func send(_ event: ServiceEvent) {
        let listeners = self.state.withLock { $0.listeners }
        for (number, listener) in listeners where !listener.put(event) {
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
