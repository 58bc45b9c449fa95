// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The table of a run, and its options.
package struct DatasetOrder: Sendable {
    /// The shards to write.
    package struct Shards: Sendable, Equatable {
        /// Their directory.
        package var directory: String
        /// When one is complete.
        package var limits: ShardLimits

        package init(directory: String, limits: ShardLimits) {
            self.directory = directory
            self.limits = limits
        }
    }

    /// The path of the table, or `-` for standard input.
    package var table: String
    /// The parser of its format.
    package var parser: TableParser
    /// Whether the table is a report, whose failed rows are fetched.
    package var isRetry = false
    /// The path of the report, or `nil` for none.
    package var report: String?
    /// The directory of the files, or `nil` if there are none.
    package var directory: String?
    /// The shards, or `nil` to write files.
    package var shards: Shards?
    /// The contents that are wanted.
    package var filter = SampleFilter()
    /// The algorithm of the reported digests.
    package var algorithm = DigestAlgorithm.sha256
    /// The maximum number of concurrent fetches.
    package var fetches = 5
    /// The options on which the lines of the report depend, by name, for ``ReportOrigin``.
    package var terms: [JSON.Member] = []

    package init(table: String, parser: TableParser) {
        self.table = table
        self.parser = parser
    }
}
