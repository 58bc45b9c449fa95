package import Control

extension QueueWriter {
    /// Sets the state of unfinished ones between `waiting` and `paused`.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was changed.
    package func setState(_ state: TransferRecord.State, of ids: [GID]) throws(QueueStoreError) {
        let what = "set \(state.rawValue)"
        var standings = try self.standings(of: ids, allowing: { !$0.isEnd && !state.isEnd }, what)
        var codes: [Int64: Int64] = [:]
        var book = ClassBook(self.connection)
        for queue in Set(standings.map(\.queue)) {
            codes[queue] = try book.code(for: state == .paused ? .paused : .waiting, queue: queue)
        }
        // Rows may have other codes now.
        if book.hasMerged { standings = try self.standings(of: ids, allowing: { !$0.isEnd }, what) }
        var tally = Tally()
        var heads = Heads()
        for standing in standings where standing.state != state.code {
            guard let code = codes[standing.queue] else { continue }
            try self.connection.run("UPDATE transfers SET state = ? WHERE number = ?", [code, standing.number])
            heads.touch(standing)
            heads.touch(queue: standing.queue, code: code, host: standing.host)
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
            tally.count(1, state: state.code, queue: standing.queue, position: standing.position)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
    }

    /// Pauses (`.paused`) or resumes (`.waiting`) all of one queue that are in `from`; gives how many.
    ///
    /// The rows stay as they are, so that a million takes no longer than a few: see ``StateClasses``. Other states than
    /// `waiting` and `paused` are neither set nor looked for.
    package func setState(
        _ state: TransferRecord.State,
        from: TransferRecord.State,
        session: String?
    ) throws(QueueStoreError) -> Int {
        guard !state.isEnd, !from.isEnd, state.code != from.code,
            let queue = try self.connection.queue(of: session)
        else { return 0 }
        let half = Half(isEnded: false, queues: queue...queue, mask: 1 << from.code)
        let count = try self.connection.count(half)
        guard count > 0 else { return 0 }
        var classes = try self.connection.used(self.connection.classes(of: queue), of: queue)
        if state == .paused { classes.pauseAll() } else { classes.resumeAll() }
        try self.connection.store(classes, of: queue)
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
        var heads = Heads()
        var number = try self.connection.lastEnd()
        var before: [TransferRecord.State?] = []
        before.reserveCapacity(ends.count)
        for end in ends {
            guard let standing = try self.connection.standing(of: end.id), standing.state < 2 else {
                before.append(nil)
                continue
            }
            before.append(TransferRecord.State(code: standing.state))
            number &+= 1
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
            heads.touch(standing)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
        return before
    }

    /// Puts failed or removed ones in line again, at the end, waiting, in the order of `ids`.
    ///
    /// - Throws: `notFound`, `wrongState`; then none was changed.
    package func retry(_ ids: [GID]) throws(QueueStoreError) {
        let standings = try self.standings(of: ids, allowing: { $0 == .failed || $0 == .removed }, "tried again")
        var positions: [Int64: ArraySlice<Int64>] = [:]
        var codes: [Int64: Int64] = [:]
        var book = ClassBook(self.connection)
        for (queue, ended) in Dictionary(grouping: standings, by: \.queue) {
            positions[queue] = try LinePlaces(self.connection, queue: queue).atEnd(ended.count)[...]
            codes[queue] = try book.code(for: .waiting, queue: queue)
        }
        var tally = Tally()
        var heads = Heads()
        for standing in standings {
            guard let position = positions[standing.queue]?.popFirst(), let code = codes[standing.queue] else {
                continue
            }
            try self.connection.run(
                """
                UPDATE transfers SET state = ?, position = ?, ended = NULL, failure = NULL, host = martlet_host(urls)
                WHERE number = ?
                """,
                [code, position, standing.number]
            )
            let host = try self.connection.integer("SELECT host FROM transfers WHERE number = ?", [standing.number])
            heads.touch(queue: standing.queue, code: code, host: host ?? 0)
            tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
            tally.count(1, state: 0, queue: standing.queue, position: position)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
    }
}
