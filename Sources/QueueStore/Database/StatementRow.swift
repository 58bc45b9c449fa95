internal import GRDBSQLite

/// The row that a statement stands at; valid until it goes on.
///
/// Columns are asked for their type: a damaged file may have anything anywhere.
///
/// - Source: SQLite, "Result Values From A Query".
struct StatementRow: TransferRow {
    let statement: OpaquePointer

    /// A whole number, or `nil` for anything else.
    func integer(_ column: Int32) -> Int64? {
        guard sqlite3_column_type(self.statement, column) == SQLITE_INTEGER else { return nil }
        return sqlite3_column_int64(self.statement, column)
    }

    /// A number, or `nil` for anything else.
    func real(_ column: Int32) -> Double? {
        switch sqlite3_column_type(self.statement, column) {
        case SQLITE_FLOAT, SQLITE_INTEGER: sqlite3_column_double(self.statement, column)
        default: nil
        }
    }

    /// Hands a text's bytes to `body`; tells whether it is one.
    func withBytes(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        guard sqlite3_column_type(self.statement, column) == SQLITE_TEXT,
            let bytes = sqlite3_column_text(self.statement, column)
        else { return false }
        body(UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(self.statement, column))))
        return true
    }

    /// A text, or `nil` for anything else.
    func text(_ column: Int32) -> String? {
        guard sqlite3_column_type(self.statement, column) == SQLITE_TEXT,
            let bytes = sqlite3_column_text(self.statement, column)
        else { return nil }
        let count = Int(sqlite3_column_bytes(self.statement, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}

/// The columns of one transfer, by their numbers in ``TransferColumns/names``.
protocol TransferRow {
    /// A whole number, or `nil` for anything else.
    func integer(_ column: Int32) -> Int64?
    /// A number, or `nil` for anything else.
    func real(_ column: Int32) -> Double?
    /// A text, or `nil` for anything else.
    func text(_ column: Int32) -> String?
}
