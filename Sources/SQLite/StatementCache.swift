// SPDX-License-Identifier: Apache-2.0
/// The prepared statements of a connection, by their text.
struct StatementCache {
    /// The number of statements from which the idle ones are dropped: texts that are made up each time must not add up.
    static let limit = 256

    private var statements: [String: SQLiteStatement] = [:]

    /// The number of statements.
    var count: Int { self.statements.count }

    /// Takes the statement with a text, unless there is none or it is in use.
    func take(_ sql: String) -> SQLiteStatement? {
        guard let statement = self.statements[sql], !statement.isInUse else { return nil }
        statement.isInUse = true
        return statement
    }

    /// Adds a statement that is in use; if there is one with its text already, that one stays.
    mutating func add(_ statement: SQLiteStatement) {
        guard self.statements[statement.sql] == nil else { return }
        if self.statements.count >= Self.limit { self.statements = self.statements.filter { $0.value.isInUse } }
        self.statements[statement.sql] = statement
    }

    /// Drops all statements; those in use are finalised by their users.
    mutating func removeAll() { self.statements = [:] }
}
