// SPDX-License-Identifier: Apache-2.0
import Datasets
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct DatasetOptionsTests {
    @Test func aTableIsASourceOfItsOwn() throws {
        let plan = try GetCommand.plan(["--manifest", "a.csv.gz", "--report", "r", "-d", "/files", "-j", "7"])
        #expect(plan.sources == .table && plan.isReported)
        let order = try #require(plan.dataset)
        #expect(order.table == "a.csv.gz" && order.report == "r" && order.directory == "/files")
        #expect(order.fetches == 7 && order.algorithm == .sha256 && order.shards == nil)
        #expect(order.terms == [JSON.Member("digest", "sha256"), JSON.Member("directory", "/files")])
    }

    @Test func shardsHaveLimitsAndFilters() throws {
        let plan = try GetCommand.plan([
            "--manifest", "-", "--manifest-format", "tsv", "--report", "r", "--shards", "/s", "--shard-size", "2M",
            "--shard-count", "50", "--max-size", "1K", "--types", "image/*,text/html", "--digest", "md5",
        ])
        let order = try #require(plan.dataset)
        #expect(order.shards == .init(directory: "/s", limits: ShardLimits(bytes: 2 << 20, samples: 50)))
        #expect(order.filter.maximum == 1024 && order.filter.types.count == 2 && order.algorithm == .md5)
        #expect(order.directory == nil)
    }

    @Test func aShardIsClosedAfterATimeOnlyIfItIsGiven() throws {
        func limits(_ arguments: String...) throws -> ShardLimits? {
            let plan = try GetCommand.plan(["--manifest", "a.csv", "--report", "r", "--shards", "/s"] + arguments)
            return plan.dataset?.shards?.limits
        }
        #expect(try limits() == ShardLimits())
        #expect(try limits("--shard-time", "0") == ShardLimits())
        #expect(try limits("--shard-time", "0.5") == ShardLimits(idle: 500_000_000))
    }

    @Test func namedColumnsAreTermsOfTheReport() throws {
        let plan = try GetCommand.plan([
            "--manifest", "a.csv", "--report", "r", "-d", "/f", "--url-column", "URL", "--column", "key=ID",
        ])
        let order = try #require(plan.dataset)
        let columns: JSON = ["url": "URL", "key": "ID"]
        #expect(
            order.terms == [
                JSON.Member("digest", "sha256"), JSON.Member("columns", columns), JSON.Member("directory", "/f"),
            ]
        )
        #expect(try GetCommand.plan(["--manifest", "-", "--manifest-format", "csv", "--counts"]).printsCounts)
    }

    @Test func aParquetTableIsRefusedWithWhatToCallInstead() {
        do {
            _ = try GetCommand.plan(["--manifest", "dir/a.PARQUET"])
            Issue.record("it was accepted")
        } catch {
            #expect("\(error)".contains("dir/a.PARQUET") && "\(error)".contains("martlet.fetch("))
        }
    }

    @Test func rowsHaveALowestRateUnlessItIsSwitchedOff() throws {
        let second: Int64 = 1_000_000_000
        func floor(_ arguments: String...) throws -> SpeedFloor? { try GetCommand.plan(arguments).options.speedFloor }
        #expect(try floor("--manifest", "a.csv") == SpeedFloor(rate: 1024, window: 30 * second))
        #expect(try floor("--retry-from", "r") == SpeedFloor(rate: 1024, window: 30 * second))
        #expect(try floor("--manifest", "a.csv", "--min-rate", "0") == nil)
        #expect(try floor("--manifest", "a.csv", "--min-rate-time", "5") == SpeedFloor(rate: 1024, window: 5 * second))
        #expect(try floor("http://h/") == nil)
        #expect(try floor("http://h/", "--min-rate", "2K") == SpeedFloor(rate: 2048, window: 30 * second))
    }

    @Test func rowsAreDeniedMetadataUnlessMoreIsDenied() throws {
        func rule(_ arguments: String...) throws -> AddressRule? { try GetCommand.plan(arguments).options.addresses }
        #expect(try rule("http://h/") == nil)
        #expect(try rule("--manifest", "a.csv") == AddressRule(refusing: .metadata))
        #expect(try rule("http://h/", "--deny-private-addresses") == AddressRule(refusing: .private))
        let allowing = ["--allow-addresses", "10.0.0.0/8,nas", "--allow-addresses", "fd00::1"]
        let strict = try GetCommand.plan(["--manifest", "a.csv", "--deny-private-addresses"] + allowing)
        let expected = AddressRule(refusing: .private, allowing: ProxyExceptions("10.0.0.0/8,nas,fd00::1"))
        #expect(strict.options.addresses == expected && strict.politeness.addresses == expected)
    }

    @Test(arguments: [
        ["http://h/", "--allow-addresses", "10.0.0.1"], ["--manifest", "a.csv", "--allow-addresses", "10.0.0.0/33"],
        ["http://h/", "--min-rate-time", "5"], ["http://h/", "--min-rate", "1", "--min-rate-time", "0.5"],
        ["http://h/", "--manifest", "a.csv"], ["-i", "list", "--manifest", "a.csv"], ["--manifest", "a.parquet"],
        ["--manifest", "-"], ["--manifest", ""], ["http://h/", "--report", "r"], ["http://h/", "--max-size", "1"],
        ["--manifest", "a.csv", "--max-size", "1"], ["--manifest", "a.csv", "--shards", "s"],
        ["--manifest", "a.csv", "--shard-count", "5"], ["--manifest", "a.csv", "--report", "-"],
        ["--manifest", "a.csv", "--retry-from", "r"], ["--manifest", "a.csv", "--retry-all-failed"],
        ["--retry-from", "r", "--report", "r"], ["--retry-from", "r", "--manifest-format", "csv"],
        ["--manifest", "a.csv", "--report", "r", "--shards", "s", "--types", "image"],
        ["--manifest", "a.csv", "--report", "r", "--shards", "s", "--min-size", "2", "--max-size", "1"],
        ["--manifest", "a.csv", "--report", "r", "--shard-time", "5"], ["http://h/", "--counts"],
        ["http://h/", "--url-column", "URL"], ["--retry-from", "r", "--column", "key=ID"],
        ["--manifest", "a.csv", "--column", "ID"], ["--manifest", "a.csv", "--column", "label=ID"],
        ["--manifest", "a.csv", "--column", "key=a", "--column", "key=b"], ["--manifest", "a.csv", "--url-column", ""],
        ["--manifest", "a.csv", "--url-column", "a", "--column", "url=b"],
        ["--manifest", "a.csv", "--column", "key=a", "--column", "name=a"],
        ["--manifest", "a.csv", "--output", "x"], ["--manifest", "a.csv", "--checksum", "md5:00"],
    ])
    func optionsThatDoNotGoTogetherAreRefused(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try GetCommand.plan(arguments) }
    }
}
