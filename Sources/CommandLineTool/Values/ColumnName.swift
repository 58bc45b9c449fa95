// SPDX-License-Identifier: Apache-2.0
import Datasets

/// A value of `--column`: a column of a table and its meaning.
struct ColumnName: Equatable {
    /// The meaning.
    var role: TableColumns.Role
    /// The name in the table.
    var column: String

    /// Parses `MEANING=NAME`.
    ///
    /// - Throws: ``BadValue``.
    static func parse(_ text: String) throws(BadValue) -> ColumnName {
        guard let sign = text.firstIndex(of: "="), case let column = text[text.index(after: sign)...], !column.isEmpty
        else { throw BadValue("it needs a meaning and a column, such as key=ID") }
        let role = try Choice.parse(String(text[..<sign]), among: TableColumns.Role.allCases)
        return ColumnName(role: role, column: String(column))
    }
}
