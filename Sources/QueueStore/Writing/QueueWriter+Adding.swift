internal import Control

extension QueueWriter {
    /// Adds transfers, all or none, in their order: at the end, or with the first at a place among the unfinished ones of
    /// its queue (session, or the shared one).
    ///
    /// A session that is not there yet is made, with an empty configuration. What runs (`active`) is added as waiting.
    ///
    /// - Throws: `duplicate`, also for one that the history still has (identifiers of forgotten transfers are not kept);
    ///   `wrongState` for one that has ended.
    package func add(_ transfers: [StoredTransfer], at place: Int?) throws(QueueStoreError) {
        if let ended = transfers.first(where: { $0.state.isEnd }) {
            throw QueueStoreError(
                .wrongState(ended.id, ended.state),
                "transfer \(ended.id) is \(ended.state.rawValue): it cannot be added"
            )
        }
        var queues: [Int64] = []
        var counts: [Int64: Int] = [:]
        var known: [String?: Int64] = [:]
        for transfer in transfers {
            let queue: Int64
            if let number = known[transfer.session] {
                queue = number
            } else {
                queue = try self.queue(making: transfer.session)
                known[transfer.session] = queue
            }
            queues.append(queue)
            counts[queue, default: 0] += 1
        }
        var positions: [Int64: ArraySlice<Int64>] = [:]
        for (queue, count) in counts {
            let places = LinePlaces(self.connection, queue: queue)
            if let place {
                positions[queue] = try places.at(place, count)[...]
            } else {
                positions[queue] = try places.atEnd(count)[...]
            }
        }
        try self.insert(transfers, queues, positions)
    }

    private func insert(
        _ transfers: [StoredTransfer],
        _ queues: [Int64],
        _ positions: [Int64: ArraySlice<Int64>]
    ) throws(QueueStoreError) {
        var positions = positions
        var tally = Tally()
        let first = try self.connection.integer("SELECT max(number) FROM transfers") ?? 0
        for (transfer, queue) in zip(transfers, queues) {
            guard let position = positions[queue]?.popFirst() else { continue }
            let state = transfer.state.code
            let isNew = try self.connection.insert(
                """
                INSERT INTO transfers (
                    id, queue, state, position, priority, bytes, total, added, ended, directory, urls, options, path,
                    failure, upload
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, NULL, ?)
                """,
                [
                    transfer.id.bits, queue, state, position, transfer.priority, transfer.bytes, transfer.total,
                    transfer.added.storedTime, transfer.directory.stored, TransferColumns.text(transfer.urls),
                    TransferColumns.text(transfer.options), transfer.path?.stored,
                    transfer.upload?.json.text.stored,
                ]
            )
            guard isNew else {
                // Whoever catches this finds none of them there.
                try self.connection.run("DELETE FROM transfers WHERE number > ?", [first])
                throw QueueStoreError(.duplicate(transfer.id), "transfer \(transfer.id) is there already")
            }
            tally.count(1, state: state, queue: queue, position: position)
        }
        try tally.store(self.connection)
    }

    /// A session's queue; made where it is not there.
    func queue(making session: String?) throws(QueueStoreError) -> Int64 {
        if let queue = try self.connection.queue(of: session) { return queue }
        guard let session else { return 0 }
        try self.connection.run(
            "INSERT INTO sessions (identifier, configuration) VALUES (?, '{}')",
            [session.stored]
        )
        return self.connection.insertedNumber
    }
}

extension Double {
    /// A time as it is stored; what is no number is stored as 1970.
    var storedTime: Double { self.isFinite ? self : 0 }
}
