// SPDX-License-Identifier: Apache-2.0
import Control
import Synchronization
import Testing

@testable import QueueStore

@Suite struct HistoryTests {
    private func ended(_ scratch: ScratchStore, _ numbers: ClosedRange<Int>, _ state: TransferRecord.State) async throws
    {
        try await scratch.add(transfers(numbers))
        for number in numbers { try await scratch.end(gid(UInt64(number)), state, at: Double(number)) }
    }

    @Test func failedOnesAreNeitherCountedNorTrimmed() async throws {
        let scratch = try ScratchStore()
        try await self.ended(scratch, 1...30, .failed)
        try await self.ended(scratch, 31...40, .finished)
        try await self.ended(scratch, 41...44, .removed)
        let forgotten = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.trimHistory(count: 5, before: 1000, most: 3)
        }
        #expect(forgotten == [.finished: 3])
        let others = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.trimHistory(count: 2, before: 0, most: 1000)
        }
        #expect(others == [.finished: 7, .removed: 2])
        #expect(try await scratch.ids([.failed]).count == 30)
        #expect(try await scratch.ids([.finished, .removed]) == [43, 44].map { gid($0) })
        let aged = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.trimHistory(count: 100, before: 44, most: 1000)
        }
        #expect(aged == [.removed: 1])
        try await scratch.expectExactTally()
    }

    @Test func failedOnesHaveLimitsOfTheirOwn() async throws {
        let scratch = try ScratchStore()
        try await self.ended(scratch, 1...30, .failed)
        try await self.ended(scratch, 31...40, .finished)
        let forgotten = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.trimHistory(count: 9, before: 0, most: 100, failed: (count: 20, before: 16))
        }
        #expect(forgotten == [.finished: 1, .failed: 15])
        #expect(try await scratch.ids([.failed]) == (16...30).map { gid($0) })
    }

    @Test func ofARemovedLineTheHistoryKeepsTheLastOnes() async throws {
        let scratch = try ScratchStore()
        var all = transfers(1...500)
        all[3].path = "/data/4"
        all[480].path = "/data/481"
        try await scratch.add(all)
        let (removed, kept) = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.removeAll(session: nil, at: 77, keeping: 40, deletesPartial: true)
        }
        #expect(removed == 500 && kept == 40)
        // Without anyone for their files they stay as they are.
        await scratch.store.finishChores()
        let one = try await scratch.store.read { (reader) throws(QueueStoreError) in try reader.transfer(gid(4)) }
        #expect(one?.state == .removed && one?.ended == 77)
        #expect(try await scratch.ids([.waiting, .paused]).isEmpty)
        scratch.handleRemoved()
        await scratch.store.finishChores()
        #expect(scratch.removed.withLock { $0 } == [gid(4), gid(481)])
        #expect(try await scratch.ids() == (461...500).map { gid($0) })
        #expect(
            try await scratch.store.read { (reader) throws(QueueStoreError) in try reader.counts(session: nil) } == [
                .removed: 40
            ]
        )
        try await scratch.expectExactTally()
    }

    @Test func aForgottenHistoryIsGoneAtOnceAndItsRowsAndPagesLater() async throws {
        let scratch = try ScratchStore()
        var all = transfers(1...6000)
        for index in all.indices { all[index].directory = "/" + String(repeating: "d", count: 2000) }
        try await scratch.add(all)
        _ = try await scratch.store.write { (writer) throws(QueueStoreError) in
            try writer.end(
                (1...6000).map { StoredEnd(id: gid($0), state: .finished, path: nil, bytes: 0, total: 0, at: 1) }
            )
        }
        let forgotten = try await scratch.store.write { (writer) throws(QueueStoreError) in
            let forgotten = try writer.forgetEnded(session: nil)
            #expect(try writer.reader.transfer(gid(1)) == nil)
            #expect(try writer.reader.transfer(beginning: "00000000000000") == nil)
            #expect(try writer.forgetEnded(session: nil) == [:])
            try writer.add([transfer(1)], at: nil)
            try writer.end([StoredEnd(id: gid(1), state: .finished, path: nil, bytes: 0, total: 0, at: 1)])
            return forgotten
        }
        #expect(forgotten == [.finished: 6000])
        await scratch.store.finishChores()
        #expect(try await scratch.ids() == [gid(1)])
        let pages = try await scratch.store.read { (reader) throws(QueueStoreError) in
            [
                try reader.connection.integer("SELECT count(*) FROM transfers"),
                try reader.connection.integer("SELECT count(*) FROM forgotten"),
                try reader.connection.integer("PRAGMA auto_vacuum"),
                try reader.connection.integer("PRAGMA page_count").map { $0 < 2000 ? 1 : $0 },
            ]
        }
        #expect(pages == [1, 0, 2, 1])
        try await scratch.expectExactTally()
    }
}
