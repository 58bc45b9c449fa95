// SPDX-License-Identifier: Apache-2.0
import SQLite

extension SQLiteConnection {
    /// Runs a statement with parameters and without result rows.
    func run(_ sql: String, _ arguments: [(any Bindable)?] = []) throws(SQLiteError) {
        let statement = try self.statement(sql)
        defer { statement.finish() }
        try statement.bind(arguments)
        while try statement.step() {}
    }

    /// The integers of the first column.
    func integers(_ sql: String) throws(SQLiteError) -> [Int64?] {
        let statement = try self.statement(sql)
        defer { statement.finish() }
        var found: [Int64?] = []
        while try statement.step() { found.append(statement.integer(0)) }
        return found
    }
}

/// The kind of the error of `body`, or `nil` without an error.
func kind(_ body: () throws(SQLiteError) -> Void) -> SQLiteError.Kind? {
    do throws(SQLiteError) {
        try body()
        return nil
    } catch { return error.kind }
}
