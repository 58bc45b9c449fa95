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

    /// Forgets all ended ones of a queue; gives how many.
    package func forgetEnded(session: String?) throws(QueueStoreError) -> Int {
        guard let queue = try self.connection.queue(of: session) else { return 0 }
        guard queue > 0 else {
            return try self.forgetEnded("INDEXED BY history WHERE state > 1 AND queue = ?", [queue], of: queue)
        }
        return try self.forgetEnded("INDEXED BY owed WHERE state > 1 AND queue > 0 AND queue = ?", [queue], of: queue)
    }

    /// Forgets the oldest ended ones of the shared queue beyond `count`, and those that ended before `time`.
    package func trimHistory(count: Int, before time: Double) throws(QueueStoreError) -> Int {
        var forgotten = try self.forgetEnded(
            "INDEXED BY age WHERE state > 1 AND queue = 0 AND ended < ?",
            [time],
            of: 0
        )
        let left = try self.connection.count(Half(isEnded: true, queues: 0...0, mask: 0b11100))
        guard left > max(0, count) else { return forgotten }
        if let first = try self.connection.end(after: left - max(0, count), queue: 0) {
            forgotten += try self.forgetEnded(
                "INDEXED BY history WHERE state > 1 AND queue = 0 AND position < ?",
                [first],
                of: 0
            )
        } else {
            forgotten += try self.forgetEnded(session: nil)
        }
        return forgotten
    }

    /// Forgets the ended transfers of `selection`, which is all that follows the table's name; all of one queue.
    func forgetEnded(
        _ selection: String,
        _ arguments: Connection.Arguments,
        of queue: Int64
    ) throws(QueueStoreError) -> Int {
        var tally = Tally()
        let path = self.connection.path
        try self.connection.each(
            """
            SELECT position >> \(Tally.historyShift), state, count(*) FROM transfers \(selection) GROUP BY 1, 2
            """,
            arguments
        ) { (row) throws(QueueStoreError) in
            guard let bucket = row.integer(0), let state = row.integer(1), let count = row.integer(2) else {
                throw .damaged(path, "the history cannot be read")
            }
            tally.remove(count, ended: state, queue: queue, bucket: bucket)
            return true
        }
        try self.connection.run("DELETE FROM transfers \(selection)", arguments)
        let count = self.connection.changes
        try tally.store(self.connection)
        return count
    }
}
