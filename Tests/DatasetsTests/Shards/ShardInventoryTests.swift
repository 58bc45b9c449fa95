// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Datasets

@Suite struct ShardInventoryTests {
    private func entries(_ names: String...) -> [ShardInventory.Entry] {
        names.map { .init(name: $0, isRegular: true) }
    }

    private func inventory(_ entries: [ShardInventory.Entry], reported: Set<String>) throws -> ShardInventory {
        try ShardInventory(entries, .init(named: reported, areAllListed: true))
    }

    @Test(
        arguments: [
            ("00000.tar", 0), ("00042.tar", 42), ("123456.tar", 123_456), ("0000.tar", nil), ("000000.tar", nil),
            ("00000.tar.gz", nil), ("a0000.tar", nil), ("00001.tar.unreported", nil), (".00001.tar.part", nil),
            ("999999999999999999999999.tar", nil), ("00000.TAR", nil), ("", nil), ("+0001.tar", nil),
        ] as [(String, Int64?)]
    )
    func onlyOurNamesHaveANumber(_ name: String, _ number: Int64?) {
        #expect(ShardName.number(ofFinal: name) == number)
        #expect(ShardName.number(ofPart: ".\(name).part") == number)
    }

    @Test func anEmptyDirectoryBeginsWithZero() throws {
        #expect(try self.inventory([], reported: []).next == 0)
    }

    @Test func numberingContinuesAfterTheReport() throws {
        // The shards themselves may have been moved away.
        let inventory = try self.inventory([], reported: ["00000.tar", "00007.tar", "other.tar"])
        #expect(inventory == (try self.inventory(self.entries("00007.tar"), reported: ["00007.tar"])))
        #expect(inventory.next == 8)
    }

    @Test func incompleteShardsAreDeletedAndForeignFilesKept() throws {
        let names = self.entries(
            ".00001.tar.part",
            "00000.tar",
            "notes.txt",
            ".x.tar.part",
            "00000.tar.part",
            "1.tar",
            ".martlet-shards"
        )
        let inventory = try self.inventory(names, reported: ["00000.tar"])
        #expect(inventory.removed == [".00001.tar.part"])
        #expect(inventory.aside == nil)
    }

    @Test func oneUnreportedShardIsRenamedAndItsNumberUsedAgain() throws {
        let first = try self.inventory(self.entries("00000.tar", "00001.tar"), reported: ["00000.tar"])
        #expect(first.aside?.from == "00001.tar")
        #expect(first.aside?.to == "00001.tar.unreported")
        #expect(first.next == 1)
        let second = try self.inventory(self.entries("00000.tar", "00000.tar.unreported"), reported: [])
        #expect(second.aside?.to == "00000.tar.unreported.1")
    }

    @Test func aReportOfAnotherDirectoryIsRefused() throws {
        #expect(throws: ShardInventory.Problem.unreported(["00000.tar", "00001.tar"])) {
            try self.inventory(self.entries("00001.tar", "00000.tar"), reported: [])
        }
        #expect(throws: ShardInventory.Problem.unreported(["00000.tar"])) {
            try self.inventory(self.entries("00001.tar", "00000.tar"), reported: ["00001.tar"])
        }
    }

    @Test func aShardIsNotSetAsideWhileAReportIsMissing() throws {
        let lost = ShardInventory.LostReport(path: "/r", isReplaced: false)
        let reports = ShardInventory.Reports(named: ["00000.tar"], areAllListed: true, lost: [lost])
        #expect(throws: ShardInventory.Problem.lost(["00001.tar"], [lost])) {
            try ShardInventory(self.entries("00000.tar", "00001.tar"), reports)
        }
        // All shards are accounted for without it.
        #expect(try ShardInventory(self.entries("00000.tar"), reports).next == 1)
    }

    @Test func aShardIsNotSetAsideWithoutAListOfReports() throws {
        let reports = ShardInventory.Reports(named: [], areAllListed: false)
        #expect(throws: ShardInventory.Problem.unlisted(["00000.tar"])) {
            try ShardInventory(self.entries("00000.tar", ".00001.tar.part"), reports)
        }
        #expect(try ShardInventory(self.entries(".00000.tar.part"), reports).removed == [".00000.tar.part"])
    }

    @Test func aDirectoryWithOurNameIsRefused() throws {
        for name in ["00000.tar", ".00000.tar.part"] {
            #expect(throws: ShardInventory.Problem.notRegular(name)) {
                try self.inventory([.init(name: name, isRegular: false)], reported: [])
            }
        }
    }
}
