// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Formats the lines of a report.
package struct ReportLine: Sendable {
    package var algorithm: DigestAlgorithm

    /// Creates a formatter.
    package init(_ algorithm: DigestAlgorithm) { self.algorithm = algorithm }

    /// The members of a row's line, without its place in a shard and the columns passed through.
    ///
    /// `key` and `row` are first: ``ReportScanner`` relies on it.
    package func members(_ row: DatasetRow, _ result: DatasetResult) -> [JSON.Member] {
        var members = [
            JSON.Member("key", .string(row.key)),
            JSON.Member("row", .integer(row.number)),
            JSON.Member("url", .string(row.url)),
            JSON.Member("final_url", .optional(result.finalURL)),
            JSON.Member("status", .optional(result.status.map(Int64.init))),
            JSON.Member("error_code", .optional(result.failure?.code)),
            JSON.Member("message", .optional(result.failure?.message)),
            JSON.Member("retryable", result.failure.map { .bool($0.isRetryable) } ?? .null),
            JSON.Member("attempts", .integer(Int64(result.attempts))),
            JSON.Member("bytes", .optional(result.bytes)),
            JSON.Member(self.algorithm.rawValue, .optional(result.digest.map { Hexadecimal.encode($0) })),
            JSON.Member("etag", .optional(result.etag)),
            JSON.Member("last_modified", .optional(result.lastModified)),
            JSON.Member("started", result.started.map(Self.seconds) ?? .null),
            JSON.Member("ended", Self.seconds(result.ended)),
        ]
        if let name = result.name ?? row.name { members.append(JSON.Member("name", .string(name))) }
        if let checksum = row.checksum?.columnValue ?? row.unusableChecksum {
            members.append(JSON.Member("checksum", .string(checksum)))
        }
        return members
    }

    /// The line of a row, with its line feed.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - result: Its result.
    ///   - place: The place of its content in a shard, or `nil`.
    /// - Returns: UTF-8 text.
    package func line(_ row: DatasetRow, _ result: DatasetResult, place: ShardPlace? = nil) -> [UInt8] {
        var members = self.members(row, result)
        if let place {
            members.append(JSON.Member("shard", .string(place.shard)))
            members.append(JSON.Member("offset", .integer(place.offset)))
        }
        members += ReportColumns.passedThrough(row.others)
        var line = JSON.object(members).bytes
        line.append(0x0A)
        return line
    }

    /// Seconds since 1970 with three decimals.
    private static func seconds(_ milliseconds: Int64) -> JSON {
        // A clock may be set to a time before 1970.
        let (seconds, rest) = max(0, milliseconds).quotientAndRemainder(dividingBy: 1000)
        if rest == 0 { return .integer(seconds) }
        let digits = String(rest)
        return .literal("\(seconds)." + String(repeating: "0", count: 3 - digits.utf8.count) + digits)
    }
}
