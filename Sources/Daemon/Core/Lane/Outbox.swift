internal import Synchronization
internal import TransferEngine

/// A queue of reports from engines and the store, in order, until the core takes them.
final class Outbox: Sendable {
    enum Item: Sendable {
        /// An engine's event.
        case engine(lane: String?, TransferEvent)
        /// The completion of a store's transaction, in the order of the transactions.
        case answer(@Sendable (isolated DaemonCore) -> Void)
    }

    private struct State {
        var items: [Item] = []
        var isAwake = false
    }

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called for the first item, and for the first one after ``take()`` has found none.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func put(_ item: Item) {
        let wakes = self.state.withLock { state in
            state.items.append(item)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if wakes { self.wake() }
    }

    /// Removes and returns all items; if there are none, the next item calls `wake` again.
    func take() -> [Item] {
        self.state.withLock { state in
            let items = state.items
            state.items = []
            if items.isEmpty { state.isAwake = false }
            return items
        }
    }
}
