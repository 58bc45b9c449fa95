// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
package import Control

extension QueueWriter {
    /// Sets the state of unfinished transfers to `waiting` or `paused`.
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
        // The merge may have changed the codes of these rows.
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

    /// Pauses (`.paused`) or resumes (`.waiting`) all transfers of a queue in the state `from`, and returns their
    /// number.
    ///
    /// The rows are not changed, so a million transfers take no longer than a few: see ``StateClasses``. Other states
    /// than `waiting` and `paused` are ignored.
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

    /// Stores the ends of transfers.
    ///
    /// An end is skipped if its transfer does not exist or has ended already.
    ///
    /// - Returns: For each end the transfer's previous state, or `nil` if the end was skipped.
    /// - Throws: `wrongState` if the state of an end is `waiting`, `paused` or `active`.
    @discardableResult
    package func end(_ ends: [StoredEnd]) throws(QueueStoreError) -> [TransferRecord.State?] {
        if let wrong = ends.first(where: { !$0.state.isEnd }) {
            throw QueueStoreError(
                .wrongState(wrong.id, wrong.state),
                "'\(wrong.state.rawValue)' is not an end state of \(wrong.id)"
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
                    TransferColumns.failure(of: end), standing.number,
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

    /// Appends failed or removed transfers to their queues again as waiting, in the order of `ids`.
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
