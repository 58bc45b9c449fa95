// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Parses a table of URLs: bytes in, rows out.
///
/// Pure value: it consumes chunks of any size, and holds at most one row. A row that cannot be used does not affect
/// others.
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

    /// Creates a parser of a table.
    package init(_ format: TableFormat, rowLimit: Int = Self.rowLimit) {
        switch format {
        case .jsonl: self.splitter = .lines(LineSplitter(limit: rowLimit))
        case .csv: self.splitter = .delimited(DelimitedSplitter(separator: 0x2C, limit: rowLimit))
        case .tsv: self.splitter = .delimited(DelimitedSplitter(separator: 0x09, limit: rowLimit))
        }
        self.reader = RowReader(source: .table)
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

    /// Consumes a chunk.
    ///
    /// - Returns: The rows that it completes.
    /// - Throws: ``TableError`` if the header has no column `url`.
    package mutating func take(_ chunk: ArraySlice<UInt8>) throws(TableError) -> [TableItem] {
        var chunk = chunk
        self.skipByteOrderMark(&chunk)
        var items: [TableItem] = []
        switch self.splitter {
        case .lines(var lines):
            self.splitter = .lines(LineSplitter(limit: 0))
            defer { self.splitter = .lines(lines) }
            lines.split(chunk) { self.take($0, $1, &items) }
        case .delimited(var records):
            self.splitter = .lines(LineSplitter(limit: 0))
            defer { self.splitter = .delimited(records) }
            try records.split(chunk) { (record, line) throws(TableError) in try self.take(record, line, &items) }
        }
        return items
    }

    /// Completes the last row.
    ///
    /// - Throws: ``TableError`` as ``take(_:)``.
    package mutating func finish() throws(TableError) -> [TableItem] {
        var items: [TableItem] = []
        switch self.splitter {
        // The incomplete last line of a report is one that a crash interrupted.
        case .lines(var lines): if !self.isReport { lines.finish { self.take($0, $1, &items) } }
        case .delimited(var records):
            try records.finish { (record, line) throws(TableError) in try self.take(record, line, &items) }
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

    private mutating func take(_ line: LineSplitter.Line, _ number: Int64, _ items: inout [TableItem]) {
        var record = TableRecord(line: number, members: [])
        switch line {
        case .tooLong: record.fault = Self.tooLong
        case .text(let bytes):
            guard bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
            do throws(JSONError) {
                if let members = try JSON(parsing: bytes).object {
                    record.members = members
                } else {
                    record.fault = "the line is not a JSON object"
                }
            } catch {
                record.fault = "the line is not JSON: \(error.description)"
            }
        }
        if let item = self.reader.read(record) { items.append(item) }
    }

    // MARK: Delimited values

    private mutating func take(
        _ record: DelimitedSplitter.Record,
        _ line: Int64,
        _ items: inout [TableItem]
    ) throws(TableError) {
        var result = TableRecord(line: line, members: [])
        switch record {
        case .tooLong: result.fault = Self.tooLong
        case .unterminated: result.fault = "a quotation mark is not closed before the end of the table"
        case .fields(let fields):
            guard let header = self.header else { return try self.takeHeader(fields, line) }
            result.members = zip(header, fields).map { JSON.Member($0, .string($1)) }
            if fields.count != header.count {
                result.fault = "the row has \(fields.count) columns, but the header has \(header.count)"
            }
        }
        guard self.header != nil else { throw TableError("line \(line): the header cannot be read; it is too long") }
        if let item = self.reader.read(result) { items.append(item) }
    }

    private mutating func takeHeader(_ fields: [String], _ line: Int64) throws(TableError) {
        guard fields.contains("url") else {
            let names = fields.prefix(10).map { String($0.prefix(40)) }.joined(separator: ", ")
            throw TableError(
                "line \(line): the header has no column `url`, but \(names); name the columns in the first line"
            )
        }
        guard Set(fields).count == fields.count else {
            throw TableError("line \(line): two columns of the header have the same name; rename one")
        }
        self.header = fields
    }

    private static let tooLong = "the row is longer than \(Self.rowLimit >> 20) MiB"
}
