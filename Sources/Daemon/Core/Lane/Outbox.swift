internal import Synchronization
internal import TransferEngine

/// What engines and the store report, in order, until the core takes it.
final class Outbox: Sendable {
    enum Item: Sendable {
        /// An engine's event.
        case engine(lane: String?, TransferEvent)
        /// An answer of the store: what follows from it. The answers are in the order of the transactions.
        case answer(@Sendable (isolated DaemonCore) -> Void)
    }

    private struct State {
        var items: [Item] = []
        var isAwake = false
    }

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called when there is something that it was not called for.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func put(_ item: Item) {
        let wakes = self.state.withLock { state in
            state.items.append(item)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if wakes { self.wake() }
    }

    /// Everything that is there; if that is nothing, the next item wakes again.
    func take() -> [Item] {
        self.state.withLock { state in
            let items = state.items
            state.items = []
            if items.isEmpty { state.isAwake = false }
            return items
        }
    }
}
