// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import SQLite

extension QueueWriter {
    /// Adds transfers in order, all or none: at the end, or with the first one at an index among the unfinished
    /// transfers of its queue (a session or the shared queue).
    ///
    /// A missing session is created with an empty configuration. `active` transfers are added as waiting.
    ///
    /// - Throws: `duplicate`, also for an identifier in the history (those of forgotten transfers may be reused);
    ///   `wrongState` for a transfer that has ended.
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
        let insertion = try self.connection.repeated(Self.insertion)
        for (transfer, queue) in zip(transfers, queues) {
            guard let position = positions[queue]?.popFirst() else { continue }
            let state = transfer.state.code
            guard let code = codes[CodeKey(queue: queue, isPaused: state == 1)] else { continue }
            let host = transfer.host.rawValue
            guard try self.insert(transfer, queue, code, position, host, with: insertion) else {
                // A caller that catches this error finds none of them added.
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

    /// Returns the codes for the rows, before any row is inserted.
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

    private static let insertion = """
        INSERT INTO transfers (
            id, queue, state, position, priority, bytes, total, added, ended, directory, urls, options, path,
            failure, upload, host
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, NULL, ?, ?)
        """

    /// Inserts a row; returns false if its identifier is in use.
    private func insert(
        _ transfer: StoredTransfer,
        _ queue: Int64,
        _ code: Int64,
        _ position: Int64,
        _ host: Int64,
        with insertion: borrowing RepeatedStatement
    ) throws(QueueStoreError) -> Bool {
        func bind(_ values: inout ParameterBinder) {
            values.add(transfer.id.bits)
            values.add(queue)
            values.add(code)
            values.add(position)
            values.add(Int64(transfer.priority))
            values.add(transfer.bytes)
            values.add(transfer.total)
            values.add(transfer.added.storedTime)
            values.add(transfer.directory.stored)
            values.add(TransferColumns.text(transfer.urls))
            values.add(TransferColumns.text(transfer.options))
            values.add(transfer.path?.stored)
            values.add(transfer.upload?.json.text.stored)
            values.add(host)
        }
        if try insertion.insert(bind) { return true }
        // The identifier may belong to a forgotten row that awaits its deletion.
        guard try self.connection.standing(of: transfer.id) == nil else { return false }
        try self.deleteForgotten(transfer.id)
        return try insertion.insert(bind)
    }

    /// Returns the queue of a session; creates a missing session.
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
    /// The time to store: seconds since 1970, or 0 if it is not finite.
    var storedTime: Double { self.isFinite ? self : 0 }
}
