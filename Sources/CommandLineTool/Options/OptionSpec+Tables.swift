// SPDX-License-Identifier: Apache-2.0
import Datasets
import TransferCore
import TransferEngine

// Tables of URLs, reports and shards.

extension OptionSpec<String> {
    static var manifest: Self {
        Self(
            "manifest",
            .file(),
            "Read a table of URLs from a file, or from standard input if it is '-'.",
            details: """
                JSON lines, CSV or TSV with a header, plain or gzip. The column url is required; key, name and checksum \
                are optional; other columns are copied to the report. Parquet is read by the Python package.
                """
        )
    }

    static var urlColumn: Self { Self("url-column", .text("name"), "Column of the URLs.", standard: "url") }

    static var report: Self {
        Self(
            "report",
            .file(),
            "Append one JSON line per row to this file; a run that is repeated continues after them.",
            details: "FILE.origin, next to it, has what the report is about."
        )
    }

    static var retryFrom: Self {
        Self("retry-from", .file("report"), "Fetch the rows that failed in this report and are retryable.")
    }

    static var shards: Self {
        Self(
            "shards",
            .directory,
            "Write the contents into WebDataset shards in this directory.",
            details: "DIR/.martlet-reports lists the reports whose shards it has; they are kept."
        )
    }

    static var types: Self {
        Self(
            "types",
            .text("types"),
            "With --shards: fail rows of other media types, such as 'image/*'; separated by commas."
        )
    }
}

extension OptionSpec<TableFormat> {
    static var manifestFormat: Self {
        Self(
            "manifest-format",
            .choice("format", TableFormat.allCases),
            "Format of the table: jsonl, csv or tsv.",
            standard: "from its name"
        )
    }
}

extension OptionSpec<ColumnName> {
    static var column: Self {
        Self(
            "column",
            .column,
            "Column with a meaning, such as 'key=ID'; may be repeated.",
            details: "The meanings are url, key, name and checksum."
        )
    }
}

extension OptionSpec<Int64> {
    static var shardSize: Self { Self("shard-size", .size, "Maximum size of a shard.", standard: "1G") }

    static var maxSize: Self { Self("max-size", .size, "With --shards: fail rows with larger contents.") }

    static var minSize: Self { Self("min-size", .size, "With --shards: fail rows with smaller contents.") }
}

extension OptionSpec<Int> {
    static var shardCount: Self {
        Self("shard-count", .number(1...100_000_000), "Maximum number of rows in a shard.", standard: "10000")
    }
}

extension OptionSpec<Duration> {
    static var shardTime: Self {
        Self(
            "shard-time",
            .seconds,
            "Close a shard to which nothing was added for so many seconds.",
            standard: "0, never"
        )
    }
}

extension OptionSpec<Bool> {
    static var retryAllFailed: Self {
        Self("retry-all-failed", .flag, "With --retry-from: fetch all rows that failed.")
    }

    static var counts: Self {
        Self(
            "counts",
            .flag,
            "Print the counts of the rows to standard output: a JSON line per second, and one at the end.",
            details: "They are the event 'counts' of --json."
        )
    }
}

extension OptionSyntax<ColumnName> {
    static var column: Self {
        Self("meaning=name") { text throws(SyntaxError) in
            guard let sign = text.firstIndex(of: "="), case let name = text[text.index(after: sign)...], !name.isEmpty
            else { throw SyntaxError.option("needs a meaning and a column", write: "it as in key=ID") }
            let roles = OptionSyntax<TableColumns.Role>.choice("meaning", TableColumns.Role.allCases)
            return ColumnName(role: try roles.value(String(text[..<sign])), column: String(name))
        } write: {
            "\($0.role)=\($0.column)"
        }
    }
}
