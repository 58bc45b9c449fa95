internal import Control

/// Changes of the counts by stretches of positions, gathered over an operation and stored at its end.
///
/// - Invariant: After ``store(_:)``, the table `tally` counts exactly the rows of `transfers`.
struct Tally {
    private struct Key: Hashable {
        var isEnded: Int64
        var queue: Int64
        var bucket: Int64
        var state: Int64
    }

    /// About a thousand transfers to a stretch, see ``LineSpacing/gap``.
    static let lineShift: Int64 = 42
    /// A thousand ends to a stretch.
    static let historyShift: Int64 = 10

    private var changes: [Key: Int64] = [:]

    /// Notes that a transfer is there now, or (-1) no longer.
    mutating func count(_ change: Int64, state: Int64, queue: Int64, position: Int64) {
        let isEnded = state > 1
        let key = Key(
            isEnded: isEnded ? 1 : 0,
            queue: queue,
            bucket: position >> (isEnded ? Self.historyShift : Self.lineShift),
            state: state
        )
        self.changes[key, default: 0] += change
    }

    /// Notes that several ended transfers of one stretch are no longer there.
    mutating func remove(_ count: Int64, ended state: Int64, queue: Int64, bucket: Int64) {
        self.changes[Key(isEnded: 1, queue: queue, bucket: bucket, state: state), default: 0] -= count
    }

    /// Stores the changes.
    consuming func store(_ connection: Connection) throws(QueueStoreError) {
        for (key, change) in self.changes where change != 0 {
            try connection.run(
                """
                INSERT INTO tally (isEnded, queue, bucket, state, count) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (isEnded, queue, bucket, state) DO UPDATE SET count = count + excluded.count
                """,
                [key.isEnded, key.queue, key.bucket, key.state, change]
            )
            guard change < 0 else { continue }
            try connection.run(
                "DELETE FROM tally WHERE isEnded = ? AND queue = ? AND bucket = ? AND state = ? AND count <= 0",
                [key.isEnded, key.queue, key.bucket, key.state]
            )
        }
    }
}
