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

    private func read(_ bytes: [UInt8]) throws -> [TableItem] {
        let directory = try TemporaryDirectory()
        try directory.write(bytes, to: "table")
        let file = try TableReader.open(directory.path("table"))
        var reader = TableReader(file, TableParser(.jsonl))
        var items: [TableItem] = []
        while let more = try reader.next() { items += more }
        return items
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
            #expect(throws: TableError.self) { try self.read(Array(bytes[..<count])) }
        }
    }

    @Test func damagedGzipIsAnError() throws {
        var bytes = Self.members[0]
        bytes[bytes.count - 6] ^= 1
        #expect(throws: TableError.self) { try self.read(bytes) }
        #expect(throws: TableError.self) { try self.read(Self.members[0] + [1]) }
    }

    @Test func aTableMayBeEmpty() throws {
        #expect(try self.read([]).isEmpty)
        #expect(try self.read([0x0A]).isEmpty)
    }
}
