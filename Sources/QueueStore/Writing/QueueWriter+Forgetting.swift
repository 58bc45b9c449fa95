package import Control

extension QueueWriter {
    /// Forgets ended ones.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was forgotten.
    package func forget(_ ids: [GID]) throws(QueueStoreError) {
        let standings = try self.standings(of: ids, allowing: \.isEnd, "forgotten")
        var tally = Tally()
        for standing in standings {
            try self.connection.run("DELETE FROM transfers WHERE number = ?", [standing.number])
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
        }
        try tally.store(self.connection)
    }

    /// Forgets all ended ones of a queue; gives how many, by state.
    ///
    /// They are gone at once from everything that is read; their rows are deleted in the background, also after a kill.
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

    /// Forgets the oldest ended ones of the shared queue: those beyond a number, and those that ended before a time.
    ///
    /// Finished and removed ones are counted together. Failed ones are neither counted nor forgotten unless they are
    /// given limits of their own. The oldest is the one whose end was stored first; where the clock went back, one that
    /// ended "later" keeps those behind it.
    ///
    /// - Parameters:
    ///   - count: How many finished and removed ones may stay.
    ///   - time: Seconds since 1970.
    ///   - most: How many are forgotten at most, so that others have their turn.
    ///   - failed: How many failed ones may stay, and the time before which none stay; `nil` for all.
    /// - Returns: How many were forgotten, by state.
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
        // Stretches without such ends are not looked at: failed ones may have piled up before them.
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

    /// Forgets the ended transfers of `selection`, which is all that follows the table's name; all of one queue.
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
