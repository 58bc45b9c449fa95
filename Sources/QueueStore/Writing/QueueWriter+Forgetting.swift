// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueWriter {
    /// Deletes ended transfers.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was deleted.
    package func forget(_ ids: [GID]) throws(QueueStoreError) {
        let standings = try self.standings(of: ids, allowing: \.isEnd, "forgotten")
        var tally = Tally()
        for standing in standings {
            try self.connection.run("DELETE FROM transfers WHERE number = ?", [standing.number])
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
        }
        try tally.store(self.connection)
    }

    /// Forgets all ended transfers of a queue, and returns their number by state.
    ///
    /// They disappear from all reads at once; their rows are deleted in the background, also after a kill.
    package func forgetEnded(session: String?) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        guard let queue = try self.connection.queue(of: session) else { return [:] }
        var counts = try self.reader.counts(session: session)
        for state in counts.keys where !state.isEnd { counts[state] = nil }
        guard !counts.isEmpty else { return [:] }
        let last = try self.connection.lastEnd()
        try self.connection.run(
            "INSERT INTO forgotten (queue, last) VALUES (?, ?) ON CONFLICT (queue) DO UPDATE SET last = excluded.last",
            [queue, last]
        )
        try self.connection.run("DELETE FROM tally WHERE isEnded = 1 AND queue = ?", [queue])
        try self.connection.run("DELETE FROM removals WHERE queue = ?", [queue])
        var classes = try self.connection.classes(of: queue)
        let before = classes
        classes.forgetAll()
        if classes != before { try self.connection.store(classes, of: queue) }
        return counts
    }

    /// Forgets the oldest ended transfers of the shared queue: those beyond a number, and those that ended before a
    /// time.
    ///
    /// Finished and removed transfers are counted together. Failed ones are neither counted nor forgotten unless they
    /// have their own limits. The oldest is the one whose end was stored first; after the clock was set back, a
    /// transfer with a later time of its end keeps those stored after it.
    ///
    /// - Parameters:
    ///   - count: The maximum number of finished and removed transfers to keep.
    ///   - time: The time before which ended transfers are forgotten, in seconds since 1970.
    ///   - most: The maximum number to forget in this transaction.
    ///   - failed: The maximum number of failed transfers to keep, and the time before which they are forgotten; `nil`
    ///     keeps all.
    /// - Returns: The number of forgotten transfers by state.
    /// - Throws: ``QueueStoreError``.
    package func trimHistory(
        count: Int,
        before time: Double,
        most: Int,
        failed: (count: Int, before: Double)? = nil
    ) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        var forgotten = try self.trim(0b10100, count, time, most)
        guard let failed else { return forgotten }
        let left = most - forgotten.values.reduce(0, +)
        forgotten.merge(try self.trim(0b01000, failed.count, failed.before, left)) { $0 + $1 }
        return forgotten
    }

    private func trim(
        _ mask: Int64,
        _ count: Int,
        _ time: Double,
        _ most: Int
    ) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        let half = Half(isEnded: true, queues: 0...0, mask: mask)
        var excess = min(try self.connection.count(half) - max(0, count), most)
        var left = most
        var forgotten: [TransferRecord.State: Int] = [:]
        // Buckets without such ends are skipped: many failed transfers may precede them.
        let buckets = try self.connection.all(
            """
            SELECT DISTINCT bucket FROM tally WHERE isEnded = 1 AND queue = 0 AND (? >> state) & 1 ORDER BY bucket
            LIMIT ?
            """,
            [mask, most / 8 + 2]
        ) { $0.integer(0) ?? 0 }
        for bucket in buckets where left > 0 {
            var last: Int64?
            var isWhole = true
            let range: Connection.Arguments = [bucket << Tally.historyShift, (bucket + 1) << Tally.historyShift, mask]
            try self.connection.each(
                """
                SELECT position, ended FROM transfers INDEXED BY history
                WHERE position >= ? AND position < ? AND state > 1 AND queue = 0 AND (? >> state) & 1
                AND \(TransferColumns.isPresent) ORDER BY position
                """,
                range
            ) { row in
                guard left > 0, excess > 0 || row.real(1) ?? 0 < time else {
                    isWhole = false
                    return false
                }
                last = row.integer(0)
                (left, excess) = (left - 1, excess - 1)
                return true
            }
            if let last {
                let found = try self.forgetEnded(
                    """
                    INDEXED BY history WHERE position >= ? AND position < ? AND state > 1 AND queue = 0
                    AND (? >> state) & 1 AND position <= ? AND \(TransferColumns.isPresent)
                    """,
                    range + [last],
                    of: 0
                )
                forgotten.merge(found) { $0 + $1 }
            }
            if !isWhole { break }
        }
        return forgotten
    }

    /// Deletes the ended transfers of `selection`, the part of the query after the table's name; all of one queue.
    func forgetEnded(
        _ selection: String,
        _ arguments: Connection.Arguments,
        of queue: Int64
    ) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        var tally = Tally()
        var forgotten: [TransferRecord.State: Int] = [:]
        let path = self.connection.path
        try self.connection.each(
            """
            SELECT position >> \(Tally.historyShift), state, count(*) FROM transfers \(selection) GROUP BY 1, 2
            """,
            arguments
        ) { (row) throws(QueueStoreError) in
            guard let bucket = row.integer(0), let code = row.integer(1), let count = row.integer(2),
                let state = TransferRecord.State(code: code)
            else { throw .damaged(path, "the history cannot be read") }
            tally.remove(count, ended: code, queue: queue, bucket: bucket)
            forgotten[state, default: 0] += Int(clamping: count)
            return true
        }
        guard !forgotten.isEmpty else { return [:] }
        try self.connection.run("DELETE FROM transfers \(selection)", arguments)
        try tally.store(self.connection)
        return forgotten
    }
}
