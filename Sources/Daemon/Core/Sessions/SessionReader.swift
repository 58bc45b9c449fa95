// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Concurrency
internal import Control
internal import QueueStore
internal import Synchronization

/// Reads a session's events for one program: stored events in pages from the store, and progress between them.
///
/// New events are also read from the store, so that order and numbers are the store's and nothing is kept twice.
final class SessionReader: Sendable {
    private struct State {
        var page: [StoredEvent] = []
        var after: Int64
        /// The newest transient event of each transfer, such as progress.
        var passing: [GID: JSON] = [:]
        var order: [GID] = []
        /// Whether the store may have unread events.
        var isBehind = true
        var isFinished = false
    }

    private static let pageSize = 256
    private static let mostPassing = 4096

    let number: Int
    private let session: String
    private let store: QueueStore
    private let state: Mutex<State>
    private let change = Signal()

    init(number: Int, session: String, store: QueueStore, after: Int64) {
        self.number = number
        self.session = session
        self.store = store
        self.state = Mutex(State(after: after))
    }

    /// Notifies the reader that the store has new events.
    func wake() {
        self.signal { $0.isBehind = true }
    }

    /// Adds a transient event; it replaces the previous one of the same transfer.
    func put(_ id: GID, _ event: JSON) {
        self.signal { state in
            guard state.passing[id] != nil || state.passing.count < Self.mostPassing else { return }
            if state.passing.updateValue(event, forKey: id) == nil { state.order.append(id) }
        }
    }

    func finish() { self.signal { $0.isFinished = true } }

    private func signal(_ change: (inout State) -> Void) {
        self.state.withLock { change(&$0) }
        self.change.send()
    }

    private enum Step {
        case give(SessionEvent)
        case read(after: Int64)
        case wait
        case end
    }

    func next() async -> SessionEvent? {
        while true {
            switch self.nextStep() {
            case .give(let event): return event
            case .end: return nil
            case .read(let after):
                do throws(QueueStoreError) {
                    let session = self.session
                    let page = try await self.store.read { (reader) throws(QueueStoreError) in
                        try reader.events(of: session, after: after, limit: Self.pageSize)
                    }
                    self.state.withLock { state in
                        state.page = page.reversed()
                        if page.count == Self.pageSize { state.isBehind = true }
                    }
                } catch {
                    // The program reconnects and continues after its last event.
                    return nil
                }
            case .wait:
                await self.change.wait()
                if Task.isCancelled { self.finish() }
            }
        }
    }

    private func nextStep() -> Step {
        self.state.withLock { state in
            if state.isFinished { return .end }
            if let event = state.page.popLast() {
                state.after = event.number
                let json = (try? JSON(parsing: event.json)) ?? .null
                // Progress from before a stored event is outdated.
                if state.passing.removeValue(forKey: event.transfer) != nil {
                    state.order.removeAll { $0 == event.transfer }
                }
                return .give(SessionEvent(number: event.number, json: json))
            }
            if state.isBehind {
                state.isBehind = false
                return .read(after: state.after)
            }
            if !state.order.isEmpty, let event = state.passing.removeValue(forKey: state.order.removeFirst()) {
                return .give(SessionEvent(number: 0, json: event))
            }
            return .wait
        }
    }
}
