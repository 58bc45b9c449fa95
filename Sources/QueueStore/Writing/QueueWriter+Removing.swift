// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Removal of all transfers of a queue.
extension QueueWriter {
    /// Removes all unfinished transfers of a queue.
    ///
    /// They count as removed at once and do not run any more; their ends are stored in the background, also after a
    /// kill. The rows of transfers that the history has no room for are deleted. The handler of
    /// ``QueueStore/onRemoved(_:)`` is called with those that may have files.
    ///
    /// - Parameters:
    ///   - session: The session, or `nil` for the shared queue.
    ///   - time: The time of their end in seconds since 1970.
    ///   - kept: The maximum number to keep in the history; the last ones are kept.
    ///   - deletesPartial: Passed to the handler of ``QueueStore/onRemoved(_:)``.
    /// - Returns: The number of removed transfers, and how many of them the history keeps.
    /// - Throws: ``QueueStoreError``.
    package func removeAll(
        session: String?,
        at time: Double,
        keeping kept: Int,
        deletesPartial: Bool
    ) throws(QueueStoreError) -> (removed: Int, kept: Int) {
        guard let queue = try self.connection.queue(of: session) else { return (0, 0) }
        let removed = try self.connection.count(.line(queue))
        guard removed > 0 else { return (0, 0) }
        let kept = min(max(0, kept), removed)
        var classes = try self.connection.used(self.connection.classes(of: queue), of: queue)
        classes.removeAll(at: time.storedTime, deletesPartial: deletesPartial)
        try self.connection.store(classes, of: queue)
        try self.connection.run("DELETE FROM tally WHERE isEnded = 0 AND queue = ?", [queue])
        try self.connection.run(
            """
            INSERT INTO removals (queue, count, discarded) VALUES (?, ?, ?) ON CONFLICT (queue) DO UPDATE SET
            count = count + excluded.count, discarded = discarded + excluded.discarded
            """,
            [queue, kept, removed - kept]
        )
        return (removed, kept)
    }

    /// Stores the end of a transfer that counts as removed; returns its new standing.
    func settle(_ standing: Standing) throws(QueueStoreError) -> Standing {
        guard standing.isLeaving else { return standing }
        let number = try self.connection.lastEnd() &+ 1
        try self.connection.run(
            """
            UPDATE transfers SET ended = (SELECT at FROM classes WHERE queue = ? AND code = ?), state = 4, position = ?
            WHERE number = ?
            """,
            [standing.queue, standing.code, number, standing.number]
        )
        var tally = Tally()
        tally.count(1, state: 4, queue: standing.queue, position: number)
        try tally.store(self.connection)
        var heads = Heads()
        heads.touch(standing)
        try heads.store(self.connection)
        try self.uncount(of: standing.queue)
        var settled = standing
        (settled.code, settled.state, settled.position) = (4, 4, number)
        return settled
    }

    /// Deletes a forgotten row, so that its identifier can be reused.
    func deleteForgotten(_ id: GID) throws(QueueStoreError) {
        let found = try self.connection.first(
            "SELECT number, queue, state, host FROM transfers WHERE id = ?",
            [id.bits]
        ) { row in (0..<4).map { row.integer($0) ?? 0 } }
        guard let found else { return }
        try self.connection.run("DELETE FROM transfers WHERE number = ?", [found[0]])
        guard found[2] < 2 else { return }
        var heads = Heads()
        heads.touch(queue: found[1], code: found[2], host: found[3])
        try heads.store(self.connection)
    }

    /// Decrements the number of removed rows without a stored end.
    private func uncount(of queue: Int64) throws(QueueStoreError) {
        try self.connection.run(
            "UPDATE removals SET count = count - (count > 0), discarded = discarded - (count = 0) WHERE queue = ?",
            [queue]
        )
    }
}

extension Connection {
    /// Returns the number of the last end, including forgotten ones; 0 if there is none.
    func lastEnd() throws(QueueStoreError) -> Int64 {
        let stored = try self.integer("SELECT max(position) FROM transfers INDEXED BY history WHERE state > 1") ?? 0
        return max(stored, try self.integer("SELECT max(last) FROM forgotten") ?? 0)
    }
}
