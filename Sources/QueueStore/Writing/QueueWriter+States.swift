package import Control

extension QueueWriter {
    /// Sets the state of unfinished ones between `waiting` and `paused`.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was changed.
    package func setState(_ state: TransferRecord.State, of ids: [GID]) throws(QueueStoreError) {
        let standings = try self.standings(of: ids, allowing: { !$0.isEnd && !state.isEnd }, "set \(state.rawValue)")
        var tally = Tally()
        for standing in standings where standing.state != state.code {
            try self.connection.run(
                "UPDATE transfers SET state = ? WHERE number = ?",
                [state.code, standing.number]
            )
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
            tally.count(1, state: state.code, queue: standing.queue, position: standing.position)
        }
        try tally.store(self.connection)
    }

    /// Sets the state of all of one queue that are in `from`; gives how many.
    ///
    /// Other states than `waiting` and `paused` are neither set nor looked for.
    package func setState(
        _ state: TransferRecord.State,
        from: TransferRecord.State,
        session: String?
    ) throws(QueueStoreError) -> Int {
        guard !state.isEnd, !from.isEnd, state.code != from.code,
            let queue = try self.connection.queue(of: session)
        else { return 0 }
        try self.connection.run(
            "UPDATE transfers SET state = ? WHERE queue = ? AND state < 2 AND state = ?",
            [state.code, queue, from.code]
        )
        let count = self.connection.changes
        guard count > 0 else { return 0 }
        try self.connection.run(
            """
            INSERT INTO tally (isEnded, queue, bucket, state, count)
            SELECT isEnded, queue, bucket, ?, count FROM tally WHERE isEnded = 0 AND queue = ? AND state = ?
            ON CONFLICT (isEnded, queue, bucket, state) DO UPDATE SET count = count + excluded.count
            """,
            [state.code, queue, from.code]
        )
        try self.connection.run(
            "DELETE FROM tally WHERE isEnded = 0 AND queue = ? AND state = ?",
            [queue, from.code]
        )
        return count
    }

    /// Stores ends.
    ///
    /// One whose transfer is not there or has ended already is left out.
    ///
    /// - Returns: For each the state that it had before, or `nil` where it was left out.
    /// - Throws: `wrongState` where the state of an end is none.
    @discardableResult
    package func end(_ ends: [StoredEnd]) throws(QueueStoreError) -> [TransferRecord.State?] {
        if let wrong = ends.first(where: { !$0.state.isEnd }) {
            throw QueueStoreError(
                .wrongState(wrong.id, wrong.state),
                "'\(wrong.state.rawValue)' is no end of \(wrong.id)"
            )
        }
        var tally = Tally()
        var last = try self.connection.integer("SELECT max(position) FROM transfers INDEXED BY history WHERE state > 1")
        var before: [TransferRecord.State?] = []
        before.reserveCapacity(ends.count)
        for end in ends {
            guard let standing = try self.connection.standing(of: end.id), standing.state < 2 else {
                before.append(nil)
                continue
            }
            before.append(TransferRecord.State(code: standing.state))
            let number = (last ?? 0) &+ 1
            last = number
            try self.connection.run(
                """
                UPDATE transfers SET state = ?, position = ?, bytes = ?, total = ?, ended = ?, path = coalesce(?, path),
                failure = ? WHERE number = ?
                """,
                [
                    end.state.code, number, end.bytes, end.total, end.at.storedTime, end.path?.stored,
                    end.failure?.json.text, standing.number,
                ]
            )
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
            tally.count(1, state: end.state.code, queue: standing.queue, position: number)
        }
        try tally.store(self.connection)
        return before
    }

    /// Puts failed or removed ones in line again, at the end, waiting, in the order of `ids`.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was changed.
    package func retry(_ ids: [GID]) throws(QueueStoreError) {
        let standings = try self.standings(of: ids, allowing: { $0 == .failed || $0 == .removed }, "tried again")
        var positions: [Int64: ArraySlice<Int64>] = [:]
        for (queue, ended) in Dictionary(grouping: standings, by: \.queue) {
            positions[queue] = try LinePlaces(self.connection, queue: queue).atEnd(ended.count)[...]
        }
        var tally = Tally()
        for standing in standings {
            guard let position = positions[standing.queue]?.popFirst() else { continue }
            try self.connection.run(
                "UPDATE transfers SET state = 0, position = ?, ended = NULL, failure = NULL WHERE number = ?",
                [position, standing.number]
            )
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
            tally.count(1, state: 0, queue: standing.queue, position: position)
        }
        try tally.store(self.connection)
    }
}
