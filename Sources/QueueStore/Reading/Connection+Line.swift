// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Selects the unfinished or the ended transfers of a range of queues, in some states.
struct Half {
    /// Whether ended transfers are selected.
    var isEnded: Bool
    /// The numbers of the queues.
    var queues: ClosedRange<Int64>
    /// The bit mask of the states, see `Set.mask`.
    var mask: Int64

    /// Selects the unfinished transfers of one queue.
    static func line(_ queue: Int64) -> Half { Half(isEnded: false, queues: queue...queue, mask: 0b11) }
}

/// The row of a transfer and its place in the order.
package struct Standing: Sendable, Hashable {
    /// The number of its row.
    var number: Int64
    var queue: Int64
    /// The number of its state; 4 also if it counts as removed and its end is not stored yet.
    var state: Int64
    /// The code in its row, see ``StateClasses``.
    var code: Int64
    /// Its position in the queue, or the number of its end.
    var position: Int64
    /// The key of its host, see ``HostKey``.
    var host: Int64

    /// Whether it is removed but its row is unchanged.
    var isLeaving: Bool { self.code < 2 && self.state > 1 }
}

struct PageStart {
    /// The queue and the first position of the bucket, or `nil` if there are fewer transfers than the offset.
    var first: (queue: Int64, position: Int64)?
    /// The number of transfers to skip from there.
    var left: Int
}

extension Connection {
    /// Returns the queue of a session; `nil` if the session does not exist.
    func queue(of session: String?) throws(QueueStoreError) -> Int64? {
        guard let session else { return 0 }
        return try self.integer("SELECT number FROM sessions WHERE identifier = ?", [session.stored])
    }

    private static let standing = """
        SELECT number, queue, \(TransferColumns.state), state, position, host FROM transfers
        WHERE id = ? AND \(TransferColumns.isPresent)
        """

    /// Returns the standing of a transfer; `nil` if the transfer does not exist.
    func standing(of id: GID) throws(QueueStoreError) -> Standing? {
        let path = self.path
        return try self.first(Self.standing, [id.bits]) { (row) throws(QueueStoreError) in
            guard let number = row.integer(0), let queue = row.integer(1), let state = row.integer(2),
                let code = row.integer(3), let position = row.integer(4), let host = row.integer(5)
            else { throw .damaged(path, "transfer \(id) cannot be read") }
            return Standing(number: number, queue: queue, state: state, code: code, position: position, host: host)
        }
    }

    /// Returns the next queue after another one that has transfers of `half`, or the previous one if `isBackward`.
    func queue(next queue: Int64, of half: Half, isBackward: Bool) throws(QueueStoreError) -> Int64? {
        try self.integer(
            """
            SELECT queue FROM tally WHERE isEnded = ? AND queue BETWEEN ? AND ? AND queue \(isBackward ? "<" : ">") ?
            AND (? >> state) & 1 ORDER BY queue \(isBackward ? "DESC" : "ASC") LIMIT 1
            """,
            [half.isEnded, half.queues.lowerBound, half.queues.upperBound, queue, half.mask]
        )
    }

    /// Returns the number of the selected transfers.
    func count(_ half: Half) throws(QueueStoreError) -> Int {
        let count = try self.integer(
            "SELECT sum(count) FROM tally WHERE isEnded = ? AND queue BETWEEN ? AND ? AND (? >> state) & 1",
            [half.isEnded, half.queues.lowerBound, half.queues.upperBound, half.mask]
        )
        return Int(clamping: count ?? 0)
    }

    /// Returns the index of an unfinished transfer among those of `half`, queue by queue.
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
            WHERE queue = ? AND position >= ? AND position < ? AND state < 2
            AND (? >> (state + \(StateClasses.shift))) & 1
            """,
            [
                standing.queue, bucket << Tally.lineShift, standing.position,
                try self.classes(of: standing.queue).mask(half.mask),
            ]
        )
        return Int(clamping: before ?? 0) + Int(clamping: inside ?? 0)
    }

    /// Returns the position of the unfinished transfer at an index, from 0; `nil` beyond the last one.
    func position(at place: Int, queue: Int64) throws(QueueStoreError) -> Int64? {
        let start = try self.start(of: .line(queue), offset: place, isBackward: false)
        guard let first = start.first else { return nil }
        return try self.integer(
            """
            SELECT position FROM transfers INDEXED BY line
            WHERE queue = ? AND position >= ? AND state < 2 AND (? >> (state + \(StateClasses.shift))) & 1
            ORDER BY position LIMIT 1 OFFSET ?
            """,
            [queue, first.position, try self.classes(of: queue).mask(0b11), start.left]
        )
    }

    /// Finds the bucket of the transfer at index `offset`.
    func start(of half: Half, offset: Int, isBackward: Bool) throws(QueueStoreError) -> PageStart {
        let direction = isBackward ? "DESC" : "ASC"
        // Ends are numbered over all queues, positions in each queue separately.
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
