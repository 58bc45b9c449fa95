internal import Control

/// The unfinished or the ended transfers of some queues and states.
struct Half {
    /// Whether they have ended.
    var isEnded: Bool
    /// The numbers of the queues.
    var queues: ClosedRange<Int64>
    /// The states, see `Set.mask`.
    var mask: Int64

    /// The unfinished ones of one queue.
    static func line(_ queue: Int64) -> Half { Half(isEnded: false, queues: queue...queue, mask: 0b11) }
}

/// Where a transfer is.
struct Standing {
    /// Its row.
    var number: Int64
    /// Its queue's number.
    var queue: Int64
    /// Its state's number.
    var state: Int64
    /// Its position in the line, or the number of its end.
    var position: Int64
}

/// Where a page begins.
struct PageStart {
    /// The first position of the stretch, or `nil` where there are not that many.
    var first: (queue: Int64, position: Int64)?
    /// How many are still to be left out, from there.
    var left: Int
}

extension Connection {
    /// A session's queue; `nil` where there is no such session.
    func queue(of session: String?) throws(QueueStoreError) -> Int64? {
        guard let session else { return 0 }
        return try self.integer("SELECT number FROM sessions WHERE identifier = ?", [session.stored])
    }

    /// Where a transfer is; `nil` where it is not.
    func standing(of id: GID) throws(QueueStoreError) -> Standing? {
        let path = self.path
        return try self.first("SELECT number, queue, state, position FROM transfers WHERE id = ?", [id.bits]) {
            (row) throws(QueueStoreError) in
            guard let number = row.integer(0), let queue = row.integer(1), let state = row.integer(2),
                let position = row.integer(3)
            else { throw .damaged(path, "transfer \(id) cannot be read") }
            return Standing(number: number, queue: queue, state: state, position: position)
        }
    }

    /// The queue that follows another one and has transfers.
    func queue(next queue: Int64, of half: Half, isBackward: Bool) throws(QueueStoreError) -> Int64? {
        try self.integer(
            """
            SELECT queue FROM tally WHERE isEnded = ? AND queue BETWEEN ? AND ? AND queue \(isBackward ? "<" : ">") ?
            AND (? >> state) & 1 ORDER BY queue \(isBackward ? "DESC" : "ASC") LIMIT 1
            """,
            [half.isEnded, half.queues.lowerBound, half.queues.upperBound, queue, half.mask]
        )
    }

    /// How many there are.
    func count(_ half: Half) throws(QueueStoreError) -> Int {
        let count = try self.integer(
            "SELECT sum(count) FROM tally WHERE isEnded = ? AND queue BETWEEN ? AND ? AND (? >> state) & 1",
            [half.isEnded, half.queues.lowerBound, half.queues.upperBound, half.mask]
        )
        return Int(clamping: count ?? 0)
    }

    /// The place of an unfinished transfer among those of `half`, whose lines follow one another.
    func place(of standing: Standing, in half: Half) throws(QueueStoreError) -> Int {
        let bucket = standing.position >> Tally.lineShift
        let before = try self.integer(
            """
            SELECT sum(count) FROM tally WHERE isEnded = 0 AND queue BETWEEN ? AND ? AND (? >> state) & 1
            AND (queue < ? OR bucket < ?)
            """,
            [half.queues.lowerBound, standing.queue, half.mask, standing.queue, bucket]
        )
        let inside = try self.integer(
            """
            SELECT count(*) FROM transfers INDEXED BY line
            WHERE queue = ? AND position >= ? AND position < ? AND state < 2 AND (? >> state) & 1
            """,
            [standing.queue, bucket << Tally.lineShift, standing.position, half.mask]
        )
        return Int(clamping: before ?? 0) + Int(clamping: inside ?? 0)
    }

    /// The position of the unfinished transfer at a place, counted from 0; `nil` beyond the last one.
    func position(at place: Int, queue: Int64) throws(QueueStoreError) -> Int64? {
        let start = try self.start(of: .line(queue), offset: place, isBackward: false)
        guard let first = start.first else { return nil }
        return try self.integer(
            """
            SELECT position FROM transfers INDEXED BY line
            WHERE queue = ? AND position >= ? AND state < 2 ORDER BY position LIMIT 1 OFFSET ?
            """,
            [queue, first.position, start.left]
        )
    }

    /// The number of the ended transfer that has `count` others of its queue before it.
    func end(after count: Int, queue: Int64) throws(QueueStoreError) -> Int64? {
        let half = Half(isEnded: true, queues: queue...queue, mask: 0b11100)
        let start = try self.start(of: half, offset: count, isBackward: false)
        guard let first = start.first else { return nil }
        return try self.integer(
            """
            SELECT position FROM transfers INDEXED BY history
            WHERE position >= ? AND state > 1 AND queue = ? ORDER BY position LIMIT 1 OFFSET ?
            """,
            [first.position, queue, start.left]
        )
    }

    /// The number of the shared queue's first end, from `first` on, that is not before `time`, or of the one that has
    /// `most` others before it; beyond all numbers where there is none.
    func firstEnd(since time: Double, after first: Int64, most: Int) throws(QueueStoreError) -> Int64 {
        let path = self.path
        var left = most
        var found = Int64.max
        try self.each(
            """
            SELECT position, ended FROM transfers INDEXED BY history
            WHERE position >= ? AND state > 1 AND queue = 0 ORDER BY position
            """,
            [first]
        ) { (row) throws(QueueStoreError) in
            guard let position = row.integer(0) else { throw .damaged(path, "the history cannot be read") }
            guard left > 0, let ended = row.real(1), ended < time else {
                found = position
                return false
            }
            left -= 1
            return true
        }
        return found
    }

    /// Finds the stretch in which the transfer with `offset` others before it lies.
    func start(of half: Half, offset: Int, isBackward: Bool) throws(QueueStoreError) -> PageStart {
        let direction = isBackward ? "DESC" : "ASC"
        // Ends are numbered over all queues, lines each by itself.
        let key = half.isEnded ? "bucket" : "queue, bucket"
        let order = half.isEnded ? "bucket \(direction)" : "queue \(direction), bucket \(direction)"
        let shift = half.isEnded ? Tally.historyShift : Tally.lineShift
        let path = self.path
        var start = PageStart(left: offset)
        try self.each(
            """
            SELECT queue, bucket, sum(count) FROM tally
            WHERE isEnded = ? AND queue BETWEEN ? AND ? AND (? >> state) & 1 GROUP BY \(key) ORDER BY \(order)
            """,
            [half.isEnded, half.queues.lowerBound, half.queues.upperBound, half.mask]
        ) { (row) throws(QueueStoreError) in
            guard let queue = row.integer(0), let bucket = row.integer(1), let count = row.integer(2) else {
                throw .damaged(path, "the counts cannot be read")
            }
            let held = Int(clamping: max(0, count))
            if start.left >= held {
                start.left -= held
                return true
            }
            let first = bucket << shift
            start.first = (queue, isBackward ? first | ((1 << shift) - 1) : first)
            return false
        }
        return start
    }
}
