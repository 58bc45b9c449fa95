// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

/// Several reports of one directory of shards, through the runs that open them.
@Suite struct ListedReportsTests {
    let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private var shards: String { self.directory.path("shards") }

    /// Starts a run and ends it at once.
    @discardableResult
    private func start(
        _ report: String,
        retrying retried: String? = nil,
        in directory: String = "",
        shards: String = "shards"
    ) throws -> DatasetRun {
        let base = self.directory.path(directory.isEmpty ? "." : directory)
        if retried == nil { try self.directory.write(Array("{\"url\":\"http://h/\"}\n".utf8), to: "table.jsonl") }
        let table = retried.map { base + "/" + $0 } ?? self.directory.path("table.jsonl")
        var order = DatasetOrder(table: table, parser: TableParser(.jsonl))
        order.isRetry = retried != nil
        order.report = base + "/" + report
        order.shards = .init(directory: base + "/" + shards, limits: ShardLimits())
        order.terms = [JSON.Member("shards", .string(base + "/" + shards))]
        return try DatasetRun(order) { _ in }
    }

    /// A complete shard, and its line in a report; without a report, what a kill leaves.
    private func complete(_ number: Int64, in report: String?) throws {
        try self.directory.write([UInt8(number)], to: "shards/" + ShardName.final(number))
        guard let report else { return }
        let line = ReportLine(.sha256)
            .line(
                DatasetRow(number: number, url: "http://h/"),
                DatasetResult(),
                place: ShardPlace(shard: ShardName.final(number), offset: 512)
            )
        try self.directory.write(try self.directory.read(report) + line, to: report)
    }

    private func shardNames(_ path: String? = nil) -> [String] {
        TemporaryDirectory.entries(of: path ?? self.shards).filter { !$0.hasPrefix(".") }
    }

    private func listed(_ path: String = "shards") throws -> [ShardReportList.Entry] {
        let bytes = try self.directory.read(path + "/" + ShardReportList.name)
        return try #require(ShardReportList(parsing: bytes)).entries
    }

    private func refusal(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "no refusal"
        } catch {
            return "\(error)"
        }
    }

    @Test func aRetryIntoTheSameDirectoryKeepsTheShardsOfTheFirstReport() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        // A run holds the lock of the directory as long as it lives.
        #expect(try self.start("r2", retrying: "r1").warning == nil)
        #expect(self.shardNames() == ["00000.tar"])
        try self.complete(1, in: "r2")
        // The first report continues after the second one.
        #expect(try self.start("r1").warning == nil)
        #expect(self.shardNames() == ["00000.tar", "00001.tar"])
        #expect(try self.listed().map(\.relative) == ["../r1", "../r2"])
    }

    @Test func onlyWhatAKillLeftIsSetAsideAndSaid() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        try self.start("r2", retrying: "r1")
        try self.complete(1, in: "r2")
        try self.complete(2, in: nil)
        let run = try self.start("r3", retrying: "r2")
        #expect(self.shardNames() == ["00000.tar", "00001.tar", "00002.tar.unreported"])
        #expect(run.warning?.contains("shards/00002.tar.unreported'") == true)
    }

    @Test func anUnrelatedTableKeepsTheShardsOfOtherReports() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        try self.start("r2")
        #expect(self.shardNames() == ["00000.tar"])
    }

    @Test func aMissingOrReplacedReportIsNamedAndNothingChanges() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        let report = try (self.directory.read("r1"), self.directory.read("r1.origin"))
        for name in ["r1", "r1.origin"] { unlink(self.directory.path(name)) }
        #expect(self.refusal { try self.start("r2") }.contains("/r1', which is missing"))
        // Another report that has its name.
        try ReportOrigin(id: "other", terms: []).write(of: self.directory.path("r1"))
        try self.directory.write([], to: "r1")
        #expect(self.refusal { try self.start("r2") }.contains("/r1', which is another file now"))
        #expect(self.shardNames() == ["00000.tar"])
        try self.directory.write(report.0, to: "r1")
        try self.directory.write(report.1, to: "r1.origin")
        try self.start("r2")
        #expect(self.shardNames() == ["00000.tar"])
    }

    @Test func aReportWithoutShardsHereIsForgottenWhenItIsGone() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        try self.start("r2")
        for name in ["r2", "r2.origin"] { unlink(self.directory.path(name)) }
        try self.start("r1")
        #expect(try self.listed().map(\.relative) == ["../r1"])
    }

    @Test func aReportThatCannotBeReadIsAnError() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        try self.directory.write(try self.directory.read("r1") + Array("no line of a report\n".utf8), to: "r1")
        #expect(self.refusal { try self.start("r2") }.contains("line 2 of"))
        #expect(self.shardNames() == ["00000.tar"])
        try self.directory.write(Array("{}\n".utf8), to: "shards/" + ShardReportList.name)
        #expect(self.refusal { try self.start("r2") }.contains("is damaged"))
    }

    @Test func aReportNamesItsShardsAfterItWasMovedOrCopied() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        for name in ["r1", "r1.origin"] { rename(self.directory.path(name), self.directory.path("moved" + name)) }
        rename(self.directory.path("movedr1.origin"), self.directory.path("moved.origin"))
        rename(self.directory.path("movedr1"), self.directory.path("moved"))
        // Found as the report that is retried, under its new path.
        try self.start("r2", retrying: "moved")
        #expect(try self.listed().map(\.relative) == ["../r2", "../moved"])
        // A copy has the same id; both are listed as long as they differ.
        try self.directory.write(try self.directory.read("moved"), to: "copy")
        try self.directory.write(try self.directory.read("moved.origin"), to: "copy.origin")
        try self.start("copy")
        try self.complete(1, in: "copy")
        try self.start("moved")
        #expect(self.shardNames() == ["00000.tar", "00001.tar"])
        #expect(try self.listed().map(\.relative) == ["../r2", "../moved", "../copy"])
        // Now the copy is missing, and the original does not stand for it.
        for name in ["copy", "copy.origin"] { unlink(self.directory.path(name)) }
        #expect(self.refusal { try self.start("moved") }.contains("/copy', which is missing"))
        #expect(self.shardNames() == ["00000.tar", "00001.tar"])
    }

    @Test func aDirectoryMovedWithItsReportsKeepsItsShards() throws {
        mkdir(self.directory.path("a"), 0o755)
        try self.start("r1", in: "a")
        try self.start("shards/r2", in: "a")
        for (number, report) in [(Int64(0), "a/r1"), (1, "a/shards/r2")] {
            mkdir(self.shards, 0o755)
            try self.complete(number, in: report)
            rename(
                self.shards + "/" + ShardName.final(number),
                self.directory.path("a/shards/" + ShardName.final(number))
            )
        }
        rename(self.directory.path("a"), self.directory.path("b"))
        try self.start("r3", in: "b")
        #expect(self.shardNames(self.directory.path("b/shards")) == ["00000.tar", "00001.tar", "r2", "r2.origin"])
        #expect(try self.listed("b/shards").map(\.relative) == ["../r1", "r2", "../r3"])
        #expect(try self.listed("b/shards").allSatisfy { $0.path.contains("/b/") })
    }

    @Test func aDirectoryOfAnEarlierVersionHasNoList() throws {
        try self.start("r1")
        try self.complete(0, in: "r1")
        let list = self.shards + "/" + ShardReportList.name
        unlink(list)
        let message = self.refusal { try self.start("other") }
        #expect(message.contains("does not list the reports") && message.contains("00000.tar"))
        #expect(self.shardNames() == ["00000.tar"])
        // The report that is retried is one of this directory.
        try self.start("r2", retrying: "r1")
        #expect(self.shardNames() == ["00000.tar"])
        #expect(try self.listed().map(\.relative) == ["../r2", "../r1"])
        // So is the own report of a run.
        unlink(list)
        try self.complete(1, in: nil)
        #expect(try self.start("r1").warning != nil)
        #expect(self.shardNames() == ["00000.tar", "00001.tar.unreported"])
    }

    @Test func aRetriedReportOfAnotherDirectoryDoesNotCount() throws {
        try self.start("r1", shards: "others")
        mkdir(self.shards, 0o755)
        try self.complete(0, in: "r1")
        #expect(self.refusal { try self.start("r2", retrying: "r1") }.contains("does not list the reports"))
        #expect(self.shardNames() == ["00000.tar"])
    }

    @Test(arguments: [
        ("/a/b/r", "/a/b", "r"), ("/a/r", "/a/b", "../r"), ("/r", "/", "r"), ("/x/y/r", "/a/b", "../../x/y/r"),
        ("/a/bb/r", "/a/b", "../bb/r"),
    ])
    func aPathIsRelativeToTheDirectory(_ path: String, _ directory: String, _ relative: String) {
        #expect(ShardReportList.Entry.relative(path, from: directory) == relative)
    }

    @Test func aTornListIsDamaged() throws {
        let list = ShardReportList([
            .init(id: "1", path: "/\"\n", relative: nil), .init(id: "2", path: "/b", relative: "b"),
        ])
        #expect(ShardReportList(parsing: list.bytes) == list)
        #expect(ShardReportList(parsing: []) == ShardReportList())
        for count in 1..<list.bytes.count where list.bytes[count - 1] != 0x0A {
            #expect(ShardReportList(parsing: Array(list.bytes[..<count])) == nil)
        }
    }
}
