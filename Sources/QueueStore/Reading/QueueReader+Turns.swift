// SPDX-License-Identifier: Apache-2.0
package import Control
internal import SQLite

extension QueueReader {
    private static let reading = "SELECT \(TransferColumns.waiting) FROM transfers WHERE number = ?"

    /// Returns the waiting transfers that are next to run: higher priority first, then in queue order.
    ///
    /// A host without room is skipped in one step, however many transfers wait there.
    ///
    /// - Returns: The next transfers, in the order in which they run.
    /// - Throws: `damaged`, `inputOutput`.
    package func nextToRun(_ query: TurnQuery) throws(QueueStoreError) -> [NextTransfer] {
        guard query.limit > 0, let queue = try self.connection.queue(of: query.session) else { return [] }
        var search = TurnSearch(self.connection, query, queue)
        let path = self.connection.path
        let reading = try self.connection.repeated(Self.reading)
        var found: [NextTransfer] = []
        for var next in try search.run() {
            if !query.known.contains(next.id) {
                // Only a damaged index has an entry without a row.
                guard let row = try reading.first({ $0.add(next.standing.number) }) else { continue }
                next.transfer = try TransferColumns.read(row, session: query.session, path: path)
            }
            found.append(next)
        }
        return found
    }

    /// Returns the next waiting transfers without limits for hosts, except for excluded ones.
    package func nextToRun(
        session: String?,
        limit: Int,
        excluding excluded: Set<GID> = []
    ) throws(QueueStoreError) -> [NextTransfer] {
        var query = TurnQuery(session: session, limit: limit)
        query.excluded = excluded
        return try self.nextToRun(query)
    }
}

/// One search for the next transfers: merges the lines of the hosts with room, whose first transfers are in `heads`.
private struct TurnSearch {
    /// The rank of a transfer within its queue.
    private struct Turn: Comparable {
        var priority: Int64
        var position: Int64

        static func < (left: Turn, right: Turn) -> Bool {
            left.priority == right.priority ? left.position < right.position : left.priority > right.priority
        }
    }

    /// A waiting transfer as read from the index.
    private struct Entry {
        var turn: Turn
        var id: Int64
        var number: Int64
    }

    /// The transfers of one host and code, from a turn on.
    private struct Line {
        var code: Int64
        var host: Int64
        /// The turn of the next transfer.
        var turn: Turn
        /// The entries read from there on.
        var entries: ArraySlice<Entry> = []
        /// The number of entries to read at once.
        var stretch = 4
        /// Whether the line ends after ``entries``.
        var isWhole = false
    }

    private let connection: Connection
    private let query: TurnQuery
    private let queue: Int64
    private let excluded: Set<Int64>
    private var room: [Int64: Int]
    // A binary heap by turn, the first one on top.
    private var lines: [Line] = []

    init(_ connection: Connection, _ query: TurnQuery, _ queue: Int64) {
        self.connection = connection
        self.query = query
        self.queue = queue
        self.excluded = Set(query.excluded.map(\.bits))
        self.room = Dictionary(query.room.map { ($0.key.rawValue, $0.value) }) { min($0, $1) }
    }

    /// Returns the places of the next transfers, in order.
    mutating func run() throws(QueueStoreError) -> [NextTransfer] {
        for code in try self.connection.classes(of: self.queue).codes(in: 1) { try self.readHeads(code) }
        self.lines.sort { $0.turn < $1.turn }
        var found: [NextTransfer] = []
        while found.count < self.query.limit, var line = self.lines.first {
            guard self.room(line.host) > 0, let entry = try self.pop(&line) else {
                self.removeFirst()
                continue
            }
            self.replaceFirst(line)
            guard !self.excluded.contains(entry.id) else { continue }
            self.room[line.host] = self.room(line.host) - 1
            guard let id = GID(rawValue: UInt64(bitPattern: entry.id)) else {
                throw .damaged(self.connection.path, "an identifier cannot be read")
            }
            let standing = Standing(
                number: entry.number,
                queue: self.queue,
                state: 0,
                code: line.code,
                position: entry.turn.position,
                host: line.host
            )
            found.append(NextTransfer(id: id, standing: standing))
        }
        return found
    }

    private func room(_ host: Int64) -> Int { self.room[host] ?? self.query.usualRoom ?? .max }

    /// Reads the first transfer of each host with room, for as many hosts as the result can contain.
    private mutating func readHeads(_ code: Int64) throws(QueueStoreError) {
        // Each line yields at least one transfer, unless all of its transfers are excluded.
        var left = self.query.limit + self.excluded.count
        let path = self.connection.path
        var lines: [Line] = []
        let (room, usual) = (self.room, self.query.usualRoom ?? .max)
        try self.connection.each(
            """
            SELECT host, priority, position FROM heads INDEXED BY firstHeads
            WHERE queue = ? AND code = ? ORDER BY priority DESC, position
            """,
            [self.queue, code]
        ) { (row) throws(QueueStoreError) in
            guard let host = row.integer(0), let priority = row.integer(1), let position = row.integer(2) else {
                throw .damaged(path, "the order of the hosts cannot be read")
            }
            guard room[host] ?? usual > 0 else { return true }
            lines.append(Line(code: code, host: host, turn: Turn(priority: priority, position: position)))
            left -= 1
            return left > 0
        }
        self.lines += lines
    }

    /// Removes and returns the next entry of a line.
    private func pop(_ line: inout Line) throws(QueueStoreError) -> Entry? {
        if line.entries.isEmpty { try self.read(&line) }
        guard let entry = line.entries.popFirst() else { return nil }
        if line.entries.isEmpty {
            line.turn = Turn(priority: entry.turn.priority, position: entry.turn.position &+ 1)
            // The merge requires the turn of the next entry.
            if !line.isWhole { try self.read(&line) }
        }
        if let next = line.entries.first { line.turn = next.turn }
        return entry
    }

    private func read(_ line: inout Line) throws(QueueStoreError) {
        guard !line.isWhole else { return }
        var entries = try self.entries(
            "priority = ? AND position >= ?",
            [line.turn.priority, line.turn.position],
            line,
            line.stretch
        )
        if entries.count < line.stretch {
            let rest = line.stretch - entries.count
            let more = try self.entries("priority < ?", [line.turn.priority], line, rest)
            line.isWhole = more.count < rest
            entries += more
        }
        line.entries = entries[...]
        line.stretch = min(line.stretch * 4, 1024)
    }

    private func entries(
        _ range: String,
        _ bounds: Connection.Arguments,
        _ line: Line,
        _ limit: Int
    ) throws(QueueStoreError) -> [Entry] {
        let path = self.connection.path
        return try self.connection.all(
            """
            SELECT priority, position, id, number FROM transfers \(Heads.line) AND \(range)
            ORDER BY priority DESC, position LIMIT ?
            """,
            [self.queue, line.code, line.host] + bounds + [limit]
        ) { (row) throws(QueueStoreError) in
            guard let priority = row.integer(0), let position = row.integer(1), let id = row.integer(2),
                let number = row.integer(3)
            else { throw .damaged(path, "the order of a host cannot be read") }
            return Entry(turn: Turn(priority: priority, position: position), id: id, number: number)
        }
    }

    // MARK: The heap

    private mutating func replaceFirst(_ line: Line) {
        if line.isWhole, line.entries.isEmpty {
            self.removeFirst()
        } else {
            self.lines[0] = line
            self.sink()
        }
    }

    private mutating func removeFirst() {
        let last = self.lines.removeLast()
        guard !self.lines.isEmpty else { return }
        self.lines[0] = last
        self.sink()
    }

    private mutating func sink() {
        var index = 0
        while true {
            let left = 2 * index + 1
            guard left < self.lines.count else { return }
            let right = left + 1
            let child = right < self.lines.count && self.lines[right].turn < self.lines[left].turn ? right : left
            guard self.lines[child].turn < self.lines[index].turn else { return }
            self.lines.swapAt(child, index)
            index = child
        }
    }
}
