internal import GRDB
internal import GRDBSQLite

/// Statements on one SQLite connection: prepared once, with errors translated.
struct Connection {
    /// The values for a statement's parameters, in their order.
    typealias Arguments = [(any Bindable)?]

    /// GRDB's connection; valid only on its queue.
    let database: Database
    /// The database's path, for messages.
    let path: String
    /// Where errors are noted after which nothing of the work may stay, and nothing more is done, whatever it makes of them.
    ///
    /// Such an error may have ended the transaction: what a work does afterwards would stay by itself.
    var fault: Fault?

    /// What went wrong below the statements: with disk, file or memory.
    final class Fault {
        var error: QueueStoreError?
    }

    /// Runs a statement that gives no rows, and has no parameters.
    func run(_ sql: String) throws(QueueStoreError) {
        try self.checkFault()
        do {
            try self.database.cachedStatement(sql: sql).execute()
        } catch { throw self.translate(error) }
    }

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ arguments: Arguments) throws(QueueStoreError) {
        try self.each(sql, arguments) { _ in true }
    }

    /// Runs a statement that gives no rows, and tells whether it went against a unique index.
    func insert(_ sql: String, _ arguments: Arguments) throws(QueueStoreError) -> Bool {
        try self.checkFault()
        do {
            try self.step(sql, arguments) { _ in true }
            return true
        } catch let error as DatabaseError where error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE {
            return false
        } catch { throw self.translate(error) }
    }

    /// Runs statements, separated by semicolons, in a transaction.
    func transaction(_ sql: String) throws(QueueStoreError) {
        do {
            try self.database.inTransaction(.immediate) {
                try self.database.execute(sql: sql)
                return .commit
            }
        } catch { throw self.translate(error) }
    }

    /// Hands each row to `body` until it returns false.
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

    // GRDB prepares the statement and keeps it; its values and rows go straight to SQLite, which takes half the time for
    // statements as small as these (decision 0008).
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
            // A parameter without a value is NULL.
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

    /// The first row, read by `read`.
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

    /// All rows, read by `read`.
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

    /// The first column of the first row, or `nil` where there is no row or it is no whole number.
    func integer(_ sql: String, _ arguments: Arguments = []) throws(QueueStoreError) -> Int64? {
        try self.first(sql, arguments) { $0.integer(0) } ?? nil
    }

    /// The number of the row that was inserted last.
    var insertedNumber: Int64 { self.database.lastInsertedRowID }
    /// How many rows the last statement changed.
    var changes: Int { self.database.changesCount }

    /// Lets statements call `martlet_host(urls)`, the ``HostKey`` of a row's URLs.
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
    /// The text as it is stored: SQLite's texts end at the first NUL, so that two names could become one.
    var stored: String {
        self.utf8.contains(0) ? String(self.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : self
    }
}
