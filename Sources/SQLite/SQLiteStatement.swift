// SPDX-License-Identifier: Apache-2.0
internal import CSQLite

/// A prepared statement, and the row at which it stands.
///
/// A row's values are valid until the next ``step()``. The type of each column is checked: a damaged file may contain
/// any value in any column. If the schema was changed, SQLite prepares the statement again at its first step.
///
/// - Source: SQLite, "Prepared Statement Object" and "Result Values From A Query".
package final class SQLiteStatement {
    /// The statement's text.
    package let sql: String
    /// Whether it was taken from the cache and is not finished.
    var isInUse = true
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer, sql: String) {
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(self.handle) }

    /// Binds the parameters, in order; `nil` is NULL.
    package func bind(_ arguments: [(any Bindable)?]) throws(SQLiteError) {
        try self.checkCount(arguments.count)
        var index: Int32 = 0
        for argument in arguments {
            index += 1
            // An unbound parameter is NULL.
            let code = argument?.bind(to: self.handle, at: index) ?? SQLITE_OK
            guard code == SQLITE_OK else { throw self.error(code) }
        }
    }

    /// Starts the statement again, with the parameters that `bind` adds.
    package func restart(_ bind: (inout ParameterBinder) -> Void) throws(SQLiteError) {
        sqlite3_reset(self.handle)
        var binder = ParameterBinder(self.handle)
        bind(&binder)
        guard binder.code == SQLITE_OK else { throw self.error(binder.code) }
        try self.checkCount(Int(binder.count))
    }

    private func checkCount(_ count: Int) throws(SQLiteError) {
        let expected = Int(sqlite3_bind_parameter_count(self.handle))
        guard count == expected else {
            let message = "the statement has \(expected) parameters, \(count) were given"
            throw SQLiteError(code: SQLITE_RANGE, message: message, sql: self.sql)
        }
    }

    /// Advances to the next row; returns false after the last one.
    package func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(self.handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw self.error(code)
        }
    }

    /// Ends the statement's execution, and lets the cache hand it out again.
    ///
    /// Values in memory are released; the last step's error is not reported again.
    package func finish() {
        sqlite3_reset(self.handle)
        sqlite3_clear_bindings(self.handle)
        self.isInUse = false
    }

    private func error(_ code: Int32) -> SQLiteError {
        SQLiteError(code, of: sqlite3_db_handle(self.handle), sql: self.sql)
    }

    // MARK: The row

    /// Returns an integer, or `nil` for another type.
    package func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(self.handle, column) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(self.handle, column)
    }

    /// Returns a number, or `nil` for another type.
    package func real(_ column: Int32) -> Double? {
        switch sqlite3_column_type(self.handle, column) {
        case SQLITE_FLOAT, SQLITE_INTEGER: sqlite3_column_double(self.handle, column)
        default: nil
        }
    }

    /// Returns a text, or `nil` for another type; bytes that are not UTF-8 are replaced.
    package func text(_ column: Int32) -> String? {
        var text: String?
        _ = self.withText(column) { text = String(decoding: $0, as: UTF8.self) }
        return text
    }

    /// Calls `body` with the bytes of a text; returns false for another type.
    package func withText(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        guard sqlite3_column_type(self.handle, column) == SQLITE_TEXT,
            let bytes = sqlite3_column_text(self.handle, column)
        else { return false }
        body(UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.handle, column))))
        return true
    }

    /// Returns a blob, or `nil` for another type.
    package func blob(_ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(self.handle, column) == SQLITE_BLOB else { return nil }
        let bytes = sqlite3_column_blob(self.handle, column)
        let count = Int(sqlite3_column_bytes(self.handle, column))
        // The pointer to an empty blob is null, and that to one for which there is no memory.
        guard let bytes else { return count == 0 ? [] : nil }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
