// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferEngine

/// A queue of reports from engines and the store, in order, until the core takes them.
final class ReportQueue: Sendable {
    enum Item: Sendable {
        /// An engine's event.
        case engine(lane: String?, TransferEvent)
        /// The completion of a store's transaction, in the order of the transactions.
        case answer(@Sendable (isolated DaemonCore) -> Void)
    }

    private let drain = SerialDrain<Item>()
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called for the first item, and for the first one after ``take()`` has found none.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    func put(_ item: Item) {
        if self.drain.append(item) { self.wake() }
    }

    /// Removes and returns all items; if there are none, the next item calls `wake` again.
    func take() -> [Item] { self.drain.takeBatch() }
}
