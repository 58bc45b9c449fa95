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
        #expect(throws: TableError.self) { try Self.parse("link,key\nhttp://h/,1\n", .csv) }
        #expect(throws: TableError.self) { try Self.parse("url,url\nhttp://h/,1\n", .csv) }
    }

    @Test(arguments: [TableFormat.jsonl, .csv])
    func aRowThatIsTooLongIsBadAndTheNextOneIsRead(_ format: TableFormat) throws {
        let long = String(repeating: "x", count: 500)
        let text =
            format == .csv
            ? "url,a\nhttp://h/1,\"\(long)\nhttp://h/2,b\n"
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
        for (text, format) in [(csv, TableFormat.csv), (json, .jsonl)] {
            let whole = try Self.parse(text, format)
            for chunk in 1...9 {
                #expect(try Self.parse(Array(text.utf8), TableParser(format), chunk: chunk) == whole)
            }
        }
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
            guard let items = try? Self.parse(header + bytes, TableParser(format, rowLimit: 64), chunk: 5) else {
                continue
            }
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
