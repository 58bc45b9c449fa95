// SPDX-License-Identifier: Apache-2.0
package import Control

/// Reads the database; valid only inside ``QueueStore/read(_:)`` or ``QueueStore/write(_:)``.
package struct QueueReader: ~Copyable {
    let connection: Connection

    private static let transfer = """
        SELECT \(TransferColumns.names) FROM transfers WHERE id = ? AND \(TransferColumns.isPresent)
        """

    /// Returns one transfer, or `nil` if there is none.
    package func transfer(_ id: GID) throws(QueueStoreError) -> StoredTransfer? {
        let connection = self.connection
        return try connection.first(Self.transfer, [id.bits]) { (row) throws(QueueStoreError) in
            var names = SessionNames()
            let session = try names.name(of: row.integer(1) ?? 0, connection)
            return try TransferColumns.read(row, session: session, path: connection.path)
        }
    }

    /// Returns the number of a transfer's row, or `nil` if there is none; see ``StoredTransfer/number``.
    package func number(of id: GID) throws(QueueStoreError) -> Int64? {
        let sql = "SELECT number FROM transfers WHERE id = ? AND \(TransferColumns.isPresent)"
        return try self.connection.all(sql, [id.bits]) { (row) throws(QueueStoreError) in row.integer(0) }.first ?? nil
    }

    /// Returns the only transfer whose identifier begins with 1 to 16 hexadecimal digits, or `nil` if there is none.
    ///
    /// - Throws: `ambiguous`.
    package func transfer(beginning prefix: String) throws(QueueStoreError) -> GID? {
        let found = try self.identifiers(beginning: prefix, limit: 2)
        guard found.count < 2 else {
            throw QueueStoreError(.ambiguous, "several transfers begin with '\(prefix)'; give more digits")
        }
        return found.first
    }

    /// Returns the transfers whose identifiers begin with 1 to 16 hexadecimal digits, in the order of the identifiers.
    ///
    /// - Parameters:
    ///   - prefix: The digits; with anything else, none is found.
    ///   - after: The last identifier of the previous page, or `nil`.
    ///   - limit: The maximum number.
    /// - Returns: The identifiers.
    /// - Throws: `damaged`, and the store's other errors.
    package func identifiers(
        beginning prefix: String,
        after: GID? = nil,
        limit: Int
    ) throws(QueueStoreError) -> [GID] {
        guard (1...16).contains(prefix.utf8.count), prefix.utf8.first != 0x2B, let digits = UInt64(prefix, radix: 16)
        else { return [] }
        let shift = UInt64(64 - 4 * prefix.utf8.count)
        let first = digits << shift
        let last = first | ((1 << shift) - 1)
        let next = after.map { $0.rawValue == .max ? .max : max(first, $0.rawValue + 1) } ?? first
        guard next <= last, after?.rawValue != .max else { return [] }
        let path = self.connection.path
        // A range of a prefix has identifiers of one sign only.
        return try self.connection.all(
            """
            SELECT id FROM transfers WHERE id BETWEEN ? AND ? AND \(TransferColumns.isPresent)
            ORDER BY id LIMIT \(max(0, limit))
            """,
            [Int64(bitPattern: next), Int64(bitPattern: last)]
        ) { (row) throws(QueueStoreError) in
            guard let id = row.integer(0).flatMap({ GID(rawValue: UInt64(bitPattern: $0)) }) else {
                throw .damaged(path, "an identifier cannot be read")
            }
            return id
        }
    }

    /// Returns the number of transfers of a session, or of the shared queue, by state; reads only the tallies.
    package func counts(session: String?) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        guard let queue = try self.connection.queue(of: session) else { return [:] }
        var counts: [TransferRecord.State: Int] = [:]
        let path = self.connection.path
        try self.connection.each(
            """
            SELECT state, sum(count) FROM (SELECT state, count FROM tally WHERE queue = ?
            UNION ALL SELECT 4, count FROM removals WHERE queue = ? AND count > 0) GROUP BY state
            """,
            [queue, queue]
        ) { (row) throws(QueueStoreError) in
            guard let state = row.integer(0).flatMap({ TransferRecord.State(code: $0) }), let count = row.integer(1)
            else { throw .damaged(path, "the counts cannot be read") }
            counts[state] = Int(clamping: count)
            return true
        }
        return counts
    }

    /// Returns a transfer's index among the unfinished ones of its queue, from 0; `nil` if it has ended.
    package func place(of id: GID) throws(QueueStoreError) -> Int? {
        guard let standing = try self.connection.standing(of: id), standing.state < 2 else { return nil }
        return try self.connection.place(of: standing, in: .line(standing.queue))
    }

    /// Returns the number of transfers by session (`nil` for the shared queue) and state; reads only the tallies.
    package func counts() throws(QueueStoreError) -> [CountKey: Int] {
        var names = SessionNames()
        var counts: [CountKey: Int] = [:]
        let connection = self.connection
        try connection.each(
            """
            SELECT queue, state, sum(count) FROM
            (SELECT queue, state, count FROM tally UNION ALL SELECT queue, 4, count FROM removals WHERE count > 0)
            GROUP BY queue, state
            """
        ) { (row) throws(QueueStoreError) in
            guard let queue = row.integer(0), let state = row.integer(1).flatMap({ TransferRecord.State(code: $0) }),
                let count = row.integer(2)
            else { throw .damaged(connection.path, "the counts cannot be read") }
            counts[CountKey(session: try names.name(of: queue, connection), state: state)] = Int(clamping: count)
            return true
        }
        return counts
    }

    /// Returns the JSON text of a setting, or `nil`.
    package func setting(_ name: String) throws(QueueStoreError) -> String? {
        try self.connection.first("SELECT value FROM settings WHERE name = ?", [name.stored]) { $0.text(0) } ?? nil
    }

    /// Whether rows remain to be changed or deleted in the background after actions on a whole queue.
    package var isSweeping: Bool {
        let left = try? self.connection.integer(
            "SELECT EXISTS (SELECT 1 FROM forgotten) OR EXISTS (SELECT 1 FROM classes WHERE meaning > 1)"
        )
        return left == 1
    }
}
