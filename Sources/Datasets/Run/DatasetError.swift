// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The reason why a run over a table cannot start.
package enum DatasetError: Error, Sendable, CustomStringConvertible {
    /// Another run writes the report.
    case busy(report: String)
    /// The report is of another table, or of other options, with the difference.
    case otherReport(String)
    /// The table cannot be read.
    case table(SyntaxError)
    /// A file cannot be used.
    case storage(StorageError)

    /// The problem and how to fix it.
    package var description: String {
        switch self {
        case .busy(let path): "'\(path)' is being written by another run; wait for its end, or name another report"
        case .otherReport(let message): message
        case .table(let error): error.message
        case .storage(let error): error.message
        }
    }
}
