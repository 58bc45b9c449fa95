internal import Synchronization

/// Gives what happens to everybody who listens, each with a bounded buffer.
final class EventBroadcast: Sendable {
    private struct State {
        var listeners: [Int: Listener] = [:]
        var nextNumber = 0
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Whether anybody listens.
    var isHeard: Bool { self.state.withLock { !$0.listeners.isEmpty } }

    /// What happens from now on.
    func listen(capacity: Int) -> AsyncStream<ServiceEvent> {
        let listener = Listener(capacity: max(1, capacity))
        let (number, isFinished) = self.state.withLock { state in
            state.nextNumber += 1
            if !state.isFinished { state.listeners[state.nextNumber] = listener }
            return (state.nextNumber, state.isFinished)
        }
        if isFinished { listener.finish() }
        // The stream alone keeps this: where nobody holds the stream any more, nothing is collected for it.
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
