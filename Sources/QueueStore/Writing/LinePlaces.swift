// SPDX-License-Identifier: Apache-2.0
/// Finds positions in one queue, and makes room if a gap is used up.
struct LinePlaces {
    private let connection: Connection
    private let queue: Int64
    /// The row number of a transfer that is being moved and is ignored; -1 for none.
    private let ignored: Int64

    private struct Entry {
        var number: Int64
        var code: Int64
        var position: Int64
        var host: Int64
    }

    init(_ connection: Connection, queue: Int64, ignoring ignored: Int64 = -1) {
        self.connection = connection
        self.queue = queue
        self.ignored = ignored
    }

    /// Returns positions for `count` transfers at the end.
    func atEnd(_ count: Int) throws(QueueStoreError) -> [Int64] {
        try self.between(self.neighbours(of: nil, limit: 1, isBackward: true).first?.position, nil, count)
    }

    /// Returns positions for `count` transfers, the first of which gets the index `place`.
    func at(_ place: Int, _ count: Int) throws(QueueStoreError) -> [Int64] {
        guard let high = try self.connection.position(at: max(0, place), queue: self.queue) else {
            return try self.atEnd(count)
        }
        return try self.before(high, count)
    }

    /// Returns positions for `count` transfers immediately before the position `high`.
    func before(_ high: Int64, _ count: Int) throws(QueueStoreError) -> [Int64] {
        let low = try self.neighbours(of: high - 1, limit: 1, isBackward: true).first?.position
        return try self.between(low, high, count)
    }

    /// Returns positions for `count` transfers immediately after the position `low`.
    func behind(_ low: Int64, _ count: Int) throws(QueueStoreError) -> [Int64] {
        let high = try self.neighbours(of: low + 1, limit: 1, isBackward: false).first?.position
        return try self.between(low, high, count)
    }

    private func between(_ low: Int64?, _ high: Int64?, _ count: Int) throws(QueueStoreError) -> [Int64] {
        if let positions = LineSpacing.positions(count, after: low, before: high) { return positions }
        return try self.makeRoom(low, high, count)
    }

    /// Redistributes the neighbours, as few of them as make enough room.
    private func makeRoom(_ low: Int64?, _ high: Int64?, _ count: Int) throws(QueueStoreError) -> [Int64] {
        var window = LineSpacing.firstWindow
        while true {
            var left: [Entry] = []
            var right: [Entry] = []
            if let low { left = try self.neighbours(of: low, limit: window + 1, isBackward: true) }
            if let high { right = try self.neighbours(of: high, limit: window + 1, isBackward: false) }
            let isWhole = left.count <= window && right.count <= window
            let lowest = left.count > window ? left.removeLast().position : nil
            let highest = right.count > window ? right.removeLast().position : nil
            let positions = LineSpacing.positions(
                left.count + count + right.count,
                after: lowest,
                before: highest,
                least: LineSpacing.spacing(window: window)
            )
            if let positions {
                try self.move(left.reversed(), to: positions.prefix(left.count))
                try self.move(right, to: positions.suffix(right.count))
                return Array(positions.dropFirst(left.count).prefix(count))
            }
            guard !isWhole else {
                throw QueueStoreError(.inputOutput, "the queue in '\(self.connection.path)' has too many transfers")
            }
            window *= 4
        }
    }

    private func move(_ entries: [Entry], to positions: ArraySlice<Int64>) throws(QueueStoreError) {
        var tally = Tally()
        var heads = Heads()
        let classes = try self.connection.classes(of: self.queue)
        for (entry, position) in zip(entries, positions) where entry.position != position {
            try self.connection.run(
                "UPDATE transfers SET position = ? WHERE number = ?",
                [position, entry.number]
            )
            heads.touch(queue: self.queue, code: entry.code, host: entry.host)
            guard let state = classes.state(of: entry.code), state < 2 else { continue }
            tally.count(-1, state: state, queue: self.queue, position: entry.position)
            tally.count(1, state: state, queue: self.queue, position: position)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
    }

    /// Returns the transfers from a position on, inclusive; `nil` is the end, or the beginning if not `isBackward`.
    private func neighbours(
        of position: Int64?,
        limit: Int,
        isBackward: Bool
    ) throws(QueueStoreError) -> [Entry] {
        let path = self.connection.path
        return try self.connection.all(
            """
            SELECT number, state, position, host FROM transfers INDEXED BY line
            WHERE queue = ? AND position \(isBackward ? "<=" : ">=") ? AND state < 2 AND number != ?
            ORDER BY position \(isBackward ? "DESC" : "ASC") LIMIT ?
            """,
            [self.queue, position ?? (isBackward ? Int64.max : Int64.min), self.ignored, limit]
        ) { (row) throws(QueueStoreError) in
            guard let number = row.integer(0), let code = row.integer(1), let position = row.integer(2),
                position.magnitude <= LineSpacing.limit.magnitude
            else { throw .damaged(path, "the queue's order cannot be read") }
            return Entry(number: number, code: code, position: position, host: row.integer(3) ?? 0)
        }
    }
}
