// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The columns of a report.
package enum ReportColumns {
    /// The names of all columns that a report can add to those of the table.
    ///
    /// `name` and `checksum` are the table's, too.
    package static let names: Set<String> = Set(
        [
            "key", "row", "url", "final_url", "status", "error_code", "message", "retryable", "attempts", "bytes",
            "etag", "last_modified", "started", "ended", "name", "checksum", "shard", "offset",
        ] + DigestAlgorithm.allCases.map(\.rawValue)
    )

    /// The name in the report of a column that is passed through.
    ///
    /// A name that the report uses itself gets an underscore, so that both values are kept.
    package static func passedThrough(_ name: String) -> String { Self.names.contains(name) ? name + "_" : name }
}
