// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite("Samples at the end of a shard that its report does not name")
struct ShardLeftoversTests {
    private let directory: TemporaryDirectory
    private let reportPath: String
    private let places: [ReportedSample]
    private let whole: [UInt8]

    /// Writes a shard with three samples, of which the last one has a long name and the second one no content.
    init() throws {
        self.directory = try TemporaryDirectory()
        self.reportPath = self.directory.path("report.jsonl")
        let contents: [[UInt8]] = [Array(repeating: 1, count: 700), [], Array(repeating: 3, count: 1024)]
        var places: [ReportedSample] = []
        let writer = try ShardWriter(
            directory: self.directory.path,
            limits: ShardLimits(),
            owner: ShardReport(path: self.reportPath, id: "1", shards: [])
        ) { (_) throws(StorageError) in }
        for (row, content) in contents.enumerated() {
            let sample = DatasetSample(
                row: DatasetRow(
                    number: Int64(row),
                    key: row == 2 ? String(repeating: "é", count: 90) : nil,
                    url: "http://h/",
                    others: []
                ),
                content: .bytes(content),
                mediaType: "image/jpeg",
                metadata: []
            )
            let place = try writer.append(sample)
            places.append(try Self.sample(place.shard, place.offset, content.count))
        }
        try writer.finish()
        self.places = places
        self.whole = try self.directory.read("00000.tar")
    }

    private static func line(_ shard: String, _ offset: Int64, _ length: Int) -> String {
        #"{"key":"k","row":\#(offset),"error_code":null,"bytes":\#(length),"shard":"\#(shard)","offset":\#(offset)}"#
    }

    private static func sample(_ shard: String, _ offset: Int64, _ length: Int) throws -> ReportedSample {
        try #require(ReportedSample(Array(Self.line(shard, offset, length).utf8)[...]))
    }

    /// Opens the directory again with a report that names these samples.
    private func open(_ named: [ReportedSample]) throws -> ShardLeftovers {
        let lines = named.map { Self.line($0.shard, $0.offset, Int($0.length)) + "\n" }
        try self.directory.write(Array(lines.joined().utf8), to: "report.jsonl")
        let owner = ShardReport(
            path: self.reportPath,
            id: "1",
            shards: Set(named.map(\.shard)),
            lastSample: named.last
        )
        let writer = try ShardWriter(directory: self.directory.path, limits: ShardLimits(), owner: owner) {
            (_) throws(StorageError) in
        }
        return writer.leftovers
    }

    @Test("They are removed, and the rest is a whole archive", arguments: [1, 2])
    func removed(count: Int) throws {
        let named = Array(self.places.prefix(count))
        #expect(try self.open(named).shortened == self.directory.path("00000.tar"))
        let rest = try self.directory.read("00000.tar")
        let end = rest.count - TarFormat.end.count
        #expect(Array(rest[..<end]) == Array(self.whole[..<end]) && Array(rest[end...]) == TarFormat.end)
        #expect(try PlainTar.members(of: rest).count == 2 * count)
        #expect(try self.open(named).shortened == nil)
    }

    @Test("Nothing changes if all are named, in any order")
    func named() throws {
        for named in [self.places, self.places.reversed(), [self.places[2]]] {
            #expect(try self.open(named).shortened == nil)
            #expect(try self.directory.read("00000.tar") == self.whole)
        }
    }

    @Test("A run that is killed while it removes them is continued by the next one")
    func killed() throws {
        let named = Array(self.places.prefix(1))
        #expect(try self.open(named).shortened != nil)
        let shortened = try self.directory.read("00000.tar")
        // The end was written, but the length not yet changed.
        try self.directory.write(shortened + Array(self.whole[shortened.count...]), to: "00000.tar")
        #expect(try self.open(named).shortened != nil)
        #expect(try self.directory.read("00000.tar") == shortened)
    }

    @Test("An archive that another program has changed is left alone")
    func changed() throws {
        var other = self.whole
        let row = Int(self.places[0].end)
        other[row + 10] ^= 1
        try self.directory.write(other, to: "00000.tar")
        #expect(try self.open(Array(self.places.prefix(1))).shortened == nil)
        #expect(try self.directory.read("00000.tar") == other)
        let named = Array(self.places.prefix(1))
        unlink(self.directory.path("00000.tar"))
        #expect(try self.open(named).shortened == nil)
    }

    @Test(
        "Lines without a place have no sample",
        arguments: [
            "", "{", "{}", #"{"shard":"a","offset":-1,"bytes":1}"#, #"{"shard":"a","offset":1,"bytes":-1}"#,
            #"{"shard":"a","offset":1}"#, #"{"shard":"a","offset":9223372036854775807,"bytes":9223372036854775807}"#,
        ]
    )
    func lines(text: String) { #expect(ReportedSample(Array(text.utf8)[...]) == nil) }
}
