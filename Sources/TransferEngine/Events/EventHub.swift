internal import Synchronization

/// Tells every observer every event in one order, outside all locks.
///
/// Whoever emits while nobody delivers becomes the one who delivers; an observer may so call the engine, and an event
/// emitted meanwhile waits its turn instead of overtaking.
final class EventHub: Sendable {
    typealias Observer = @Sendable (TransferEvent) -> Void

    private struct State {
        var observers: [Observer] = []
        var pending: [TransferEvent] = []
        var isDelivering = false
    }

    private let state = Mutex(State())

    func add(_ observer: @escaping Observer) {
        self.state.withLock { $0.observers.append(observer) }
    }

    /// Puts events in line. Cheap, and safe under other locks; `deliver()` must follow outside them.
    func post(_ event: TransferEvent) {
        self.state.withLock { state in
            if !state.observers.isEmpty { state.pending.append(event) }
        }
    }

    /// Hands out what is in line, unless another thread is at it.
    func deliver() {
        while true {
            let work: ([TransferEvent], [Observer])? = self.state.withLock { state in
                guard !state.isDelivering, !state.pending.isEmpty else { return nil }
                state.isDelivering = true
                let events = state.pending
                state.pending = []
                return (events, state.observers)
            }
            guard let (events, observers) = work else { return }
            for event in events {
                for observer in observers { observer(event) }
            }
            self.state.withLock { $0.isDelivering = false }
        }
    }

    func emit(_ event: TransferEvent) {
        self.post(event)
        self.deliver()
    }
}
