// SPDX-License-Identifier: Apache-2.0
/// One migration of the database's schema; the version is stored in `PRAGMA user_version`.
///
/// Append-only: released migrations never change, each change is a new one. Each version has a fixture in the tests, a
/// database that it wrote.
struct Migration: Sendable {
    /// The `PRAGMA application_id` of Martlet's files, "Mrtl".
    static let applicationIdentifier: Int64 = 0x4D72_746C

    /// All migrations, from version 1 on.
    static let all = [Self.version1, Self.version2, Self.version3, Self.version4].map { Migration(sql: $0) }

    /// The SQL that migrates the previous version to this one.
    var sql: String
}

extension [Migration] {
    /// Migrates a database to the last version, each step in its own transaction.
    ///
    /// - Throws: ``QueueStoreError`` with `tooNew`, or `damaged` for another program's file; then nothing was changed.
    func run(_ connection: Connection) throws(QueueStoreError) {
        let path = connection.path
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id")
        let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_master") == 0
        guard isEmpty && version == 0 || application == Migration.applicationIdentifier else {
            throw QueueStoreError(
                .damaged,
                "'\(path)' is not a queue of Martlet but another program's database; move it away and start again"
            )
        }
        guard version <= self.count else {
            throw QueueStoreError(
                .tooNew,
                "'\(path)' has version \(version), this program knows up to \(self.count): a later Martlet wrote it; "
                    + "use that one, or another state directory"
            )
        }
        guard version >= 0 else { throw .damaged(path, "its version is \(version)") }
        guard version < self.count else { return }
        // Only effective before the first table is created.
        if isEmpty { try connection.run("PRAGMA auto_vacuum = INCREMENTAL") }
        for (index, migration) in self.enumerated().dropFirst(Int(version)) {
            try connection.transaction(
                """
                \(migration.sql)
                PRAGMA application_id = \(Migration.applicationIdentifier);
                PRAGMA user_version = \(index + 1);
                """
            )
        }
    }
}
