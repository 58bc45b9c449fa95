// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Parses a table of URLs: bytes in, rows out.
///
/// Pure value: it consumes chunks of any size, and holds at most one row. A row that cannot be used does not affect
/// others. If it cannot be known where a row ends, the table is not read any further, because rows would be lost that
/// nothing counts.
package struct TableParser: Sendable {
    /// The maximum size of a row in bytes.
    package static let rowLimit = 4 << 20

    private enum Splitter: Sendable {
        case lines(LineSplitter)
        case delimited(DelimitedSplitter)
    }

    private var splitter: Splitter
    private var reader: RowReader
    private let isReport: Bool
    /// The names of the columns, from the header line.
    private var header: [String]?
    /// The bytes of a byte order mark that were found so far; `nil` after the first other byte.
    private var mark: Int? = 0
    /// The error after the rows that were returned last.
    private var failure: SyntaxError?

    package init(_ format: TableFormat, columns: TableColumns = TableColumns(), rowLimit: Int = Self.rowLimit) {
        switch format {
        case .jsonl: self.splitter = .lines(LineSplitter(limit: rowLimit))
        case .csv: self.splitter = .delimited(DelimitedSplitter(separator: 0x2C, limit: rowLimit))
        case .tsv: self.splitter = .delimited(DelimitedSplitter(separator: 0x09, limit: rowLimit))
        }
        self.reader = RowReader(source: .table, columns: columns)
        self.isReport = false
    }

    /// Creates a parser of the failed rows of a report.
    ///
    /// - Parameter allFailed: Whether rows with permanent failures are included.
    package init(reportWithAllFailed allFailed: Bool) {
        self.splitter = .lines(LineSplitter(limit: Self.rowLimit))
        self.reader = RowReader(source: .report(allFailed: allFailed))
        self.isReport = true
    }

    /// The rows of a report so far; `nil` for another table.
    package var reportedRows: ReportedRows? { self.isReport ? self.reader.counts : nil }

    /// Whether a table without a byte is complete: a report is, before its first row has ended.
    package var mayBeEmpty: Bool { self.isReport }

    /// Consumes a chunk.
    ///
    /// - Returns: The rows that it completes.
    /// - Throws: ``SyntaxError`` if the header lacks a column, a quotation mark is not closed, or lines end with CR alone.
    ///   The rows before the error are returned first: then the next call throws it.
    package mutating func take(_ chunk: ArraySlice<UInt8>) throws(SyntaxError) -> [TableItem] {
        if let failure = self.failure { throw failure }
        var chunk = chunk
        self.skipByteOrderMark(&chunk)
        var items: [TableItem] = []
        do throws(SyntaxError) {
            switch self.splitter {
            case .lines(var lines):
                self.splitter = .lines(LineSplitter(limit: 0))
                defer { self.splitter = .lines(lines) }
                try lines.split(chunk) { (line, number) throws(SyntaxError) in try self.take(line, number, &items) }
            case .delimited(var records):
                self.splitter = .lines(LineSplitter(limit: 0))
                defer { self.splitter = .delimited(records) }
                try records.split(chunk) { (record, line) throws(SyntaxError) in try self.take(record, line, &items) }
            }
        } catch {
            self.failure = error
            if items.isEmpty { throw error }
        }
        return items
    }

    /// Completes the last row.
    ///
    /// - Throws: ``SyntaxError`` as ``take(_:)``, or if there is no header.
    package mutating func finish() throws(SyntaxError) -> [TableItem] {
        if let failure = self.failure { throw failure }
        var items: [TableItem] = []
        switch self.splitter {
        case .lines(var lines):
            // The incomplete last line of a report is one that a crash interrupted.
            guard !self.isReport else { break }
            try lines.finish { (line, number) throws(SyntaxError) in try self.take(line, number, &items) }
        case .delimited(var records):
            try records.finish { (record, line) throws(SyntaxError) in try self.take(record, line, &items) }
            guard self.header != nil else { throw SyntaxError("it has no header line, which names the columns") }
        }
        return items
    }

    private mutating func skipByteOrderMark(_ chunk: inout ArraySlice<UInt8>) {
        let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]
        while let found = self.mark, let byte = chunk.first {
            guard found < bytes.count, byte == bytes[found] else {
                self.mark = nil
                // The bytes were not a mark but the start of the table.
                if found < bytes.count, found > 0 { chunk = bytes[..<found] + chunk }
                return
            }
            self.mark = found + 1
            chunk = chunk.dropFirst()
        }
    }

    // MARK: JSON lines

    private mutating func take(
        _ line: LineSplitter.Line,
        _ number: Int64,
        _ items: inout [TableItem]
    ) throws(SyntaxError) {
        var record = TableRecord(line: number, members: [])
        switch line {
        case .tooLong(let hasReturns):
            if hasReturns { throw Self.onlyReturns(number) }
            record.fault = Self.tooLong
        case .text(let bytes):
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { return }
            do throws(SyntaxError) {
                if let members = try JSON(parsing: bytes).object {
                    record.members = members
                } else {
                    record.fault = "the line is not a JSON object"
                }
            } catch {
                if Self.isLines(bytes) { throw Self.onlyReturns(number) }
                record.fault = "the line is not JSON: \(error.description)"
            }
        }
        if let item = self.reader.read(record) { items.append(item) }
    }

    /// Whether CRs separate text of which some is a row.
    private static func isLines(_ bytes: ArraySlice<UInt8>) -> Bool {
        let pieces = bytes.split(separator: 0x0D)
        return pieces.count > 1 && pieces.contains { (try? JSON(parsing: $0))?.object != nil }
    }

    // MARK: Delimited values

    private mutating func take(
        _ record: DelimitedSplitter.Record,
        _ line: Int64,
        _ items: inout [TableItem]
    ) throws(SyntaxError) {
        var result = TableRecord(line: line, members: [])
        switch record {
        case .tooLong(let hasReturns):
            if hasReturns { throw Self.onlyReturns(line) }
            result.fault = Self.tooLong
        case .unclosed(let line):
            throw SyntaxError(
                "line \(line): the quotation mark at the start of a field is not closed; close it, or double it within "
                    + "quotation marks if it is text"
            )
        case .fields(let fields, let hasReturns):
            guard let header = self.header else {
                if hasReturns { throw Self.onlyReturns(line) }
                return try self.takeHeader(fields, line)
            }
            result.members = zip(header, fields).map { JSON.Member($0, .string($1)) }
            if fields.count != header.count {
                if hasReturns { throw Self.onlyReturns(line) }
                result.fault = "the row has \(fields.count) columns, but the header has \(header.count)"
            }
        }
        guard self.header != nil else { throw SyntaxError("line \(line): the header cannot be read; it is too long") }
        if let item = self.reader.read(result) { items.append(item) }
    }

    private mutating func takeHeader(_ fields: [String], _ line: Int64) throws(SyntaxError) {
        if let missing = self.reader.columns.required.first(where: { !fields.contains($0) }) {
            let names = fields.prefix(10).map { String($0.prefix(40)) }.joined(separator: ", ")
            let advice = missing == "url" ? "--url-column NAME says which one has the URLs" : "check its name"
            throw SyntaxError("line \(line): the header has no column `\(missing)`, but \(names); \(advice)")
        }
        guard Set(fields).count == fields.count else {
            throw SyntaxError("line \(line): two columns of the header have the same name; rename one")
        }
        self.header = fields
    }

    private static let tooLong = "the row is longer than \(Self.rowLimit >> 20) MiB"

    private static func onlyReturns(_ line: Int64) -> SyntaxError {
        SyntaxError("line \(line): lines end with CR alone; convert them with tr '\\r' '\\n'")
    }
}
