internal import Synchronization

/// Tells every observer every event in one order, outside all locks.
///
/// Whoever emits while nobody delivers becomes the one who delivers; an observer may so call the engine, and an event
/// emitted meanwhile waits its turn instead of overtaking.
final class EventHub: Sendable {
    typealias Observer = @Sendable (TransferEvent) -> Void

    private enum Item {
        case event(TransferEvent)
        case call(@Sendable () -> Void)
    }

    private struct State {
        var observers: [Observer] = []
        var pending: [Item] = []
        var isDelivering = false
    }

    private let state = Mutex(State())

    func add(_ observer: @escaping Observer) {
        self.state.withLock { $0.observers.append(observer) }
    }

    /// Puts events in line.
    ///
    /// Cheap, and safe under other locks; `deliver()` must follow outside them.
    func post(_ event: TransferEvent) {
        self.state.withLock { state in
            if !state.observers.isEmpty { state.pending.append(.event(event)) }
        }
    }

    /// Calls `work` once everything posted before was delivered; `deliver()` must follow outside locks.
    func post(then work: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.pending.append(.call(work)) }
    }

    /// Hands out what is in line, unless another thread is at it.
    func deliver() {
        while true {
            let work: ([Item], [Observer])? = self.state.withLock { state in
                guard !state.isDelivering, !state.pending.isEmpty else { return nil }
                state.isDelivering = true
                let items = state.pending
                state.pending = []
                return (items, state.observers)
            }
            guard let (items, observers) = work else { return }
            for item in items {
                switch item {
                case .event(let event): for observer in observers { observer(event) }
                case .call(let call): call()
                }
            }
            self.state.withLock { $0.isDelivering = false }
        }
    }

    func emit(_ event: TransferEvent) {
        self.post(event)
        self.deliver()
    }
}
