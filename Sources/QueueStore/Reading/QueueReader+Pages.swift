// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueReader {
    /// Returns a page of transfers: unfinished ones in queue order (regardless of priority), ended ones by their end.
    ///
    /// Several queues follow one another, the shared one first.
    ///
    /// - Parameters:
    ///   - states: The states, not empty; unfinished transfers precede ended ones.
    ///   - session: `.some(nil)` for the shared queue alone, `nil` for everything.
    ///   - offset: The number of transfers to skip.
    ///   - limit: The maximum number of transfers.
    ///   - fromEnd: Whether to count from the end, and to return the last transfer first.
    /// - Returns: The transfers.
    /// - Throws: ``QueueStoreError``.
    package func transfers(
        in states: Set<TransferRecord.State>,
        session: String??,
        offset: Int,
        limit: Int,
        fromEnd: Bool
    ) throws(QueueStoreError) -> [StoredTransfer] {
        guard let queues = try self.queues(session) else { return [] }
        var page = Page(offset: max(0, offset), limit: max(0, limit), isBackward: fromEnd)
        for isEnded in fromEnd ? [true, false] : [false, true] where page.limit > 0 {
            let half = Half(isEnded: isEnded, queues: queues, mask: states.mask & (isEnded ? 0b11100 : 0b00011))
            guard half.mask != 0 else { continue }
            try self.append(half, to: &page)
        }
        return page.transfers
    }

    /// Returns a page of transfers in the order of their rows, after a row's number.
    ///
    /// Transfers that exist all the time are returned exactly once, even if transfers are moved, end or are added
    /// between the pages.
    ///
    /// - Parameters:
    ///   - number: 0 for the first page, then the number that the previous page returned.
    ///   - states: The states, not empty.
    ///   - session: `.some(nil)` for the shared queue alone, `nil` for everything.
    ///   - limit: The maximum number of rows to read.
    /// - Returns: The transfers of these rows that match, and the number for the next page, or `nil` at the end.
    /// - Throws: ``QueueStoreError``.
    package func transfers(
        behind number: Int64,
        in states: Set<TransferRecord.State>,
        session: String??,
        limit: Int
    ) throws(QueueStoreError) -> (transfers: [StoredTransfer], next: Int64?) {
        guard limit > 0, let queues = try self.queues(session) else { return ([], nil) }
        let connection = self.connection
        var names = SessionNames()
        var found: [StoredTransfer] = []
        var (last, count) = (number, 0)
        try connection.each(
            """
            SELECT \(TransferColumns.names), \(TransferColumns.isPresent), number FROM transfers
            WHERE number > ? ORDER BY number LIMIT ?
            """,
            [number, limit]
        ) { (row) throws(QueueStoreError) in
            count += 1
            last = row.integer(15) ?? last
            guard row.integer(14) == 1, let queue = row.integer(1), queues.contains(queue),
                let state = row.integer(2), states.mask >> state & 1 == 1
            else { return true }
            let session = try names.name(of: queue, connection)
            var transfer = try TransferColumns.read(row, session: session, path: connection.path)
            transfer.number = last
            found.append(transfer)
            return true
        }
        return (found, count < limit ? nil : last)
    }

    /// Returns the indices of unfinished transfers on pages of ``transfers(in:session:offset:limit:fromEnd:)``, from 0.
    ///
    /// Transfers that do not exist, have ended or are in other states are left out.
    package func places(
        of ids: some Sequence<GID>,
        in states: Set<TransferRecord.State>,
        session: String??,
        fromEnd: Bool
    ) throws(QueueStoreError) -> [Int] {
        guard let queues = try self.queues(session) else { return [] }
        let half = Half(isEnded: false, queues: queues, mask: states.mask & 0b00011)
        var places: [Int] = []
        for id in ids {
            guard let standing = try self.connection.standing(of: id), standing.state < 2,
                queues.contains(standing.queue), half.mask >> standing.state & 1 == 1
            else { continue }
            places.append(try self.connection.place(of: standing, in: half))
        }
        guard fromEnd, !places.isEmpty else { return places }
        // From the end, ended transfers precede unfinished ones.
        let ended = Half(isEnded: true, queues: queues, mask: states.mask & 0b11100)
        let last = try self.connection.count(half) + self.connection.count(ended) - 1
        return places.map { last - $0 }
    }

    func queues(_ session: String??) throws(QueueStoreError) -> ClosedRange<Int64>? {
        guard case .some(let session) = session else { return 0...Int64.max }
        return try self.connection.queue(of: session).map { $0...$0 }
    }

    private struct Page {
        var offset: Int
        var limit: Int
        var isBackward: Bool
        var transfers: [StoredTransfer] = []

        var direction: String { self.isBackward ? "DESC" : "ASC" }
        var comparison: String { self.isBackward ? "<=" : ">=" }

        mutating func append(_ found: [StoredTransfer]) {
            self.transfers += found
            self.limit -= found.count
            self.offset = 0
        }
    }

    private func append(_ half: Half, to page: inout Page) throws(QueueStoreError) {
        let start = try self.connection.start(of: half, offset: page.offset, isBackward: page.isBackward)
        page.offset = start.left
        guard let first = start.first else { return }
        if half.isEnded {
            try self.appendHistory(half, from: first.position, to: &page)
        } else {
            try self.appendLine(half, queue: first.queue, from: first.position, to: &page)
            var last = first.queue
            // One query per queue: SQLite cannot seek in an index by a range over two columns.
            while page.limit > 0,
                let queue = try self.connection.queue(next: last, of: half, isBackward: page.isBackward)
            {
                try self.appendLine(half, queue: queue, from: page.isBackward ? .max : .min, to: &page)
                last = queue
            }
        }
        page.offset = 0
    }

    // OFFSET skips entries in the index without reading their rows.
    private func appendHistory(_ half: Half, from position: Int64, to page: inout Page) throws(QueueStoreError) {
        page.append(
            try self.fetch(
                """
                INDEXED BY history WHERE position \(page.comparison) ? AND state > 1
                AND queue BETWEEN ? AND ? AND (? >> state) & 1 AND \(TransferColumns.isPresent)
                ORDER BY position \(page.direction) LIMIT ? OFFSET ?
                """,
                [position, half.queues.lowerBound, half.queues.upperBound, half.mask, page.limit, page.offset]
            )
        )
    }

    private func appendLine(
        _ half: Half,
        queue: Int64,
        from position: Int64,
        to page: inout Page
    ) throws(QueueStoreError) {
        page.append(
            try self.fetch(
                """
                INDEXED BY line WHERE queue = ? AND position \(page.comparison) ? AND state < 2
                AND (? >> (state + \(StateClasses.shift))) & 1 ORDER BY position \(page.direction) LIMIT ? OFFSET ?
                """,
                [
                    queue, position, try self.connection.classes(of: queue).mask(half.mask), page.limit, page.offset,
                ]
            )
        )
    }

    /// Returns the transfers of `selection`, the part of the query after the table's name.
    func fetch(_ selection: String, _ arguments: Connection.Arguments) throws(QueueStoreError) -> [StoredTransfer] {
        let connection = self.connection
        var names = SessionNames()
        return try connection.all("SELECT \(TransferColumns.names) FROM transfers \(selection)", arguments) {
            (row) throws(QueueStoreError) in
            let session = try names.name(of: row.integer(1) ?? 0, connection)
            return try TransferColumns.read(row, session: session, path: connection.path)
        }
    }
}
