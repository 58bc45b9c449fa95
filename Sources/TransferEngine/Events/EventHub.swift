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
        var observers: [(interest: TransferEvent.Interest, call: Observer)] = []
        var pending: [Item] = []
        var isDelivering = false
    }

    private let state = Mutex(State())
    private let wanted = Atomic<UInt8>(0)

    func add(_ interest: TransferEvent.Interest, _ observer: @escaping Observer) {
        self.state.withLock { $0.observers.append((interest, observer)) }
        self.wanted.bitwiseOr(interest.rawValue, ordering: .relaxed)
    }

    /// Whether anybody wants to hear of such events: those that nobody wants need not be made.
    func wants(_ interest: TransferEvent.Interest) -> Bool {
        self.wanted.load(ordering: .relaxed) & interest.rawValue != 0
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
            let work: ([Item], [(interest: TransferEvent.Interest, call: Observer)])? = self.state.withLock { state in
                guard !state.isDelivering, !state.pending.isEmpty else { return nil }
                state.isDelivering = true
                let items = state.pending
                state.pending = []
                return (items, state.observers)
            }
            guard let (items, observers) = work else { return }
            for item in items {
                switch item {
                case .event(let event):
                    let interest = event.kind.interest
                    for observer in observers where observer.interest.isSuperset(of: interest) { observer.call(event) }
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
