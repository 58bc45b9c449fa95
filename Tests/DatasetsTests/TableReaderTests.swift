// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite struct TableReaderTests {
    /// `printf '{"url":"http://h/1"}\n' | gzip -n`, then the same for `http://h/2`: two members.
    static let members: [[UInt8]] = [
        Base64.decode("H4sIAAAAAAACA6tWKi3KUbJSyigpKbDS18/QN1Sq5QIAd3KxWxUAAAA=".utf8) ?? [],
        Base64.decode("H4sIAAAAAAACA6tWKi3KUbJSyigpKbDS18/QN1Kq5QIAmd0ESRUAAAA=".utf8) ?? [],
    ]

    private func read(_ bytes: [UInt8], _ parser: TableParser = TableParser(.jsonl)) throws -> [TableItem] {
        let (items, error) = try self.outcome(bytes, parser)
        if let error { throw error }
        return items
    }

    /// The rows, and the error after them.
    private func outcome(
        _ bytes: [UInt8],
        _ parser: TableParser = TableParser(.jsonl)
    ) throws -> (items: [TableItem], error: SyntaxError?) {
        let directory = try TemporaryDirectory()
        try directory.write(bytes, to: "table")
        let file = try TableReader.open(directory.path("table"))
        var reader = TableReader(file, parser)
        var items: [TableItem] = []
        do throws(SyntaxError) {
            while let more = try reader.next() { items += more }
        } catch {
            return (items, error)
        }
        return (items, nil)
    }

    private func urls(_ items: [TableItem]) -> [String] {
        items.map { item in
            switch item {
            case .row(let row, _), .fault(let row, _, _): row.url
            }
        }
    }

    @Test func membersOfGzipAreOneTable() throws {
        #expect(self.urls(try self.read(Self.members[0] + Self.members[1])) == ["http://h/1", "http://h/2"])
    }

    @Test func zerosAfterTheLastMemberArePadding() throws {
        #expect(self.urls(try self.read(Self.members[0] + [0, 0, 0])) == ["http://h/1"])
    }

    @Test func aGzipTableThatIsCutShortIsAnError() throws {
        let bytes = Self.members[0] + Self.members[1]
        for count in [3, 12, Self.members[0].count + 5, bytes.count - 1] {
            #expect(throws: SyntaxError.self) { try self.read(Array(bytes[..<count])) }
        }
    }

    @Test func damagedGzipIsAnError() throws {
        var bytes = Self.members[0]
        bytes[bytes.count - 6] ^= 1
        #expect(throws: SyntaxError.self) { try self.read(bytes) }
        #expect(throws: SyntaxError.self) { try self.read(Self.members[0] + [1]) }
    }

    @Test func rowsBeforeDamagedDataAreRead() throws {
        let (items, error) = try self.outcome(Self.members[0] + Self.members[1].dropLast(12) + [0, 0, 0])
        #expect(self.urls(items).first == "http://h/1" && error != nil)
    }

    /// An empty pipe is that of a program that has failed.
    @Test func aTableWithoutAByteIsAnErrorAndOneWithoutARowIsNot() throws {
        #expect(throws: SyntaxError.self) { try self.read([]) }
        #expect(try self.read([0x0A]).isEmpty)
        #expect(try self.read(Array("url\n".utf8), TableParser(.csv)).isEmpty)
        #expect(try self.read([], TableParser(reportWithAllFailed: false)).isEmpty)
    }

    @Test func theNameOfAMissingTableIsInTheMessage() {
        do throws(SyntaxError) {
            _ = try TableReader.open("/nonexistent/urls.csv")
            Issue.record("it was opened")
        } catch {
            #expect(error.message.contains("'/nonexistent/urls.csv'"))
        }
    }

    @Test(arguments: ForeignFormat.allCases)
    func formatsThatAreNotReadAreNamedWithWhatToCall(_ format: ForeignFormat) throws {
        let beginnings: [ForeignFormat: [UInt8]] = [
            .parquet: Array("PAR1".utf8), .arrow: Array("ARROW1".utf8), .zstandard: [0x28, 0xB5, 0x2F, 0xFD],
            .xz: [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], .bzip2: Array("BZh91".utf8), .zip: [0x50, 0x4B, 3, 4],
        ]
        let start = try #require(beginnings[format])
        let (items, error) = try self.outcome(start + [UInt8](repeating: 7, count: 100), TableParser(.csv))
        #expect(items.isEmpty && error?.message == format.advice)
        let instead = [.parquet, .arrow].contains(format) ? "martlet.fetch(" : "| martlet get --manifest -"
        #expect(format.advice.contains(instead))
    }
}
