// SPDX-License-Identifier: Apache-2.0
internal import SQLite
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
    /// An end is skipped if its transfer does not exist or has ended already. The row of a transfer with a known standing
    /// is changed without being read, if it still has that standing.
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
        var classes: [Int64: StateClasses] = [:]
        let change = try self.connection.repeated(Self.ending)
        var before: [TransferRecord.State?] = []
        before.reserveCapacity(ends.count)
        for end in ends {
            var ended: Standing?
            if var known = end.standing {
                if classes[known.queue] == nil { classes[known.queue] = try self.connection.classes(of: known.queue) }
                // An action on the whole queue may have changed the meaning of its code.
                known.state = classes[known.queue]?.state(of: known.code) ?? 4
                if known.state < 2, try Self.store(end, number &+ 1, known, change) { ended = known }
            }
            if ended == nil, let read = try self.connection.standing(of: end.id), read.state < 2,
                try Self.store(end, number &+ 1, read, change)
            {
                ended = read
            }
            guard let ended else {
                before.append(nil)
                continue
            }
            number &+= 1
            before.append(TransferRecord.State(code: ended.state))
            tally.count(-1, state: ended.state, queue: ended.queue, position: ended.position)
            tally.count(1, state: end.state.code, queue: ended.queue, position: number)
            heads.touch(ended)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
        return before
    }

    static let ending = """
        UPDATE transfers SET state = ?, position = ?, bytes = ?, total = ?, ended = ?, path = coalesce(?, path),
        failure = ? WHERE number = ? AND id = ? AND queue = ? AND state = ? AND position = ? AND host = ?
        """

    /// Stores an end with its number; returns false if the row has another standing.
    private static func store(
        _ end: StoredEnd,
        _ number: Int64,
        _ standing: Standing,
        _ change: borrowing RepeatedStatement
    ) throws(QueueStoreError) -> Bool {
        try change.run { values in
            values.add(end.state.code)
            values.add(number)
            values.add(end.bytes)
            values.add(end.total)
            values.add(end.at.storedTime)
            values.add(end.path?.stored)
            values.add(TransferColumns.failure(of: end))
            values.add(standing.number)
            values.add(end.id.bits)
            values.add(standing.queue)
            values.add(standing.code)
            values.add(standing.position)
            values.add(standing.host)
        } == 1
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
