internal import Control
internal import QueueStore

/// What is to be written about transfers that ended or were answered, in the order in which it happened.
struct EndBatch: Sendable {
    /// One thing.
    struct Item: Sendable {
        /// The lane.
        var session: String?
        var id: GID
        var run: UInt64
        /// The end; `nil` for an event of the session alone.
        var end: StoredEnd?
        /// The session's event, JSON text.
        var event: JSON?
        /// The transfer as it was.
        var before: StoredTransfer
    }

    var items: [Item] = []

    /// Writes all of it.
    ///
    /// - Returns: The events' numbers, 0 where there is none.
    func write(_ writer: borrowing QueueWriter) throws(QueueStoreError) -> [Int64] {
        let ends = self.items.compactMap(\.end)
        if !ends.isEmpty { try writer.end(ends) }
        var numbers: [Int64] = []
        numbers.reserveCapacity(self.items.count)
        for item in self.items {
            guard let session = item.session, let event = item.event else {
                numbers.append(0)
                continue
            }
            numbers.append(try writer.appendEvent(session: session, transfer: item.id, json: event.text))
        }
        return numbers
    }
}
