// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import Files
internal import Platform
package import TransferCore

/// The origin of a report: its table and the options that its lines depend on.
///
/// It is in a file next to the report, `REPORT.origin`, so that a run that continues the report with another table, whose
/// rows have other numbers, is refused.
package struct ReportOrigin: Sendable, Equatable {
    /// A random text that identifies the report; files that are fetched for it carry it in their marks.
    package var id: String
    /// The values that must be equal for the report to be continued, by name.
    package var terms: [JSON.Member]

    package init(id: String, terms: [JSON.Member]) {
        self.id = id
        self.terms = terms
    }

    package static func path(of report: String) -> String { report + ".origin" }

    private static let format = "martlet-report-origin"

    /// Reads the origin of a report; `nil` if it has none.
    ///
    /// - Throws: `StorageError` if it cannot be read or is damaged.
    package static func read(of report: String) throws(StorageError) -> ReportOrigin? {
        let path = Self.path(of: report)
        guard let bytes = try AtomicFile.read(path, atMost: 1 << 20) else { return nil }
        guard let json = try? JSON(parsing: bytes), json["format"]?.string == Self.format,
            let id = json["id"]?.string, let terms = json["terms"]?.object
        else {
            throw StorageError(.badJournal, "'\(path)' is damaged; move it away together with its report")
        }
        return ReportOrigin(id: id, terms: terms)
    }

    /// Writes the origin of a report durably.
    package func write(of report: String) throws(StorageError) {
        let json = JSON.object([
            JSON.Member("format", .string(Self.format)), JSON.Member("id", .string(self.id)),
            JSON.Member("terms", .object(self.terms)),
        ])
        try AtomicFile.replace(Self.path(of: report), with: json.bytes + [0x0A], mode: 0o644)
    }

    /// The first term in which another run differs, with both values, or `nil`.
    package func difference(from terms: [JSON.Member]) -> (name: String, recorded: JSON, given: JSON)? {
        let names = self.terms.map(\.name) + terms.map(\.name)
        for name in names {
            let recorded = JSON.object(self.terms)[name] ?? .null
            let given = JSON.object(terms)[name] ?? .null
            if recorded != given { return (name, recorded, given) }
        }
        return nil
    }
}

extension ReportOrigin {
    /// The bytes of a table by which it is recognized.
    private static let prefix = 64 << 10

    /// The terms by which a table is recognized: its length and the digest of its first 64 KiB.
    ///
    /// Of standard input and of a pipe nothing is known.
    ///
    /// - Throws: `StorageError` if a regular file cannot be read: a report that was begun without its terms could not be
    ///   continued with them.
    package static func terms(
        ofTable file: FileDescriptor,
        named name: String
    ) throws(StorageError) -> [JSON.Member] {
        guard let status = file.status() else { throw self.cannotRead(name, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { return [] }
        var bytes = [UInt8](repeating: 0, count: self.prefix)
        let count = bytes.withUnsafeMutableBytes { file.read(into: $0, at: 0) }
        guard count >= 0 else { throw self.cannotRead(name, Int32(-count)) }
        return [
            JSON.Member("table-bytes", .integer(Int64(status.st_size))),
            JSON.Member("table-beginning", .string(Hexadecimal.encode(Array(SHA256.hash(data: bytes[..<count]))))),
        ]
    }

    private static func cannotRead(_ name: String, _ number: Int32) -> StorageError {
        StorageError(errno: number, otherwise: .inputOutput, "cannot read the table", name)
    }
}
