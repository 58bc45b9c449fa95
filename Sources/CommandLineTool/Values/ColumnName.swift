// SPDX-License-Identifier: Apache-2.0
import Datasets

/// A value of `--column`: a column of a table and its meaning.
struct ColumnName: Equatable {
    /// The meaning.
    var role: TableColumns.Role
    /// The name in the table.
    var column: String
}
