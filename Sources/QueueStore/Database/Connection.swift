internal import GRDB

/// Statements on one SQLite connection: prepared once, with errors translated.
struct Connection {
    /// The values for a statement's parameters, in their order.
    typealias Arguments = [(any DatabaseValueConvertible)?]

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

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ arguments: Arguments = []) throws(QueueStoreError) {
        try self.checkFault()
        do {
            try self.database.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
        } catch { throw self.translate(error) }
    }

    /// Runs a statement that gives no rows, and tells whether it went against a unique index.
    func insert(_ sql: String, _ arguments: Arguments) throws(QueueStoreError) -> Bool {
        try self.checkFault()
        do {
            try self.database.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
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
        _ body: (Row) throws(QueueStoreError) -> Bool
    ) throws(QueueStoreError) {
        try self.checkFault()
        do {
            let rows = try Row.fetchCursor(
                self.database.cachedStatement(sql: sql),
                arguments: StatementArguments(arguments)
            )
            while let row = try rows.next() {
                guard try body(row) else { return }
            }
        } catch { throw self.translate(error) }
    }

    /// The first row, read by `read`.
    func first<Value>(
        _ sql: String,
        _ arguments: Arguments = [],
        _ read: (Row) throws(QueueStoreError) -> Value
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
        _ read: (Row) throws(QueueStoreError) -> Value
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

extension Row {
    /// A whole number, or `nil` for anything else: a damaged file may have anything anywhere.
    func integer(_ column: Int) -> Int64? {
        if case .int64(let value) = (self[column] as DatabaseValue).storage { value } else { nil }
    }

    /// A number, or `nil` for anything else.
    func real(_ column: Int) -> Double? {
        switch (self[column] as DatabaseValue).storage {
        case .double(let value): value
        case .int64(let value): Double(value)
        default: nil
        }
    }

    /// A text, or `nil` for anything else.
    func text(_ column: Int) -> String? {
        if case .string(let value) = (self[column] as DatabaseValue).storage { value } else { nil }
    }
}

extension String {
    /// The text as it is stored: SQLite's texts end at the first NUL, so that two names could become one.
    var stored: String {
        self.utf8.contains(0) ? String(self.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : self
    }
}
