// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Changes of the counts by buckets of positions, collected during an operation and stored at its end.
///
/// - Invariant: After ``store(_:)``, the table `tally` counts exactly the rows of `transfers`.
struct Tally {
    private struct Key: Hashable {
        var isEnded: Int64
        var queue: Int64
        var bucket: Int64
        var state: Int64
    }

    /// The shift from a position in a queue to its bucket: about a thousand transfers, see ``LineSpacing/gap``.
    static let lineShift: Int64 = 42
    /// The shift from the number of an end to its bucket: 1024 ends.
    static let historyShift: Int64 = 10

    private var changes: [Key: Int64] = [:]

    /// Records that a transfer was added (1) or removed (-1).
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

    /// Records that several ended transfers of one bucket were deleted.
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
