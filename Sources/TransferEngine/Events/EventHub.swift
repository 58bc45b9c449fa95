internal import Synchronization

/// Tells every observer every event in one order, outside all locks.
///
/// Whoever emits while nobody delivers becomes the one who delivers; an observer may so call the engine, and an event
/// emitted meanwhile waits its turn instead of overtaking.
final class EventHub: EventSink {
    typealias Observer = @Sendable (TransferEvent) -> Void

    private enum Item {
        case event(TransferEvent)
        case call(@Sendable () -> Void)
    }

    private struct Entry {
        var number: Int
        var interest: TransferEvent.Interest
        var call: Observer
    }

    private struct State {
        var observers: [Entry] = []
        var nextNumber = 0
        var pending: [Item] = []
        var isDelivering = false
    }

    private let state = Mutex(State())
    private let wanted = Atomic<UInt8>(0)

    /// Adds an observer.
    ///
    /// - Returns: Its number, for `remove`.
    func add(_ interest: TransferEvent.Interest, _ observer: @escaping Observer) -> Int {
        self.state.withLock { state in
            state.nextNumber += 1
            state.observers.append(Entry(number: state.nextNumber, interest: interest, call: observer))
            self.wanted.bitwiseOr(interest.rawValue, ordering: .relaxed)
            return state.nextNumber
        }
    }

    /// Removes an observer; a delivery under way may still reach it once.
    func remove(_ number: Int) {
        self.state.withLock { state in
            state.observers.removeAll { $0.number == number }
            let left = state.observers.reduce(into: TransferEvent.Interest()) { $0.formUnion($1.interest) }
            self.wanted.store(left.rawValue, ordering: .relaxed)
        }
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
            let work: ([Item], [Entry])? = self.state.withLock { state in
                guard !state.isDelivering, !state.pending.isEmpty else { return nil }
                state.isDelivering = true
                let items = state.pending
                state.pending = []
                return (items, state.observers)
            }
            guard let (items, observers) = work else { return }
            for item in items {
                switch consume item {
                case .event(let event):
                    let interest = event.kind.interest
                    for observer in observers where observer.interest.isSuperset(of: interest) { observer.call(event) }
                case .call(let call): call()
                }
            }
            self.state.withLock { $0.isDelivering = false }
        }
    }

}
