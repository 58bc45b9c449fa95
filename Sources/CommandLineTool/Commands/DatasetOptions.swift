// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Datasets

/// Options for tables of URLs, reports and shards.
struct DatasetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read a table of URLs from a file, or from standard input if it is '-'.",
            discussion: """
                JSON lines, CSV or TSV with a header, plain or gzip. The column url is required; key, name and checksum \
                are optional; other columns are copied to the report. Parquet is read by the Python package.
                """,
            valueName: "file"
        ),
        completion: .file()
    )
    var manifest: String?

    @Option(
        help: ArgumentHelp(
            "Format of the table: jsonl, csv or tsv. (default: from its name)",
            valueName: "format"
        ),
        completion: .list(TableFormat.allCases.map(\.rawValue)),
        transform: { try Choice.parse($0, among: TableFormat.allCases) }
    )
    var manifestFormat: TableFormat?

    @Option(help: ArgumentHelp("Column of the URLs. (default: url)", valueName: "name"))
    var urlColumn: String?

    @Option(
        help: ArgumentHelp(
            "Column with a meaning, such as 'key=ID'; may be repeated.",
            discussion: "The meanings are url, key, name and checksum.",
            valueName: "meaning=name"
        ),
        transform: { try ColumnName.parse($0) }
    )
    var column: [ColumnName] = []

    @Option(
        help: ArgumentHelp(
            "Append one JSON line per row to this file; a run that is repeated continues after them.",
            discussion: "FILE.origin, next to it, has what the report is about.",
            valueName: "file"
        ),
        completion: .file()
    )
    var report: String?

    @Option(
        help: ArgumentHelp("Fetch the rows that failed in this report and are retryable.", valueName: "report"),
        completion: .file()
    )
    var retryFrom: String?

    @Flag(help: "With --retry-from: fetch all rows that failed.")
    var retryAllFailed = false

    @Option(
        help: ArgumentHelp(
            "Write the contents into WebDataset shards in this directory.",
            discussion: "DIR/.martlet-reports lists the reports whose shards it has; they are kept.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var shards: String?

    @Option(
        help: ArgumentHelp("Maximum size of a shard. (default: 1G)", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var shardSize: Int64?

    @Option(
        help: ArgumentHelp("Maximum number of rows in a shard. (default: 10000)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...100_000_000) }
    )
    var shardCount: Int?

    @Option(
        help: ArgumentHelp(
            "Close a shard to which nothing was added for so many seconds. (default: 0, never)",
            valueName: "seconds"
        ),
        transform: { try Seconds.parse($0) }
    )
    var shardTime: Duration?

    @Option(
        help: ArgumentHelp("With --shards: fail rows with larger contents.", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var maxSize: Int64?

    @Option(
        help: ArgumentHelp("With --shards: fail rows with smaller contents.", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var minSize: Int64?

    @Option(
        help: ArgumentHelp(
            "With --shards: fail rows of other media types, such as 'image/*'; separated by commas.",
            valueName: "types"
        )
    )
    var types: String?

    @Flag(
        help: ArgumentHelp(
            "Print the counts of the rows to standard output: a JSON line per second, and one at the end.",
            discussion: "They are the event 'counts' of --json."
        )
    )
    var counts = false

    /// Whether a table is to be read.
    var isGiven: Bool { self.manifest != nil || self.retryFrom != nil }
}
