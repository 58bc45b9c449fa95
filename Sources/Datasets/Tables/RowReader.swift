// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Gives the columns of a record their meaning.
struct RowReader {
    /// Whether the table is a report, of which the failed rows are read.
    enum Source: Equatable {
        case table
        /// A report: its rows keep their numbers, and its own columns are dropped.
        case report(allFailed: Bool)
    }

    /// The largest number of a row; the numbers of a report come from a file.
    static let largestNumber: Int64 = 1 << 40

    private let source: Source
    /// The columns with a meaning.
    let columns: TableColumns
    private var next: Int64 = 0
    /// The rows of a report so far.
    private(set) var counts = ReportedRows()

    init(source: Source, columns: TableColumns = TableColumns()) {
        self.source = source
        self.columns = columns
    }

    /// Reads a record; `nil` if it is not selected.
    mutating func read(_ record: TableRecord) -> TableItem? {
        let columns = Columns(record.members, self.columns, isReport: self.source != .table)
        let number: Int64
        switch self.source {
        case .table:
            number = self.next
            self.next += 1
        case .report(let allFailed):
            if record.fault == nil {
                self.counts.rows += 1
                if columns.hasFailed { self.counts.failed += 1 }
                guard columns.isSelected(allFailed) else { return nil }
            }
            self.counts.selected += 1
            guard record.fault == nil, let given = columns.row, given >= 0, given <= Self.largestNumber else {
                let row = DatasetRow(number: -1, url: "")
                return .fault(row, line: record.line, record.fault ?? "it is not a line of a report: `row` is missing")
            }
            number = given
        }
        let row = columns.row(number)
        if let fault = record.fault ?? columns.fault { return .fault(row, line: record.line, fault) }
        return .row(row, line: record.line)
    }
}

/// The counts of a report's rows, of which the failed ones are read.
package struct ReportedRows: Sendable, Equatable {
    package var rows: Int64 = 0
    package var failed: Int64 = 0
    /// The number of rows that were selected, those that cannot be read included.
    package var selected: Int64 = 0

    /// Creates counts of zero.
    package init() {}

    /// Why no row was selected; `nil` if one was.
    package var reasonForNone: String? {
        guard self.selected == 0 else { return nil }
        if self.rows == 0 { return "it has no rows" }
        if self.failed == 0 { return "none of its rows failed (\(self.rows) in all)" }
        return
            "none of its failed rows is retryable (\(self.failed) of \(self.rows)); fetch them with --retry-all-failed"
    }
}

/// The columns of one record.
private struct Columns {
    private var url: String?
    private var key: String?
    private var name: String?
    private var checksum: ExpectedDigest?
    private var unusableChecksum: String?
    private var others: [JSON.Member] = []
    /// Of a report: the row's number.
    private(set) var row: Int64?
    /// Of a report: whether the row failed, and whether another attempt may succeed.
    private(set) var hasFailed = false
    private var isRetryable = false
    private(set) var fault: String?

    init(_ members: [JSON.Member], _ columns: TableColumns, isReport: Bool) {
        for member in members {
            switch member.name {
            case columns.url: self.url = self.text(member)
            case columns.key: self.key = self.text(member)
            case columns.name: self.name = self.text(member)
            case columns.checksum: self.setChecksum(member)
            case "row" where isReport: self.row = member.value.integer
            case "error_code" where isReport: self.hasFailed = !member.value.isNull
            case "retryable" where isReport: self.isRetryable = member.value.bool == true
            case let name where isReport && ReportColumns.names.contains(name): break
            default: self.others.append(member)
            }
        }
        if self.url == nil { self.fail("the column `\(columns.url)` is missing or empty") }
    }

    func isSelected(_ allFailed: Bool) -> Bool { self.hasFailed && (allFailed || self.isRetryable) }

    func row(_ number: Int64) -> DatasetRow {
        var row = DatasetRow(
            number: number,
            key: self.key,
            url: self.url ?? "",
            name: self.name,
            checksum: self.checksum,
            others: self.others
        )
        row.unusableChecksum = self.unusableChecksum
        return row
    }

    /// The text of a column; `nil` if it is empty or null.
    private mutating func text(_ member: JSON.Member) -> String? {
        switch member.value {
        case .string(let text): return text.isEmpty ? nil : text
        case .integer(let number): return String(number)
        case .literal(let text): return text
        case .null: return nil
        case .bool, .number, .array, .object:
            self.fail("the column `\(member.name)` is not text")
            return nil
        }
    }

    private mutating func setChecksum(_ member: JSON.Member) {
        guard let text = self.text(member) else { return }
        do throws(SyntaxError) {
            self.checksum = try ExpectedDigest(columnValue: text)
        } catch {
            // Reported, so that a retry refuses the row again, and does not fetch it without a digest.
            self.unusableChecksum = text
            self.fail("the column `\(member.name)`: \(error.message)")
        }
    }

    private mutating func fail(_ reason: String) { if self.fault == nil { self.fault = reason } }
}

extension ExpectedDigest {
    /// Parses a value of the column `checksum`: `sha256:HEX` and similar forms, or the hexadecimal digits alone.
    ///
    /// - Throws: `SyntaxError`.
    package init(columnValue text: String) throws(SyntaxError) {
        let source = "the table"
        if !text.contains(":"), !text.contains("="), let bytes = Hexadecimal.decode(text.utf8),
            let algorithm = DigestAlgorithm.allCases.first(where: { $0.byteCount == bytes.count })
        {
            self.init(algorithm: algorithm, bytes: bytes, source: source)
        } else {
            try self.init(parsing: text, source: source)
        }
    }

    /// The digest as `sha256:HEX`.
    package var columnValue: String { "\(self.algorithm.rawValue):\(Hexadecimal.encode(self.bytes))" }
}
