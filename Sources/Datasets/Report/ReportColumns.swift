// SPDX-License-Identifier: Apache-2.0
package import TransferCore

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

    /// The columns that are passed through, with their names in the report.
    ///
    /// A name that the report uses itself gets underscores until it is neither the report's nor that of another column,
    /// so that all values are kept.
    package static func passedThrough(_ columns: [JSON.Member]) -> [JSON.Member] {
        guard columns.contains(where: { Self.names.contains($0.name) }) else { return columns }
        var others = Set(columns.map(\.name))
        return columns.map { column in
            guard Self.names.contains(column.name) else { return column }
            var name = column.name
            repeat { name += "_" } while Self.names.contains(name) || !others.insert(name).inserted
            return JSON.Member(name, column.value)
        }
    }
}
