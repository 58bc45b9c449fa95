// SPDX-License-Identifier: Apache-2.0
internal import Control

extension QueueReader {
    /// Returns a session, or `nil` if there is none.
    package func session(_ identifier: String) throws(QueueStoreError) -> StoredSession? {
        try self.sessions("WHERE identifier = ?", [identifier.stored]).first
    }

    /// Returns all sessions, ordered by identifier.
    package func sessions() throws(QueueStoreError) -> [StoredSession] {
        try self.sessions("ORDER BY identifier", [])
    }

    private func sessions(
        _ selection: String,
        _ arguments: Connection.Arguments
    ) throws(QueueStoreError) -> [StoredSession] {
        let path = self.connection.path
        return try self.connection.all(
            "SELECT identifier, configuration, acknowledged, last FROM sessions \(selection)",
            arguments
        ) { (row) throws(QueueStoreError) in
            guard let identifier = row.text(0), let configuration = row.text(1), let acknowledged = row.integer(2),
                let last = row.integer(3)
            else { throw .damaged(path, "a session cannot be read") }
            return StoredSession(
                identifier: identifier,
                configuration: configuration,
                acknowledged: acknowledged,
                last: last
            )
        }
    }

    /// Returns a session's events after a number, in order, at most `limit`.
    package func events(
        of session: String,
        after number: Int64,
        limit: Int
    ) throws(QueueStoreError) -> [StoredEvent] {
        guard let queue = try self.connection.queue(of: session) else { return [] }
        let path = self.connection.path
        return try self.connection.all(
            "SELECT number, transfer, json FROM events WHERE queue = ? AND number > ? ORDER BY number LIMIT ?",
            [queue, number, max(0, limit)]
        ) { (row) throws(QueueStoreError) in
            guard let number = row.integer(0), let json = row.text(2),
                let transfer = row.integer(1).flatMap({ GID(rawValue: UInt64(bitPattern: $0)) })
            else { throw .damaged(path, "an event cannot be read") }
            return StoredEvent(number: number, transfer: transfer, json: json)
        }
    }
}
