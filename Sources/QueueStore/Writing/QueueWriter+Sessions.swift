// SPDX-License-Identifier: Apache-2.0
package import Control

extension QueueWriter {
    /// Creates a session or replaces its configuration.
    package func saveSession(_ identifier: String, configuration: String) throws(QueueStoreError) {
        try self.connection.run(
            """
            INSERT INTO sessions (identifier, configuration) VALUES (?, ?)
            ON CONFLICT (identifier) DO UPDATE SET configuration = excluded.configuration
            """,
            [identifier.stored, configuration.stored]
        )
    }

    /// Deletes a session with its events and its ended transfers; a missing session is ignored.
    ///
    /// - Throws: `wrongState` with its first unfinished transfer, if there is one.
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

    /// Appends an event to a session, and returns its number, one more than that of the last event ever.
    ///
    /// A missing session is created with an empty configuration.
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

    /// Deletes a session's events up to a number, inclusive, and its ended transfers without remaining events.
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
