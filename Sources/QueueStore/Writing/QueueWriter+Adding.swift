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
        var heads = Heads()
        let codes = try self.codes(transfers, queues)
        let first = try self.connection.integer("SELECT max(number) FROM transfers") ?? 0
        for (transfer, queue) in zip(transfers, queues) {
            guard let position = positions[queue]?.popFirst() else { continue }
            let state = transfer.state.code
            guard let code = codes[CodeKey(queue: queue, isPaused: state == 1)] else { continue }
            let host = transfer.host.rawValue
            guard try self.insert(transfer, queue, code, position, host) else {
                // Whoever catches this finds none of them there.
                try self.connection.run("DELETE FROM transfers WHERE number > ?", [first])
                throw QueueStoreError(.duplicate(transfer.id), "transfer \(transfer.id) is there already")
            }
            tally.count(1, state: state, queue: queue, position: position)
            heads.touch(queue: queue, code: code, host: host)
        }
        try tally.store(self.connection)
        try heads.store(self.connection)
    }

    private struct CodeKey: Hashable {
        var queue: Int64
        var isPaused: Bool
    }

    /// The codes that the rows get, before there is one.
    private func codes(
        _ transfers: [StoredTransfer],
        _ queues: [Int64]
    ) throws(QueueStoreError) -> [CodeKey: Int64] {
        let keys = Set(zip(transfers, queues).map { CodeKey(queue: $1, isPaused: $0.state.code == 1) })
        var book = ClassBook(self.connection)
        var codes: [CodeKey: Int64] = [:]
        for key in keys { codes[key] = try book.code(for: key.isPaused ? .paused : .waiting, queue: key.queue) }
        return codes
    }

    /// Inserts a row; tells whether its identifier was free.
    private func insert(
        _ transfer: StoredTransfer,
        _ queue: Int64,
        _ code: Int64,
        _ position: Int64,
        _ host: Int64
    ) throws(QueueStoreError) -> Bool {
        let values: Connection.Arguments = [
            transfer.id.bits, queue, code, position, transfer.priority, transfer.bytes, transfer.total,
            transfer.added.storedTime, transfer.directory.stored, TransferColumns.text(transfer.urls),
            TransferColumns.text(transfer.options), transfer.path?.stored, transfer.upload?.json.text.stored, host,
        ]
        let sql = """
            INSERT INTO transfers (
                id, queue, state, position, priority, bytes, total, added, ended, directory, urls, options, path,
                failure, upload, host
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, NULL, ?, ?)
            """
        if try self.connection.insert(sql, values) { return true }
        // A row that is forgotten and not deleted yet makes room.
        guard try self.connection.standing(of: transfer.id) == nil else { return false }
        try self.deleteForgotten(transfer.id)
        return try self.connection.insert(sql, values)
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
