// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import QueueStore

/// Ends and session events that are to be stored, in the order in which they occurred.
struct EndBatch: Sendable {
    /// One end or event.
    struct Item: Sendable {
        /// The lane.
        var session: String?
        var id: GID
        /// The end; `nil` if only a session event is stored.
        var end: StoredEnd?
        /// The session's event.
        var event: JSON?
        var before: StoredTransfer
    }

    /// The result of storing one item.
    struct Outcome: Sendable {
        /// The event's number, or 0 without an event.
        var number: Int64 = 0
        /// The stored state before the end; `nil` if the transfer had already ended in the store.
        var before: TransferRecord.State?
    }

    var items: [Item] = []

    /// Writes all items in one transaction.
    ///
    /// Skips the end and the event of a transfer that was removed in the meantime: its removal has been reported.
    ///
    /// - Returns: The outcome of each item, in the same order.
    func write(_ writer: borrowing QueueWriter) throws(QueueStoreError) -> [Outcome] {
        let ends = self.items.compactMap(\.end)
        var states = try (ends.isEmpty ? [] : writer.end(ends))[...]
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(self.items.count)
        for item in self.items {
            var outcome = Outcome()
            if item.end != nil { outcome.before = states.popFirst() ?? nil }
            if let session = item.session, let event = item.event, item.end == nil || outcome.before != nil {
                outcome.number = try writer.appendEvent(session: session, transfer: item.id, json: event.text)
            }
            outcomes.append(outcome)
        }
        return outcomes
    }
}
