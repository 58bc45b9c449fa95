internal import QueueStore
internal import Synchronization
internal import TransferEngine

/// What the threads that move data, and the store's, leave for the core: they append and go on.
final class Outbox: Sendable {
    enum Item: Sendable {
        case engine(lane: String?, TransferEvent)
        case committed(EndBatch, Result<[EndBatch.Outcome], QueueStoreError>)
    }

    private struct State {
        var items: [Item] = []
        var isAwake = false
    }

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called where something lies here that nobody was called for.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func put(_ item: Item) {
        let wakes = self.state.withLock { state in
            state.items.append(item)
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if wakes { self.wake() }
    }

    /// Everything that lies here; nothing means that whoever comes next is woken for.
    func take() -> [Item] {
        self.state.withLock { state in
            let items = state.items
            state.items = []
            if items.isEmpty { state.isAwake = false }
            return items
        }
    }
}
