internal import GRDBSQLite

/// The current row of a statement; valid until the next step.
///
/// The type of each column is checked: a damaged file may contain any value in any column.
///
/// - Source: SQLite, "Result Values From A Query".
struct StatementRow: TransferRow {
    let statement: OpaquePointer

    /// Returns an integer, or `nil` for another type.
    func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(self.statement, column) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(self.statement, column)
    }

    /// Returns a number, or `nil` for another type.
    func real(_ column: Int32) -> Double? {
        switch sqlite3_column_type(self.statement, column) {
        case SQLITE_FLOAT, SQLITE_INTEGER: sqlite3_column_double(self.statement, column)
        default: nil
        }
    }

    /// Calls `body` with the bytes of a text; returns false for another type.
    func withBytes(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        guard sqlite3_column_type(self.statement, column) == SQLITE_TEXT,
            let bytes = sqlite3_column_text(self.statement, column)
        else { return false }
        body(UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.statement, column))))
        return true
    }

    /// Returns a text, or `nil` for another type.
    func text(_ column: Int32) -> String? {
        guard sqlite3_column_type(self.statement, column) == SQLITE_TEXT,
            let bytes = sqlite3_column_text(self.statement, column)
        else { return nil }
        let count = Int(sqlite3_column_bytes(self.statement, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// The columns of one transfer, by their index in ``TransferColumns/names``.
protocol TransferRow {
    /// Returns an integer, or `nil` for another type.
    func integer(_ column: Int32) -> Int64?
    /// Returns a number, or `nil` for another type.
    func real(_ column: Int32) -> Double?
    /// Returns a text, or `nil` for another type.
    func text(_ column: Int32) -> String?
}
