// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

/// A report in memory; fails on request.
final class ShardLedger: Sendable {
    private struct State {
        var shards: [ClosedShard] = []
        var failures = 0
    }

    private let state = Mutex(State())

    var shards: [ClosedShard] { self.state.withLock { $0.shards } }
    var names: Set<String> { Set(self.shards.map(\.name)) }

    func failNext(_ count: Int) { self.state.withLock { $0.failures = count } }

    func add(_ shard: ClosedShard) throws(StorageError) {
        try self.state.withLock { (state) throws(StorageError) in
            if state.failures > 0 {
                state.failures -= 1
                throw StorageError(.noSpace, "the report is full")
            }
            state.shards.append(shard)
        }
    }
}

@Suite struct ShardWriterTests {
    let directory: TemporaryDirectory
    let ledger = ShardLedger()

    init() throws { self.directory = try TemporaryDirectory() }

    private func writer(_ limits: ShardLimits = .init()) throws -> ShardWriter {
        let ledger = self.ledger
        let owner = ShardReport(path: "/nonexistent/report", id: "1", shards: ledger.names)
        return try ShardWriter(directory: self.directory.path, limits: limits, owner: owner) {
            (shard) throws(StorageError) in try ledger.add(shard)
        }
    }

    @Test func anIdleShardIsClosedAndTheNextSampleGetsAnother() throws {
        let now = Mutex<Int64>(0)
        let ledger = self.ledger
        let writer = try ShardWriter(
            directory: self.directory.path,
            limits: ShardLimits(idle: 1_000),
            owner: ShardReport(path: "/nonexistent/report", id: "1", shards: []),
            clock: { now.withLock { $0 } },
            report: { (shard) throws(StorageError) in try ledger.add(shard) }
        )
        #expect(try writer.closeIfIdle() == nil)
        try writer.append(self.sample(0, .bytes([1])))
        now.withLock { $0 = 400 }
        #expect(try writer.closeIfIdle() == 600)
        #expect(ledger.shards.isEmpty)
        now.withLock { $0 = 1_000 }
        #expect(try writer.closeIfIdle() == nil)
        #expect(ledger.shards.map(\.rows) == [[0]])
        try writer.append(self.sample(1, .bytes([2])))
        try writer.finish()
        #expect(ledger.shards.map(\.rows) == [[0], [1]])
        #expect(try writer.closeIfIdle() == nil)
    }

    @Test func anIdleShardThatCannotBeClosedIsAnErrorAndIsClosedByTheNextCall() throws {
        let ledger = self.ledger
        let now = Mutex<Int64>(0)
        let writer = try ShardWriter(
            directory: self.directory.path,
            limits: ShardLimits(idle: 1_000),
            owner: ShardReport(path: "/nonexistent/report", id: "1", shards: []),
            clock: { now.withLock { $0 } },
            report: { (shard) throws(StorageError) in try ledger.add(shard) }
        )
        try writer.append(self.sample(0, .bytes([1])))
        now.withLock { $0 = 2_000 }
        ledger.failNext(1)
        #expect(throws: StorageError.self) { try writer.closeIfIdle() }
        try writer.finish()
        #expect(ledger.shards.map(\.rows) == [[0]])
    }

    private func sample(_ row: Int64, _ content: SampleContent, key: String? = nil) -> DatasetSample {
        DatasetSample(
            row: DatasetRow(number: row, key: key, url: "http://h/\(row)", others: [.init("caption", "a \"cat\"")]),
            content: content,
            mediaType: "image/jpeg",
            metadata: [.init("bytes", .integer(content.length))]
        )
    }

    private func file(_ bytes: [UInt8], _ name: String) throws -> SampleContent {
        try self.directory.write(bytes, to: name)
        let file = FileDescriptor(open(self.directory.path(name), O_RDONLY | O_CLOEXEC))
        unlink(self.directory.path(name))
        return .file(file, length: Int64(bytes.count))
    }

    @Test func aSampleIsItsContentAndItsRowWithTheContentAtItsOffset() throws {
        let writer = try self.writer()
        let place = try writer.append(self.sample(5, .bytes([1, 2, 3]), key: "cats/1.jpg"))
        try writer.finish()
        let shard = try self.directory.read("00000.tar")
        let members = try PlainTar.members(of: shard)
        #expect(members.map(\.name) == ["cats%2F1%2Ejpg.jpg", "cats%2F1%2Ejpg.json"])
        #expect(members[0].content == [1, 2, 3])
        #expect(place == ShardPlace(shard: "00000.tar", offset: Int64(members[0].offset)))
        let text = #"{"key":"cats/1.jpg","url":"http://h/5","bytes":3,"media_type":"image/jpeg","caption":"a \"cat\""}"#
        #expect(String(decoding: members[1].content, as: UTF8.self) == text)
        #expect(self.ledger.shards == [ClosedShard(name: "00000.tar", rows: [5], size: Int64(shard.count))])
        #expect(self.directory.entries() == [".martlet-reports", ".martlet-shards", "00000.tar"])
    }

    @Test func aColumnDoesNotReplaceAMemberOfTheReport() throws {
        let row = DatasetRow(
            number: 0,
            key: "k",
            url: "http://h/",
            others: [.init("media_type", 1), .init("shard", 2), .init("bytes", 3), .init("license", 4)]
        )
        let sample = DatasetSample(
            row: row,
            content: .bytes([1]),
            mediaType: "image/png",
            metadata: [.init("key", "k"), .init("bytes", 1)]
        )
        let text = #"{"key":"k","url":"http://h/","bytes":1,"media_type":"image/png","media_type_":1,"shard_":2,"#
        #expect(String(decoding: sample.rowText, as: UTF8.self) == text + #""bytes_":3,"license":4}"#)
    }

    @Test func contentsOfAllSizesInMemoryAndInFilesAreWhole() throws {
        let writer = try self.writer(.init(bytes: 4 << 20, samples: 1000))
        let sizes = [
            0, 1, 511, 512, 513, 100_000, 256 << 10, (256 << 10) + 1, (1 << 20) - 1, 1 << 20, 3 << 20, 5 << 20,
        ]
        var expected: [(ShardPlace, [UInt8])] = []
        for (index, size) in (sizes + sizes).enumerated() {
            let bytes = TestPattern(seed: UInt64(index)).bytes(0..<Int64(size))
            let content = index < sizes.count ? SampleContent.bytes(bytes) : try self.file(bytes, "source")
            expected.append((try writer.append(self.sample(Int64(index), content)), bytes))
        }
        try writer.finish()
        var count = 0
        for shard in self.ledger.shards {
            let bytes = try self.directory.read(shard.name)
            count += try PlainTar.members(of: bytes).count
            #expect(shard.size == Int64(bytes.count))
            #expect(shard.rows.count == 1 || bytes.count <= 4 << 20)
            for (place, content) in expected where place.shard == shard.name {
                #expect(Array(bytes[Int(place.offset)...].prefix(content.count)) == content)
            }
        }
        #expect(count == 2 * expected.count)
        #expect(self.ledger.shards.flatMap(\.rows) == Array(0..<Int64(expected.count)))
    }

    @Test func keysThatOccurTwiceAreDistinctInAShard() throws {
        let writer = try self.writer()
        for row in 0..<3 { _ = try writer.append(self.sample(Int64(row), .bytes([UInt8(row)]), key: "k")) }
        try writer.finish()
        let names = try PlainTar.members(of: self.directory.read("00000.tar")).map(\.name)
        #expect(names == ["k.jpg", "k.json", "k%r1.jpg", "k%r1.json", "k%r2.jpg", "k%r2.json"])
    }

    @Test func aFullShardIsReportedBeforeTheEnd() throws {
        let writer = try self.writer(.init(samples: 2))
        for row in 0..<5 { _ = try writer.append(self.sample(Int64(row), .bytes([1]))) }
        // The third shard waits for the end; the second may still be synced, but the first is reported before it is.
        #expect(self.ledger.shards.first?.rows == [0, 1])
        try writer.finish()
        #expect(self.ledger.shards.map(\.rows) == [[0, 1], [2, 3], [4]])
        #expect(self.ledger.shards.map(\.name) == ["00000.tar", "00001.tar", "00002.tar"])
    }

    @Test func withoutSamplesThereIsNoShard() throws {
        let writer = try self.writer()
        try writer.finish()
        #expect(self.ledger.shards.isEmpty)
        #expect(self.directory.entries() == [".martlet-reports", ".martlet-shards"])
    }

    @Test func aDirectoryIsWrittenByOneWriter() throws {
        let writer = try self.writer()
        let error = #expect(throws: StorageError.self) { try self.writer() }
        #expect(error?.code == .cannotOpen)
        _ = try writer.append(self.sample(0, .bytes([1])))
        try writer.finish()
    }

    @Test func whatAKillLeavesIsRemovedAndNumberingContinues() throws {
        try self.directory.write([1], to: ".00001.tar.part")
        try self.directory.write([2], to: "00000.tar")
        try self.directory.write([3], to: "mine.tar")
        try self.directory.write([], to: ".martlet-reports")
        let writer = try self.writer()
        #expect(writer.leftovers.aside == self.directory.path("00000.tar.unreported"))
        #expect(
            self.directory.entries() == [".martlet-reports", ".martlet-shards", "00000.tar.unreported", "mine.tar"]
        )
        _ = try writer.append(self.sample(0, .bytes([1])))
        try writer.finish()
        #expect(self.ledger.names == ["00000.tar"])
        #expect(try self.directory.read("00000.tar.unreported") == [2])
        #expect(try self.directory.read("mine.tar") == [3])
    }

    @Test func shardsOfAnotherReportAreNotTouched() throws {
        for name in ["00000.tar", "00001.tar", ".00002.tar.part"] { try self.directory.write([1], to: name) }
        try self.directory.write([], to: ".martlet-reports")
        let error = #expect(throws: StorageError.self) { try self.writer() }
        #expect(error?.code == .exists)
        #expect(error?.message.contains("00000.tar, 00001.tar") == true)
        #expect(
            self.directory.entries() == [
                ".00002.tar.part", ".martlet-reports", ".martlet-shards", "00000.tar", "00001.tar",
            ]
        )
    }

    @Test func aReportThatFailsIsRepeated() throws {
        let writer = try self.writer(.init(samples: 1))
        self.ledger.failNext(2)
        _ = try writer.append(self.sample(0, .bytes([1])))
        var failures = 0
        while true {
            do {
                try writer.finish()
                break
            } catch {
                #expect(error.code == .noSpace)
                failures += 1
            }
        }
        #expect(failures <= 2)
        #expect(self.ledger.shards.map(\.rows) == [[0]])
    }

    @Test func aFileThatTakesTheNameIsNotReplaced() throws {
        let writer = try self.writer()
        _ = try writer.append(self.sample(0, .bytes([1])))
        try self.directory.write([9], to: "00000.tar")
        let error = #expect(throws: StorageError.self) { try writer.finish() }
        #expect(error?.code == .exists)
        #expect(try self.directory.read("00000.tar") == [9])
        #expect(self.ledger.shards.isEmpty)
        // Moved away, the same call completes.
        unlink(self.directory.path("00000.tar"))
        try writer.finish()
        #expect(self.ledger.shards.map(\.rows) == [[0]])
    }

    @Test func aContentThatIsShorterThanItsLengthIsNotWritten() throws {
        let writer = try self.writer()
        _ = try writer.append(self.sample(0, .bytes([1])))
        for length in [Int64(100), 500 << 10, 2 << 20] {
            guard case .file(let file, _) = try self.file([1, 2, 3], "source") else { return }
            let error = #expect(throws: StorageError.self) {
                try writer.append(self.sample(1, .file(file, length: length)))
            }
            #expect(error?.code == .inputOutput)
        }
        _ = try writer.append(self.sample(2, .bytes([2])))
        try writer.finish()
        let members = try PlainTar.members(of: self.directory.read("00000.tar"))
        #expect(members.map(\.name) == ["000000000.jpg", "000000000.json", "000000002.jpg", "000000002.json"])
        #expect(self.ledger.shards.map(\.rows) == [[0, 2]])
    }

    @Test func appendingFromSeveralThreadsLosesNothing() async throws {
        let writer = try self.writer(.init(samples: 7))
        await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for index in 0..<50 {
                        let row = Int64(thread * 50 + index)
                        _ = try writer.append(self.sample(row, .bytes([UInt8(row)])))
                    }
                }
            }
        }
        try writer.finish()
        #expect(self.ledger.shards.flatMap(\.rows).sorted() == Array(0..<200))
        for shard in self.ledger.shards {
            let members = try PlainTar.members(of: self.directory.read(shard.name))
            #expect(members.filter { $0.name.hasSuffix(".jpg") }.map { Int64($0.content[0]) } == shard.rows)
        }
    }
}
