// SPDX-License-Identifier: Apache-2.0
internal import Control

/// Changes the database; valid only inside ``QueueStore/write(_:)``.
///
/// The current state can be read through ``reader``.
package struct QueueWriter: ~Copyable {
    let connection: Connection

    init(connection: Connection) { self.connection = connection }

    /// A reader inside the transaction.
    package var reader: QueueReader { QueueReader(connection: self.connection) }

    /// Stores the JSON text of a setting, or deletes the setting if it is `nil`.
    package func setSetting(_ name: String, _ text: String?) throws(QueueStoreError) {
        if let text {
            try self.connection.run(
                "INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)",
                [name.stored, text.stored]
            )
        } else {
            try self.connection.run("DELETE FROM settings WHERE name = ?", [name.stored])
        }
    }

    /// Returns the standings of transfers, in the order of `ids` without duplicates.
    ///
    /// - Throws: `notFound`, or `wrongState` for a transfer whose state is not allowed.
    func standings(
        of ids: [GID],
        allowing isAllowed: (TransferRecord.State) -> Bool,
        _ what: String
    ) throws(QueueStoreError) -> [Standing] {
        var seen: Set<GID> = []
        var standings: [Standing] = []
        for id in ids where seen.insert(id).inserted {
            guard var standing = try self.connection.standing(of: id) else {
                throw QueueStoreError(.notFound(id), "there is no transfer \(id)")
            }
            if standing.isLeaving { standing = try self.settle(standing) }
            guard let state = TransferRecord.State(code: standing.state) else {
                throw .damaged(self.connection.path, "transfer \(id) cannot be read")
            }
            guard isAllowed(state) else {
                throw QueueStoreError(
                    .wrongState(id, state),
                    "transfer \(id) is \(state.rawValue): it cannot be \(what)"
                )
            }
            standings.append(standing)
        }
        return standings
    }
}
