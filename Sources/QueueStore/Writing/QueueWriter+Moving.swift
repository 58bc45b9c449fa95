// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueWriter {
    /// Moves a transfer to an index in its queue, and returns its new index.
    ///
    /// The index is clamped to the queue.
    ///
    /// - Throws: `notFound`; `wrongState` for a transfer that has ended.
    package func move(_ id: GID, to place: Int) throws(QueueStoreError) -> Int {
        guard let standing = try self.standings(of: [id], allowing: { !$0.isEnd }, "moved").first else { return 0 }
        let current = try self.connection.place(of: standing, in: .line(standing.queue))
        let count = try self.connection.count(.line(standing.queue))
        let target = min(max(0, place), max(0, count - 1))
        guard target != current,
            let other = try self.connection.position(at: target, queue: standing.queue)
        else { return current }
        let places = LinePlaces(self.connection, queue: standing.queue, ignoring: standing.number)
        let position = try target > current ? places.behind(other, 1) : places.before(other, 1)
        guard let position = position.first else { return current }
        try self.connection.run(
            "UPDATE transfers SET position = ? WHERE number = ?",
            [position, standing.number]
        )
        var tally = Tally()
        tally.count(-1, state: standing.state, queue: standing.queue, position: standing.position)
        tally.count(1, state: standing.state, queue: standing.queue, position: position)
        try tally.store(self.connection)
        var heads = Heads()
        heads.touch(standing)
        try heads.store(self.connection)
        return target
    }
}
