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
    package func forgetEnded(session: String?) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        guard let queue = try self.connection.queue(of: session) else { return [:] }
        guard queue > 0 else {
            return try self.forgetEnded("INDEXED BY history WHERE state > 1 AND queue = ?", [queue], of: queue)
        }
        return try self.forgetEnded("INDEXED BY owed WHERE state > 1 AND queue > 0 AND queue = ?", [queue], of: queue)
    }

    /// Forgets the oldest ended ones of the shared queue: those beyond `count`, and those that ended before `time`.
    ///
    /// The oldest is the one whose end was stored first; where the clock went back, one that ended "later" keeps those
    /// behind it.
    ///
    /// - Parameters:
    ///   - count: How many may stay.
    ///   - time: Seconds since 1970.
    ///   - most: How many are forgotten at most, so that others have their turn.
    /// - Returns: How many were forgotten, by state.
    /// - Throws: ``QueueStoreError``.
    package func trimHistory(
        count: Int,
        before time: Double,
        most: Int
    ) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        let held = try self.connection.count(Half(isEnded: true, queues: 0...0, mask: 0b11100))
        let excess = min(held - max(0, count), most)
        // The end before which all are forgotten: by number, or by age where that is more.
        let beyond = excess > 0 ? try self.connection.end(after: excess, queue: 0) ?? .max : .min
        let aged = try self.connection.firstEnd(since: time, after: beyond, most: most - max(0, excess))
        return try self.forgetEnded(
            "INDEXED BY history WHERE state > 1 AND queue = 0 AND position < ?",
            [max(beyond, aged)],
            of: 0
        )
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
