// SPDX-License-Identifier: Apache-2.0
/// The hosts whose first transfer may have changed, collected during an operation and stored at its end.
///
/// - Invariant: After ``store(_:)``, the table `heads` contains the first row of `ready` for each queue, code and host.
struct Heads {
    private struct Key: Hashable {
        var queue: Int64
        var code: Int64
        var host: Int64
    }

    private var touched: Set<Key> = []

    /// The condition for the rows of a queue, a code and a host, in the order in which they run.
    ///
    /// `state < 2` is the condition of the partial index. Without `likely`, SQLite would use it to seek, and scan the
    /// whole queue.
    static let line = "INDEXED BY ready WHERE queue = ? AND state = ? AND host = ? AND likely(state < 2)"

    /// Records that a row of this code was added, removed or moved.
    mutating func touch(queue: Int64, code: Int64, host: Int64) {
        self.touched.insert(Key(queue: queue, code: code, host: host))
    }

    /// Records that a row changes; ended transfers have no head.
    mutating func touch(_ standing: Standing) {
        if standing.code < 2 { self.touch(queue: standing.queue, code: standing.code, host: standing.host) }
    }

    /// Stores the changes.
    consuming func store(_ connection: Connection) throws(QueueStoreError) {
        for key in self.touched {
            var first: (priority: Int64, position: Int64)?
            try connection.each(
                """
                SELECT priority, position FROM transfers \(Self.line) ORDER BY priority DESC, position LIMIT 1
                """,
                [key.queue, key.code, key.host]
            ) { row in
                first = (row.integer(0) ?? 0, row.integer(1) ?? 0)
                return false
            }
            guard let first else {
                try connection.run(
                    "DELETE FROM heads WHERE queue = ? AND code = ? AND host = ?",
                    [key.queue, key.code, key.host]
                )
                continue
            }
            try connection.run(
                """
                INSERT INTO heads (queue, code, host, priority, position) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (queue, code, host) DO UPDATE SET priority = excluded.priority, position = excluded.position
                WHERE priority != excluded.priority OR position != excluded.position
                """,
                [key.queue, key.code, key.host, first.priority, first.position]
            )
        }
    }
}
