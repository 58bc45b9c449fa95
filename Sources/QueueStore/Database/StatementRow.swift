// SPDX-License-Identifier: Apache-2.0
internal import SQLite

/// The current row of a statement; valid until the next step.
struct StatementRow: TransferRow {
    let statement: SQLiteStatement

    func integer(_ column: Int32) -> Int64? { self.statement.integer(column) }

    func real(_ column: Int32) -> Double? { self.statement.real(column) }

    func text(_ column: Int32) -> String? { self.statement.text(column) }

    /// Calls `body` with the bytes of a text; returns false for another type.
    func withBytes(_ column: Int32, _ body: (UnsafeBufferPointer<UInt8>) -> Void) -> Bool {
        self.statement.withText(column, body)
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
