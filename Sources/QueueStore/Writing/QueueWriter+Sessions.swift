package import Control

extension QueueWriter {
    /// Makes a session or replaces its configuration.
    package func saveSession(_ identifier: String, configuration: String) throws(QueueStoreError) {
        try self.connection.run(
            """
            INSERT INTO sessions (identifier, configuration) VALUES (?, ?)
            ON CONFLICT (identifier) DO UPDATE SET configuration = excluded.configuration
            """,
            [identifier.stored, configuration.stored]
        )
    }

    /// Removes a session with its events and its ended transfers; nothing where there is none.
    ///
    /// - Throws: `wrongState` with the first of its unfinished transfers: it must have none.
    package func removeSession(_ identifier: String) throws(QueueStoreError) {
        guard let queue = try self.connection.queue(of: identifier) else { return }
        let unfinished = try self.reader.transfers(
            in: [.waiting, .paused],
            session: .some(identifier),
            offset: 0,
            limit: 1,
            fromEnd: false
        )
        if let first = unfinished.first {
            throw QueueStoreError(
                .wrongState(first.id, first.state),
                "session '\(identifier)' has transfers that have not ended; remove them first"
            )
        }
        try self.connection.run("DELETE FROM events WHERE queue = ?", [queue])
        _ = try self.forgetEnded(session: identifier)
        try self.connection.run("DELETE FROM sessions WHERE number = ?", [queue])
    }

    /// Adds an event to a session's; gives its number, one more than the last one's ever.
    ///
    /// A session that is not there yet is made, with an empty configuration.
    package func appendEvent(
        session: String,
        transfer: GID,
        json: String
    ) throws(QueueStoreError) -> Int64 {
        let queue = try self.queue(making: session)
        let last = try self.connection.integer("SELECT last FROM sessions WHERE number = ?", [queue]) ?? 0
        let number = last &+ 1
        try self.connection.run("UPDATE sessions SET last = ? WHERE number = ?", [number, queue])
        try self.connection.run(
            "INSERT INTO events (queue, number, transfer, json) VALUES (?, ?, ?, ?)",
            [queue, number, transfer.bits, json.stored]
        )
        return number
    }

    /// Forgets a session's events up to a number, and its ended transfers that have no event left.
    package func acknowledge(session: String, upTo number: Int64) throws(QueueStoreError) {
        guard let queue = try self.connection.queue(of: session) else { return }
        try self.connection.run(
            "UPDATE sessions SET acknowledged = max(acknowledged, min(?, last)) WHERE number = ?",
            [number, queue]
        )
        try self.connection.run("DELETE FROM events WHERE queue = ? AND number <= ?", [queue, number])
        _ = try self.forgetEnded(
            """
            INDEXED BY owed WHERE state > 1 AND queue > 0 AND queue = ? AND NOT EXISTS
            (SELECT 1 FROM events WHERE events.queue = transfers.queue AND transfer = transfers.id)
            AND \(TransferColumns.isPresent)
            """,
            [queue],
            of: queue
        )
    }
}
