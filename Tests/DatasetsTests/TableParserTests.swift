// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite struct TableParserTests {
    /// Parses a table that arrives in chunks of a size.
    static func parse(_ text: [UInt8], _ parser: TableParser, chunk: Int = 1 << 20) throws -> [TableItem] {
        var parser = parser
        var items: [TableItem] = []
        var start = 0
        while start < text.count {
            let end = min(start + chunk, text.count)
            items += try parser.take(text[start..<end])
            start = end
        }
        return items + (try parser.finish())
    }

    /// The rows of a table, and the error after them.
    static func outcome(
        _ text: [UInt8],
        _ parser: TableParser,
        chunk: Int = 1 << 20
    ) -> (items: [TableItem], error: SyntaxError?) {
        var parser = parser
        var items: [TableItem] = []
        do throws(SyntaxError) {
            for start in stride(from: 0, to: text.count, by: chunk) {
                items += try parser.take(text[start..<min(start + chunk, text.count)])
            }
            items += try parser.finish()
        } catch {
            return (items, error)
        }
        return (items, nil)
    }

    static func parse(_ text: String, _ format: TableFormat) throws -> [TableItem] {
        try self.parse(Array(text.utf8), TableParser(format))
    }

    @Test func jsonLinesKeepTheTypesOfOtherColumns() throws {
        let text = """
            {"width":640,"url":"http://h/1","ratio":1.50,"tags":["a",{"b":null}],"key":17}

            {"url":"http://h/2","name":"d/2.jpg","checksum":"sha1:\(String(repeating: "0a", count: 20))","ok":true}
            """
        let items = try Self.parse(text, .jsonl)
        let checksum = ExpectedDigest(
            algorithm: .sha1,
            bytes: [UInt8](repeating: 10, count: 20),
            source: "the table"
        )
        #expect(
            items == [
                .row(
                    DatasetRow(
                        number: 0,
                        key: "17",
                        url: "http://h/1",
                        others: [
                            .init("width", 640), .init("ratio", .literal("1.50")),
                            .init("tags", ["a", ["b": .null]]),
                        ]
                    ),
                    line: 1
                ),
                .row(
                    DatasetRow(
                        number: 1,
                        url: "http://h/2",
                        name: "d/2.jpg",
                        checksum: checksum,
                        others: [.init("ok", true)]
                    ),
                    line: 3
                ),
            ]
        )
    }

    @Test func quotedFieldsHaveSeparatorsLineEndsAndQuotationMarks() throws {
        let text =
            "\u{FEFF}url,caption,key\r\n"
            + "http://h/1,\"a, \"\"b\"\"\r\nc\",one\r\n\r\nhttp://h/2,,\nhttp://h/3,x\"y,\"\""
        let items = try Self.parse(text, .csv)
        #expect(
            items == [
                .row(
                    DatasetRow(
                        number: 0,
                        key: "one",
                        url: "http://h/1",
                        others: [.init("caption", "a, \"b\"\r\nc")]
                    ),
                    line: 2
                ),
                .row(DatasetRow(number: 1, url: "http://h/2", others: [.init("caption", "")]), line: 5),
                .row(DatasetRow(number: 2, url: "http://h/3", others: [.init("caption", "x\"y")]), line: 6),
            ]
        )
    }

    @Test func tabsSeparateTheColumnsOfTSV() throws {
        let items = try Self.parse("key\turl\na,b\thttp://h/,1\n", .tsv)
        #expect(items == [.row(DatasetRow(number: 0, key: "a,b", url: "http://h/,1"), line: 2)])
    }

    @Test func aBadRowIsOneRowAndDoesNotAffectOthers() throws {
        let lines = [
            "[1]", "{", "{\"url\":5.5}", "{\"key\":\"k\"}", "{\"url\":\"http://h/\",\"checksum\":\"md5:12\"}",
            "{\"url\":\"http://h/\"}",
        ]
        let items = try Self.parse(lines.joined(separator: "\n"), .jsonl)
        #expect(items.count == lines.count)
        for (index, item) in items.enumerated() {
            switch item {
            case .fault(let row, let line, let message):
                #expect(index < 5 && row.number == Int64(index) && line == Int64(index + 1) && !message.isEmpty)
            case .row(let row, _): #expect(index == 5 && row.number == 5)
            }
        }
    }

    @Test func aRowOfADelimitedTableWithTooFewColumnsIsBad() throws {
        let items = try Self.parse("url,a\nhttp://h/1\nhttp://h/2,x\n", .csv)
        guard case .fault(let row, 2, _) = items.first else {
            Issue.record("\(items)")
            return
        }
        #expect(row.url == "http://h/1" && items.count == 2)
    }

    @Test func aHeaderWithoutURLIsAnError() {
        #expect(throws: SyntaxError.self) { try Self.parse("link,key\nhttp://h/,1\n", .csv) }
        #expect(throws: SyntaxError.self) { try Self.parse("url,url\nhttp://h/,1\n", .csv) }
    }

    @Test(arguments: [TableFormat.jsonl, .csv])
    func aRowThatIsTooLongIsBadAndTheNextOneIsRead(_ format: TableFormat) throws {
        let long = String(repeating: "x", count: 500)
        let text =
            format == .csv
            ? "url,a\nhttp://h/1,\(long)\nhttp://h/2,b\n"
            : "{\"url\":\"\(long)\"}\n{\"url\":\"http://h/2\"}\n"
        let items = try Self.parse(Array(text.utf8), TableParser(format, rowLimit: 100), chunk: 7)
        #expect(items.count == 2)
        guard case .fault? = items.first, case .row(let row, _)? = items.last else {
            Issue.record("\(items)")
            return
        }
        #expect(row.url == "http://h/2" && row.number == 1)
    }

    @Test func theSizeOfChunksDoesNotMatter() throws {
        let csv = "\u{FEFF}url,caption\r\nhttp://h/1,\"a\r\n\"\"b\"\r\n\nhttp://h/2,é\nhttp://h/3,\"open"
        let json = "\u{FEFF}{\"url\":\"http://h/é\"}\r\n\n[]\n{\"url\":\"http://h/2\"}"
        let long = "{\"url\":\"\(String(repeating: "x", count: 200))\"}\r\n{\"url\":\"http://h/2\"}\r\n"
        for (text, format) in [(csv, TableFormat.csv), (json, .jsonl), (long, .jsonl)] {
            let whole = Self.outcome(Array(text.utf8), TableParser(format, rowLimit: 100))
            #expect(whole.items.count > 1)
            for chunk in 1...9 {
                #expect(Self.outcome(Array(text.utf8), TableParser(format, rowLimit: 100), chunk: chunk) == whole)
            }
        }
    }

    // MARK: Rows whose ends are unknown

    /// The line of the quotation mark, and tables of which every row after it would be lost.
    @Test(arguments: [
        "url,a\nhttp://h/1,b\nhttp://h/2,\"open\nhttp://h/3,c\nhttp://h/4,d\n",
        "url,a\nhttp://h/1,b\nhttp://h/2,\"open\nhttp://h/3,c\nhttp://h/4,\"d\"\nhttp://h/5,e\n",
        "url,a\nhttp://h/1,b\nhttp://h/2,\"\(String(repeating: "open\n", count: 100))http://h/3,\"\n",
        "url,a\r\nhttp://h/1,b\r\nhttp://h/2,\"open\r\nhttp://h/3,c\r\nhttp://h/4,\"d\"\r\n",
    ])
    func aQuotationMarkThatIsNotClosedEndsTheTableAndItsLineIsNamed(_ text: String) {
        for chunk in [1, 7, 1 << 20] {
            let (items, error) = Self.outcome(Array(text.utf8), TableParser(.csv, rowLimit: 200), chunk: chunk)
            #expect(items == [.row(DatasetRow(number: 0, url: "http://h/1", others: [.init("a", "b")]), line: 2)])
            #expect(error?.message.hasPrefix("line 3: the quotation mark") == true, "\(error as Any)")
        }
    }

    @Test func textAfterAClosingQuotationMarkInTheSameLineIsPartOfTheField() throws {
        let items = try Self.parse("url,a\nhttp://h/1,\"b\" c\nhttp://h/2,\"d\"\n", .csv)
        let others = items.compactMap { item in if case .row(let row, _) = item { row.others } else { nil } }
        #expect(others == [[.init("a", "b c")], [.init("a", "d")]])
    }

    @Test(arguments: [
        (TableFormat.csv, "key,url,a\r1,http://h/1,x\r2,http://h/2,y\r", 1),
        (.csv, "url,a\nhttp://h/1,b\nhttp://h/2,c\rhttp://h/3,d\r\n", 3),
        (.csv, "\"url\",\"a\"\r\"http://h/1\",\"b\"\r", 1),
        (.tsv, "url\ta\r" + String(repeating: "http://h/1\tb\r", count: 100), 1),
        (.jsonl, "{\"url\":\"http://h/1\"}\r{\"url\":\"http://h/2\"}\r", 1),
        (.jsonl, "{\"url\":\"http://h/1\"}\n" + String(repeating: "{\"url\":\"http://h/2\"}\r", count: 100), 2),
    ])
    func linesThatEndWithCRAloneAreAnError(_ format: TableFormat, _ text: String, _ line: Int) {
        for chunk in [1, 7, 1 << 20] {
            let (items, error) = Self.outcome(Array(text.utf8), TableParser(format, rowLimit: 200), chunk: chunk)
            #expect(items.count == max(0, line - (format == .jsonl ? 1 : 2)))
            #expect(error?.message.hasPrefix("line \(line): lines end with CR alone") == true, "\(error as Any)")
        }
    }

    @Test func aCRWithinARowIsData() throws {
        let csv = try Self.parse("url,a\nhttp://h/1,b\rc\r\nhttp://h/2,\"\r\"\r\n", .csv)
        let others = csv.compactMap { item in if case .row(let row, _) = item { row.others } else { nil } }
        #expect(others == [[.init("a", "b\rc")], [.init("a", "\r")]])
        // A damaged line is one bad row.
        let json = try Self.parse("{\"url\":\"http://h/1\rx\n{\"url\":\r\"http://h/2\"}\r\n\r\n", .jsonl)
        guard json.count == 2, case .fault = json[0], case .row = json[1] else {
            Issue.record("\(json)")
            return
        }
    }

    @Test func aTableWithoutAHeaderIsAnError() {
        #expect(throws: SyntaxError.self) { try Self.parse("", .csv) }
        #expect(throws: SyntaxError.self) { try Self.parse("\n\n", .tsv) }
        #expect(throws: Never.self) { try Self.parse("url\n", .csv) }
        #expect(throws: Never.self) { try Self.parse("\n", .jsonl) }
    }

    // MARK: Names of columns

    @Test func columnsWithAMeaningMayHaveOtherNames() throws {
        var columns = TableColumns()
        let results = [
            columns.set(.url, to: "URL"), columns.set(.key, to: "ID"), columns.set(.key, to: "other"),
            columns.set(.name, to: "ID"),
        ]
        #expect(results == [true, true, false, false])
        let expected = TableItem.row(
            DatasetRow(
                number: 0,
                key: "7",
                url: "http://h/1",
                name: "a.jpg",
                others: [.init("url", "page"), .init("key", "k")]
            ),
            line: 2
        )
        let csv = Array("URL,url,ID,key,name\nhttp://h/1,page,7,k,a.jpg\n".utf8)
        #expect(Self.outcome(csv, TableParser(.csv, columns: columns)) == ([expected], nil as SyntaxError?))
        let json = Array(#"\#n{"URL":"http://h/1","url":"page","ID":7,"key":"k","name":"a.jpg"}"#.utf8)
        #expect(Self.outcome(json, TableParser(.jsonl, columns: columns)) == ([expected], nil as SyntaxError?))
    }

    @Test func aNamedColumnMustExist() throws {
        var columns = TableColumns()
        let isSet = columns.set(.key, to: "ID")
        #expect(isSet)
        let (items, error) = Self.outcome(Array("url,id\nhttp://h/,1\n".utf8), TableParser(.csv, columns: columns))
        #expect(items.isEmpty && error?.message.contains("no column `ID`, but url, id") == true)
        let missing = Self.outcome(Array("URL,TEXT\nhttp://h/,1\n".utf8), TableParser(.csv)).error
        #expect(missing?.message.contains("--url-column NAME") == true)
    }

    /// Random bytes: whatever the table has, the parser ends, and numbers its rows without gaps.
    @Test(arguments: 0..<200)
    func anyBytesAreRowsOrBadRows(_ seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let alphabet = Array("\"\",\t\r\n{}:[]\\ux0url\u{FEFF}é".utf8) + [0, 0xFF]
        let bytes = (0..<Int.random(in: 0...400, using: &random))
            .map { _ in
                alphabet.randomElement(using: &random) ?? 0
            }
        for format in TableFormat.allCases {
            let header = format == .jsonl ? [] : Array("url\n".utf8)
            let (items, error) = Self.outcome(header + bytes, TableParser(format, rowLimit: 64), chunk: 5)
            // Rows before an error are never lost, however they arrive.
            #expect((items, error) == Self.outcome(header + bytes, TableParser(format, rowLimit: 64)))
            for (index, item) in items.enumerated() {
                switch item {
                case .row(let row, _), .fault(let row, _, _): #expect(row.number == Int64(index))
                }
            }
        }
    }

    @Test func theFormatFollowsFromTheName() {
        #expect(TableFormat(fileName: "a/b.JSONL.gz") == .jsonl)
        #expect(TableFormat(fileName: "b.csv") == .csv)
        #expect(TableFormat(fileName: "b.tsv.gz") == .tsv)
        #expect(TableFormat(fileName: "b.parquet") == nil)
        #expect(TableFormat(fileName: "-") == nil)
    }
}

@Suite("A report from which nothing is fetched")
struct ReportedRowsTests {
    private func reason(_ lines: [String], allFailed: Bool = false) throws -> String? {
        var parser = TableParser(reportWithAllFailed: allFailed)
        _ = try parser.take(Array(lines.map { $0 + "\n" }.joined().utf8)[...])
        _ = try parser.finish()
        return parser.reportedRows?.reasonForNone
    }

    private let done = #"{"row":0,"url":"http://h/a","error_code":null,"retryable":null}"#
    private let permanent = #"{"row":1,"url":"http://h/b","error_code":"not-found","retryable":false}"#
    private let retryable = #"{"row":2,"url":"http://h/c","error_code":"timeout","retryable":true}"#

    @Test("has no rows, no failures, or none that is retryable")
    func reasons() throws {
        #expect(try self.reason([]) == "it has no rows")
        #expect(try self.reason([self.done]) == "none of its rows failed (1 in all)")
        #expect(
            try self.reason([self.done, self.permanent])
                == "none of its failed rows is retryable (1 of 2); fetch them with --retry-all-failed"
        )
        #expect(try self.reason([self.permanent], allFailed: true) == nil)
        #expect(try self.reason([self.done, self.retryable, self.permanent]) == nil)
        // A line that cannot be read is reported as such.
        #expect(try self.reason(["no JSON"]) == nil)
        #expect(TableParser(.csv).reportedRows == nil)
    }
}
