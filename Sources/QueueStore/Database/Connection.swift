internal import GRDB
internal import GRDBSQLite

/// Runs cached statements on one SQLite connection, and translates errors.
struct Connection {
    /// The values of a statement's parameters, in order.
    typealias Arguments = [(any Bindable)?]

    /// GRDB's connection; may only be used on its queue.
    let database: Database
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

    /// Runs a statement without parameters and result rows.
    func run(_ sql: String) throws(QueueStoreError) {
        try self.checkFault()
        do {
            try self.database.cachedStatement(sql: sql).execute()
        } catch { throw self.translate(error) }
    }

    /// Runs a statement without result rows.
    func run(_ sql: String, _ arguments: Arguments) throws(QueueStoreError) {
        try self.each(sql, arguments) { _ in true }
    }

    /// Runs a statement without result rows; returns false if it violates a unique index.
    func insert(_ sql: String, _ arguments: Arguments) throws(QueueStoreError) -> Bool {
        try self.checkFault()
        do {
            try self.step(sql, arguments) { _ in true }
            return true
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
            return false
        } catch { throw self.translate(error) }
    }

    /// Runs statements that are separated by semicolons in a transaction.
    func transaction(_ sql: String) throws(QueueStoreError) {
        do {
            try self.database.inTransaction(.immediate) {
                try self.database.execute(sql: sql)
                return .commit
            }
        } catch { throw self.translate(error) }
    }

    /// Calls `body` for each row until it returns false.
    func each(
        _ sql: String,
        _ arguments: Arguments = [],
        _ body: (StatementRow) throws(QueueStoreError) -> Bool
    ) throws(QueueStoreError) {
        try self.checkFault()
        do {
            try self.step(sql, arguments, body)
        } catch { throw self.translate(error) }
    }

    // GRDB prepares and caches the statement; parameters and rows use SQLite directly, which takes half the time for
    // such small statements (decision 0008).
    private func step(
        _ sql: String,
        _ arguments: Arguments,
        _ body: (StatementRow) throws(QueueStoreError) -> Bool
    ) throws {
        let statement = try self.database.cachedStatement(sql: sql).sqliteStatement
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        var index: Int32 = 0
        for argument in arguments {
            index += 1
            // An unbound parameter is NULL.
            let code = argument?.bind(to: statement, at: index) ?? SQLITE_OK
            guard code == SQLITE_OK else { throw self.error(code, sql) }
        }
        while true {
            let code = sqlite3_step(statement)
            switch code {
            case SQLITE_ROW: guard try body(StatementRow(statement: statement)) else { return }
            case SQLITE_DONE: return
            default: throw self.error(code, sql)
            }
        }
    }

    private func error(_ code: Int32, _ sql: String) -> DatabaseError {
        let message = self.database.sqliteConnection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        return DatabaseError(resultCode: ResultCode(rawValue: code), message: message, sql: sql)
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
    var insertedNumber: Int64 { self.database.lastInsertedRowID }
    /// The number of rows that the last statement changed.
    var changes: Int { self.database.changesCount }

    /// Adds the SQL function `martlet_host(urls)`, which returns the ``HostKey`` of a row's URLs.
    func addHostFunction() {
        self.database.add(
            function: DatabaseFunction("martlet_host", argumentCount: 1, pure: true) { values in
                let urls = String.fromDatabaseValue(values[0]).flatMap { TransferColumns.urls($0) }
                return HostKey(urls ?? []).rawValue
            }
        )
    }

    private func checkFault() throws(QueueStoreError) {
        if let error = self.fault?.error { throw error }
    }

    private func translate(_ error: any Error) -> QueueStoreError {
        if let error = error as? QueueStoreError { return error }
        let translated = QueueStoreError(error, path: self.path, connection: self.database.sqliteConnection)
        self.fault?.error = translated
        return translated
    }
}

extension String {
    /// The text with NUL replaced: SQLite's texts end at the first NUL, so two names could become equal.
    var stored: String {
        self.utf8.contains(0) ? String(self.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : self
    }
}
