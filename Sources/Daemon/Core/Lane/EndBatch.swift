internal import Control
internal import QueueStore

/// What is to be written about transfers that ended or were answered, in the order in which it happened.
struct EndBatch: Sendable {
    /// One thing.
    struct Item: Sendable {
        /// The lane.
        var session: String?
        var id: GID
        /// The end; `nil` for an event of the session alone.
        var end: StoredEnd?
        /// The session's event, JSON text.
        var event: JSON?
        /// The transfer as it was.
        var before: StoredTransfer
    }

    /// What became of one thing.
    struct Outcome: Sendable {
        /// The event's number, 0 where there is none.
        var number: Int64 = 0
        /// The state of a transfer that ended, as the store had it before; `nil` where it had ended there already.
        var before: TransferRecord.State?
    }

    var items: [Item] = []

    /// Writes all of it.
    ///
    /// The end of a transfer that was removed meanwhile is none: it has been told that it is removed.
    ///
    /// - Returns: What became of each.
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
