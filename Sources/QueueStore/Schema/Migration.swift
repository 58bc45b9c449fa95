/// One step of the database's form; the version is kept in `PRAGMA user_version`.
///
/// Append-only: what a release has written stays as it is, a change is a new step. Each has a fixture in the tests that
/// shows a database as that version left it.
struct Migration: Sendable {
    /// Marks a file as this program's: `PRAGMA application_id`, "Mrtl".
    static let applicationIdentifier: Int64 = 0x4D72_746C

    /// All of them, from version 1 on.
    static let all = [Self.version1, Self.version2, Self.version3, Self.version4].map { Migration(sql: $0) }

    /// What brings the version before to this one.
    var sql: String
}

extension [Migration] {
    /// Brings a database to the last version, each step in a transaction of its own.
    ///
    /// - Throws: ``QueueStoreError`` with `tooNew`, or `damaged` where it is another program's; then nothing was changed.
    func run(_ connection: Connection) throws(QueueStoreError) {
        let path = connection.path
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id")
        let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_master") == 0
        guard isEmpty && version == 0 || application == Migration.applicationIdentifier else {
            throw QueueStoreError(
                .damaged,
                "'\(path)' is no queue of Martlet's but another program's database; move it away and start again"
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
        connection.addHostFunction()
        // Takes effect where there is no table yet.
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
