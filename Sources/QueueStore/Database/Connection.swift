// SPDX-License-Identifier: Apache-2.0
internal import SQLite

/// Runs cached statements on one SQLite connection, and translates errors.
struct Connection {
    /// The values of a statement's parameters, in order.
    typealias Arguments = [(any Bindable)?]

    /// SQLite's connection; may only be used on its thread.
    let sqlite: SQLiteConnection
    /// The database's path, for messages.
    let path: String
    /// Records an error that requires the whole work to be undone, even if the work catches it.
    ///
    /// Such an error may have ended the transaction, and later statements of the work would be committed alone; they
    /// fail instead.
    var fault: Fault?

    /// An error below the statements: of the disk, the file or memory.
    final class Fault {
        var error: QueueStoreError?
    }

    /// Runs a statement without result rows.
    func run(_ sql: String, _ arguments: Arguments = []) throws(QueueStoreError) {
        try self.each(sql, arguments) { _ in true }
    }

    /// Returns a statement to run for several rows.
    func repeated(_ sql: String) throws(QueueStoreError) -> RepeatedStatement {
        try self.checkFault()
        do throws(SQLiteError) {
            return RepeatedStatement(try self.sqlite.statement(sql), self)
        } catch { throw self.translate(error) }
    }

    /// Runs statements that are separated by semicolons in a transaction.
    func transaction(_ sql: String) throws(QueueStoreError) {
        do throws(SQLiteError) {
            try self.sqlite.execute("BEGIN IMMEDIATE")
            try self.sqlite.execute(sql)
            try self.sqlite.execute("COMMIT")
        } catch {
            if self.sqlite.isInTransaction { try? self.sqlite.execute("ROLLBACK") }
            throw self.translate(error)
        }
    }

    /// Calls `body` for each row until it returns false.
    func each(
        _ sql: String,
        _ arguments: Arguments = [],
        _ body: (StatementRow) throws(QueueStoreError) -> Bool
    ) throws(QueueStoreError) {
        try self.checkFault()
        let statement: SQLiteStatement
        do throws(SQLiteError) { statement = try self.sqlite.statement(sql) } catch { throw self.translate(error) }
        defer { statement.finish() }
        do throws(SQLiteError) { try statement.bind(arguments) } catch { throw self.translate(error) }
        while true {
            let hasRow: Bool
            do throws(SQLiteError) { hasRow = try statement.step() } catch { throw self.translate(error) }
            guard hasRow, try body(StatementRow(statement: statement)) else { return }
        }
    }

    /// Returns the first row, converted by `read`, or `nil`.
    func first<Value>(
        _ sql: String,
        _ arguments: Arguments = [],
        _ read: (StatementRow) throws(QueueStoreError) -> Value
    ) throws(QueueStoreError) -> Value? {
        var value: Value?
        try self.each(sql, arguments) { (row) throws(QueueStoreError) in
            value = try read(row)
            return false
        }
        return value
    }

    /// Returns all rows, converted by `read`.
    func all<Value>(
        _ sql: String,
        _ arguments: Arguments = [],
        _ read: (StatementRow) throws(QueueStoreError) -> Value
    ) throws(QueueStoreError) -> [Value] {
        var values: [Value] = []
        try self.each(sql, arguments) { (row) throws(QueueStoreError) in
            values.append(try read(row))
            return true
        }
        return values
    }

    /// Returns the first column of the first row, or `nil` without a row or if the value is not an integer.
    func integer(_ sql: String, _ arguments: Arguments = []) throws(QueueStoreError) -> Int64? {
        try self.first(sql, arguments) { $0.integer(0) } ?? nil
    }

    /// The rowid of the last inserted row.
    var insertedNumber: Int64 { self.sqlite.lastInsertedRow }
    /// The number of rows that the last statement changed.
    var changes: Int { self.sqlite.changes }
    /// Whether there is a transaction; SQLite ends it itself after some errors.
    var isInTransaction: Bool { self.sqlite.isInTransaction }

    /// Adds the SQL function `martlet_host(urls)`, which returns the ``HostKey`` of a row's URLs.
    func addHostFunction() throws(QueueStoreError) {
        do throws(SQLiteError) {
            try self.sqlite.addFunction("martlet_host") { text in
                HostKey(text.flatMap { TransferColumns.urls($0) } ?? []).rawValue
            }
        } catch { throw self.translate(error) }
    }

    func checkFault() throws(QueueStoreError) {
        if let error = self.fault?.error { throw error }
    }

    func translate(_ error: SQLiteError) -> QueueStoreError {
        let translated = QueueStoreError(error, path: self.path)
        self.fault?.error = translated
        return translated
    }
}

extension String {
    /// The text with NUL replaced: SQLite's texts end at the first NUL, so two names could become equal.
    var stored: String { self.hasNUL ? String(self.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : self }

    var hasNUL: Bool {
        self.utf8.withContiguousStorageIfAvailable { $0.contains(0) } ?? self.utf8.contains(0)
    }
}
