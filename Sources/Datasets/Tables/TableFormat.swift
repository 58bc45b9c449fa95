// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The format of a table of URLs.
package enum TableFormat: String, Sendable, CaseIterable {
    /// One JSON object per line.
    case jsonl
    /// Comma-separated values with a header line.
    case csv
    /// As ``csv``, separated by tabs.
    case tsv

    /// The format that a file name suggests, `.gz` disregarded, or `nil`.
    package init?(fileName: String) {
        var name = Substring(fileName.lowercased())
        if name.hasSuffix(".gz") { name = name.dropLast(3) }
        guard let dot = name.lastIndex(of: ".") else { return nil }
        switch name[name.index(after: dot)...] {
        case "jsonl", "ndjson", "json": self = .jsonl
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        default: return nil
        }
    }
}

/// A row of a table, or one that cannot be used.
package enum TableItem: Sendable, Equatable {
    /// A row, and the number of its first line, from 1.
    case row(DatasetRow, line: Int64)
    /// A row that cannot be fetched, with the reason.
    ///
    /// The row has what could be read: its URL may be empty.
    case fault(DatasetRow, line: Int64, String)
}

/// A record of a table before its columns have a meaning.
struct TableRecord {
    /// The number of its first line, from 1.
    var line: Int64
    /// The columns in order.
    var members: [JSON.Member]
    /// The reason why the record cannot be used, or `nil`.
    var fault: String?
}
