// SPDX-License-Identifier: Apache-2.0
internal import SQLite

/// A statement that runs once for each row of a batch: it is looked up once, and its parameters are not boxed.
struct RepeatedStatement: ~Copyable {
    private let statement: SQLiteStatement
    private let connection: Connection

    init(_ statement: SQLiteStatement, _ connection: Connection) {
        self.statement = statement
        self.connection = connection
    }

    deinit { self.statement.finish() }

    /// Runs the statement, which has no result rows; returns the number of rows that it changed.
    func run(_ bind: (inout ParameterBinder) -> Void) throws(QueueStoreError) -> Int {
        try self.connection.checkFault()
        do throws(SQLiteError) { try self.runOnce(bind) } catch { throw self.connection.translate(error) }
        return self.connection.changes
    }

    /// Runs the statement, which inserts a row; returns false if it violates a unique index.
    func insert(_ bind: (inout ParameterBinder) -> Void) throws(QueueStoreError) -> Bool {
        try self.connection.checkFault()
        do throws(SQLiteError) {
            try self.runOnce(bind)
            return true
        } catch {
            guard error.kind != .duplicate else { return false }
            throw self.connection.translate(error)
        }
    }

    private func runOnce(_ bind: (inout ParameterBinder) -> Void) throws(SQLiteError) {
        try self.statement.restart(bind)
        while try self.statement.step() {}
    }

    /// Runs the statement and returns its first row, which is valid until the next run, or `nil`.
    func first(_ bind: (inout ParameterBinder) -> Void) throws(QueueStoreError) -> StatementRow? {
        try self.connection.checkFault()
        do throws(SQLiteError) {
            try self.statement.restart(bind)
            return try self.statement.step() ? StatementRow(statement: self.statement) : nil
        } catch { throw self.connection.translate(error) }
    }
}
