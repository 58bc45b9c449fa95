// SPDX-License-Identifier: Apache-2.0
/// The prepared statements of a connection, by their text.
struct StatementCache {
    /// The number of statements from which the idle ones are dropped: texts that are made up each time must not add up.
    static let limit = 256

    /// The text of a statement.
    ///
    /// Texts are long, and a text usually is the same object each time: its length and its end suffice as its hash.
    private struct Key: Hashable {
        let sql: String

        func hash(into hasher: inout Hasher) {
            hasher.combine(self.sql.utf8.count)
            for byte in self.sql.utf8.suffix(8) { hasher.combine(byte) }
        }
    }

    private var statements: [Key: SQLiteStatement] = [:]

    var count: Int { self.statements.count }

    /// Takes the statement with a text, unless there is none or it is in use.
    func take(_ sql: String) -> SQLiteStatement? {
        guard let statement = self.statements[Key(sql: sql)], !statement.isInUse else { return nil }
        statement.isInUse = true
        return statement
    }

    /// Adds a statement that is in use; if there is one with its text already, that one stays.
    mutating func add(_ statement: SQLiteStatement) {
        let key = Key(sql: statement.sql)
        guard self.statements[key] == nil else { return }
        if self.statements.count >= Self.limit { self.statements = self.statements.filter { $0.value.isInUse } }
        self.statements[key] = statement
    }

    /// Drops all statements; those in use are finalised by their users.
    mutating func removeAll() { self.statements = [:] }
}
