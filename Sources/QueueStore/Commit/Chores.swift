// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The background work after actions on a whole queue, in small steps: storing the ends of removed transfers, deleting
/// rows, and freeing pages.
///
/// The remaining work is recorded in the database, so a store that is opened after a kill continues it.
struct Chores {
    let connection: Connection
    private let now: @Sendable () -> Duration
    /// The position in a removed queue at which the last step stopped.
    private var place: (queue: Int64, code: Int64, position: Int64)?

    /// The maximum duration of one transaction, without its commit.
    private static let longest = Duration.milliseconds(10)
    private static let rowsAtOnce = 128
    /// The free pages that are kept for later writes: 4 MiB, and a quarter of the file.
    private static let keptPages: Int64 = 1024
    private static let pagesAtOnce = 256

    init(_ connection: Connection, now: @escaping @Sendable () -> Duration) {
        self.connection = connection
        self.now = now
    }

    /// Returns whether there is work to do.
    func isNeeded(withHandler hasHandler: Bool) -> Bool {
        let rows = try? self.connection.integer(
            "SELECT EXISTS (SELECT 1 FROM forgotten) OR (? AND EXISTS (SELECT 1 FROM classes WHERE meaning > 1))",
            [hasHandler]
        )
        return rows == 1 || self.hasFreePages
    }

    private var hasFreePages: Bool {
        guard let free = try? self.connection.integer("PRAGMA freelist_count"), free > Self.keptPages,
            let pages = try? self.connection.integer("PRAGMA page_count"), free > pages / 4
        else { return false }
        return (try? self.connection.integer("PRAGMA auto_vacuum")) == 2
    }

    /// Performs one step in a transaction.
    ///
    /// - Returns: Whether there is more work.
    mutating func step(_ handler: RemovalHandler?) throws(QueueStoreError) -> Bool {
        try self.connection.run("BEGIN IMMEDIATE")
        do throws(QueueStoreError) {
            let hasMore = try self.perform(handler)
            try self.connection.run("COMMIT")
            return hasMore
        } catch {
            try? self.connection.run("ROLLBACK")
            self.place = nil
            throw error
        }
    }

    private mutating func perform(_ handler: RemovalHandler?) throws(QueueStoreError) -> Bool {
        let end = self.now() + Self.longest
        if let handler, let (queue, code) = try self.leaving() {
            while self.now() < end, try self.remove(queue, code, handler) {}
            return true
        }
        if let row = try self.connection.first(
            "SELECT queue, last FROM forgotten LIMIT 1",
            [],
            { row in
                (queue: row.integer(0) ?? 0, last: row.integer(1) ?? 0)
            }
        ) {
            while self.now() < end {
                guard try self.deleteForgotten(row.queue, row.last) else {
                    try self.connection.run("DELETE FROM forgotten WHERE queue = ?", [row.queue])
                    break
                }
            }
            return true
        }
        guard self.hasFreePages else { return false }
        try self.connection.run("PRAGMA incremental_vacuum(\(Self.pagesAtOnce))", [])
        return self.hasFreePages
    }

    // MARK: Forgotten rows

    private func deleteForgotten(_ queue: Int64, _ last: Int64) throws(QueueStoreError) -> Bool {
        let index = queue == 0 ? "history WHERE state > 1" : "owed WHERE state > 1 AND queue > 0"
        try self.connection.run(
            """
            DELETE FROM transfers WHERE number IN (SELECT number FROM transfers INDEXED BY \(index)
            AND queue = ? AND position <= ? LIMIT \(Self.rowsAtOnce))
            """,
            [queue, last]
        )
        return self.connection.changes > 0
    }

    // MARK: Removed lines

    /// Returns a code whose rows are to be removed, and its queue.
    private func leaving() throws(QueueStoreError) -> (queue: Int64, code: Int64)? {
        try self.connection.first("SELECT queue, code FROM classes WHERE meaning > 1 LIMIT 1") { row in
            (row.integer(0) ?? 0, row.integer(1) ?? 0)
        }
    }

    private struct Row {
        var number: Int64
        var position: Int64
        var host: Int64
        /// The transfer, if it may have a file or an upload.
        var transfer: StoredTransfer?
    }

    /// Stores ends or deletes rows, in queue order; returns false when no row has the code any more.
    private mutating func remove(
        _ queue: Int64,
        _ code: Int64,
        _ handler: RemovalHandler
    ) throws(QueueStoreError) -> Bool {
        guard let meaning = try self.connection.classes(of: queue).meanings[code], !meaning.isInLine else {
            return false
        }
        if self.place?.queue != queue || self.place?.code != code { self.place = (queue, code, .min) }
        let rows = try self.rows(queue, code, after: self.place?.position ?? .min)
        guard let last = rows.last else {
            self.place = nil
            if try !self.connection.isUsed(code, of: queue) { try self.drop(code, of: queue) }
            return false
        }
        self.place?.position = last.position
        let deletesPartial: Bool
        var discarded = Int.max
        var time = 0.0
        switch meaning {
        case .waiting, .paused: return false
        case .gone(let deletes): deletesPartial = deletes
        case .removed(let at, let deletes):
            (time, deletesPartial) = (at, deletes)
            let left = try self.connection.integer("SELECT discarded FROM removals WHERE queue = ?", [queue])
            discarded = Int(clamping: left ?? 0)
        }
        let found = rows.compactMap(\.transfer)
        if !found.isEmpty { handler(found, deletesPartial) }
        var tally = Tally()
        var heads = Heads()
        var number = try self.connection.lastEnd()
        for (index, row) in rows.enumerated() {
            heads.touch(queue: queue, code: code, host: row.host)
            guard index >= discarded else {
                try self.connection.run("DELETE FROM transfers WHERE number = ?", [row.number])
                continue
            }
            number &+= 1
            try self.connection.run(
                "UPDATE transfers SET state = 4, position = ?, ended = ? WHERE number = ?",
                [number, time, row.number]
            )
            tally.count(1, state: 4, queue: queue, position: number)
        }
        if discarded < .max {
            let gone = min(discarded, rows.count)
            try self.connection.run(
                "UPDATE removals SET discarded = discarded - ?, count = max(0, count - ?) WHERE queue = ?",
                [gone, rows.count - gone, queue]
            )
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
        return true
    }

    private func rows(_ queue: Int64, _ code: Int64, after position: Int64) throws(QueueStoreError) -> [Row] {
        var names = SessionNames()
        let connection = self.connection
        return try connection.all(
            """
            SELECT \(TransferColumns.names), number, position, host FROM transfers INDEXED BY line
            WHERE queue = ? AND position > ? AND state < 2 AND state = ? ORDER BY position LIMIT \(Self.rowsAtOnce)
            """,
            [queue, position, code]
        ) { (row) throws(QueueStoreError) in
            guard let number = row.integer(14), let position = row.integer(15), let host = row.integer(16) else {
                throw .damaged(connection.path, "a removed transfer cannot be read")
            }
            var found = Row(number: number, position: position, host: host)
            if row.text(11) != nil || row.text(13) != nil {
                // Its session may be deleted already.
                let session = (try? names.name(of: queue, connection)) ?? nil
                found.transfer = try? TransferColumns.read(row, session: session, path: connection.path)
            }
            return found
        }
    }

    private func drop(_ code: Int64, of queue: Int64) throws(QueueStoreError) {
        var classes = try self.connection.used(self.connection.classes(of: queue), of: queue)
        classes.drop(code)
        try self.connection.store(classes, of: queue)
        guard !classes.meanings.values.contains(where: { !$0.isInLine }) else { return }
        try self.connection.run("DELETE FROM removals WHERE queue = ?", [queue])
    }
}
