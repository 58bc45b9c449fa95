// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization

/// Delivers every event to all observers in the same order, outside all locks.
///
/// A thread that emits while no thread is delivering delivers the events. An observer may therefore call the engine;
/// an event emitted by such a call is delivered after those already enqueued.
final class EventHub: Sendable {
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
        var pending = DrainQueue<Item>()
    }

    private let state = Mutex(State())
    private let wanted = Atomic<UInt8>(0)

    /// Adds an observer.
    ///
    /// - Returns: The observer's number, for `remove`.
    func add(_ interest: TransferEvent.Interest, _ observer: @escaping Observer) -> Int {
        self.state.withLock { state in
            state.nextNumber += 1
            state.observers.append(Entry(number: state.nextNumber, interest: interest, call: observer))
            self.wanted.bitwiseOr(interest.rawValue, ordering: .relaxed)
            return state.nextNumber
        }
    }

    /// Removes an observer; a delivery in progress may still call it.
    func remove(_ number: Int) {
        self.state.withLock { state in
            state.observers.removeAll { $0.number == number }
            let left = state.observers.reduce(into: TransferEvent.Interest()) { $0.formUnion($1.interest) }
            self.wanted.store(left.rawValue, ordering: .relaxed)
        }
    }

    /// Whether an observer is registered for such events; others need not be created.
    func wants(_ interest: TransferEvent.Interest) -> Bool {
        self.wanted.load(ordering: .relaxed) & interest.rawValue != 0
    }

    /// Enqueues an event, if there are observers.
    ///
    /// Cheap, and safe under other locks; `deliver()` must follow outside all locks.
    func post(_ event: consuming TransferEvent) {
        let item = Item.event(event)
        self.state.withLock { state in
            if !state.observers.isEmpty { state.pending.append(item) }
        }
    }

    /// Calls `work` when all events posted before are delivered; `deliver()` must follow outside all locks.
    func post(then work: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.pending.append(.call(work)) }
    }

    /// Delivers the enqueued events, unless another thread is delivering.
    func deliver() {
        guard self.state.withLock({ $0.pending.claim() }) else { return }
        var items: [Item] = []
        while let observers = self.nextBatch(into: &items) {
            for item in items {
                switch item {
                case .event(let event):
                    let interest = event.kind.interest
                    for observer in observers where observer.interest.isSuperset(of: interest) { observer.call(event) }
                case .call(let call): call()
                }
            }
            items.removeAll(keepingCapacity: true)
        }
    }

    /// Enqueues and delivers an event; not under a lock.
    func emit(_ event: consuming TransferEvent) {
        self.post(event)
        self.deliver()
    }

    /// Takes the enqueued events; returns their observers, or `nil` if none are enqueued.
    private func nextBatch(into items: inout [Item]) -> [Entry]? {
        self.state.withLock { state in state.pending.next(into: &items) ? state.observers : nil }
    }
}
