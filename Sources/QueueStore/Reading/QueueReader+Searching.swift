// SPDX-License-Identifier: Apache-2.0
package import Control
internal import SQLite

/// Reads all rows of the table, which has no index of texts: 100,000 transfers take some tens of milliseconds.
extension QueueReader {
    /// Returns a page of the transfers that match a filter.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - order: The order.
    ///   - started: The values of started transfers, for an order by them.
    ///   - offset: The number of transfers to skip.
    ///   - limit: The maximum number of transfers.
    ///   - isBackward: Whether to reverse the order.
    /// - Returns: The transfers.
    /// - Throws: ``QueueStoreError``.
    package func transfers(
        matching filter: TransferFilter,
        order: TransferOrder,
        started: [GID: Int64] = [:],
        offset: Int,
        limit: Int,
        isBackward: Bool
    ) throws(QueueStoreError) -> [StoredTransfer] {
        guard limit > 0, let (condition, arguments) = try self.condition(filter) else { return [] }
        let direction = isBackward ? "DESC" : "ASC"
        // Unknown values are last, in both directions.
        let nulls = order.isOfStarted || order == .progress ? " NULLS LAST" : ""
        let keys = Self.keys(order).map { "\($0) \(direction)\(nulls)" }.joined(separator: ", ")
        let values: Connection.Arguments = order.isOfStarted ? [Self.text(Set(started.keys)), Self.text(started)] : []
        // Only numbers and keys of the rows that are not on the page are sorted.
        return try self.fetch(
            """
            WHERE number IN (SELECT number FROM transfers WHERE \(condition) ORDER BY \(keys) LIMIT ? OFFSET ?)
            ORDER BY \(keys)
            """,
            arguments + values + [limit, max(0, offset)] + values
        )
    }

    /// Returns the numbers of transfers that match the session and the words of a filter, by state.
    ///
    /// - Throws: ``QueueStoreError``.
    package func counts(matching filter: TransferFilter) throws(QueueStoreError) -> [TransferRecord.State: Int] {
        var filter = filter
        filter.states = Set(TransferRecord.State.allCases)
        guard let (condition, arguments) = try self.condition(filter) else { return [:] }
        var counts: [TransferRecord.State: Int] = [:]
        let path = self.connection.path
        let states = filter.started.keys.sorted { $0.rawValue < $1.rawValue }
        let sums = states.map { _ in ", sum(id IN (SELECT value FROM json_each(?)))" }.joined()
        let sets: Connection.Arguments = states.map { Self.text(filter.started[$0] ?? []) }
        try self.connection.each(
            """
            SELECT \(TransferColumns.state) AS code, count(*)\(sums)
            FROM transfers WHERE \(condition) GROUP BY code
            """,
            sets + arguments
        ) { (row) throws(QueueStoreError) in
            guard let state = row.integer(0).flatMap({ TransferRecord.State(code: $0) }), let count = row.integer(1)
            else { throw .damaged(path, "the counts cannot be read") }
            counts[state] = Int(clamping: count)
            guard state == .waiting else { return true }
            for (column, started) in zip(Int32(2)..., states) {
                let number = Int(clamping: row.integer(column) ?? 0)
                counts[started] = number
                counts[.waiting, default: 0] -= number
            }
            return true
        }
        return counts
    }

    /// Returns a condition with its arguments, or `nil` if the session does not exist.
    private func condition(
        _ filter: TransferFilter
    ) throws(QueueStoreError) -> (text: String, arguments: Connection.Arguments)? {
        guard let queues = try self.queues(filter.session) else { return nil }
        var text = "queue BETWEEN ? AND ? AND \(TransferColumns.isPresent)"
        var arguments: Connection.Arguments = [queues.lowerBound, queues.upperBound]
        let started = filter.states.intersection(TransferRecord.State.started)
        if started.count == (filter.states.contains(.waiting) ? TransferRecord.State.started.count : 0) {
            text += " AND (? >> \(TransferColumns.state)) & 1"
            arguments.append(filter.states.mask)
        } else {
            text += " AND iif(id IN (SELECT value FROM json_each(?)), id IN (SELECT value FROM json_each(?)),"
            text += " (? >> \(TransferColumns.state)) & 1)"
            let all = filter.started.values.reduce(into: Set<GID>()) { $0.formUnion($1) }
            let wanted = started.reduce(into: Set<GID>()) { $0.formUnion(filter.started[$1] ?? []) }
            arguments += [Self.text(all), Self.text(wanted), filter.states.mask]
        }
        for word in filter.words {
            text += " AND (urls LIKE ? ESCAPE '!' OR path LIKE ? ESCAPE '!' OR \(Self.out) LIKE ? ESCAPE '!')"
            let pattern = Self.pattern(word)
            arguments += [pattern, pattern, pattern]
        }
        return (text, arguments)
    }

    /// The option `out`, the name that the client gave.
    private static let out = "json_extract(options, '$.out')"

    /// The first URL.
    private static let url = "iif(urls LIKE '[%', json_extract(urls, '$[0]'), urls)"

    /// The value of a started transfer, or `NULL`; its arguments are the identifiers and an object with the values.
    private static let started = """
        iif(id IN (SELECT value FROM json_each(?)), \
        (SELECT value FROM json_each(?) WHERE key = CAST(transfers.id AS TEXT)), NULL)
        """

    /// The name of the file: that of its path, the given one, or the last component of the first URL.
    private static let name: String = {
        let file = "coalesce(path, \(Self.out), substr(\(Self.url), 1, instr(\(Self.url) || '?', '?') - 1))"
        // Trimming all characters but the slash from the end leaves the directory.
        return "substr(\(file), length(rtrim(\(file), replace(\(file), '/', ''))) + 1) COLLATE NOCASE"
    }()

    private static func keys(_ order: TransferOrder) -> [String] {
        switch order {
        case .queue: ["state > 1", "iif(state > 1, 0, queue)", "position"]
        case .added: ["added", "number"]
        case .name: [Self.name, "number"]
        case .size: ["coalesce(total, bytes)", "number"]
        case .progress: ["iif(\(TransferColumns.state) = 2, 1.0, min(1.0, bytes * 1.0 / nullif(total, 0)))", "number"]
        case .host: ["substr(\(Self.url), instr(\(Self.url), '://') + 3) COLLATE NOCASE", "number"]
        case .state: ["coalesce(\(Self.started), \(TransferColumns.state))", "number"]
        case .rate, .left: [Self.started, "number"]
        }
    }

    /// The pattern of texts that contain a word.
    private static func pattern(_ word: String) -> String {
        var pattern = "%"
        for character in word.unicodeScalars {
            if "%_!".unicodeScalars.contains(character) { pattern += "!" }
            pattern.unicodeScalars.append(character)
        }
        return (pattern + "%").stored
    }

    private static func text(_ values: [GID: Int64]) -> String {
        "{" + values.map { "\"\($0.bits)\":\($1)" }.joined(separator: ",") + "}"
    }

    private static func text(_ ids: Set<GID>) -> String {
        "[" + ids.map { String($0.bits) }.joined(separator: ",") + "]"
    }
}
