// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

@Suite struct AddingTests {
    @Test func everythingComesBackAfterReopening() async throws {
        let scratch = try ScratchStore()
        var full = transfer(0xFEDC_BA98_7654_3210, session: "photos")
        full.state = .paused
        full.urls = ["http://a.example/1", "http://b.example/ü?x=\"\u{1}\"", "["]
        full.options = TransferOptions(["header": ["A: 1", "B: 2"], "out": ["file"]])
        full.priority = -7
        full.bytes = 1 << 40
        full.total = 1 << 41
        full.path = "/data/ü"
        full.added = 1_700_000_000.25
        var odd = transfer(2)
        odd.urls = ["[::1]/no URL"]
        var none = transfer(3)
        none.urls = []
        var sent = UploadSource([.file("/data/ü"), .bytes([0])])
        sent.record = [1, 2]
        none.upload = sent
        try await scratch.add([full, odd, none])
        await scratch.store.close()

        let again = try QueueStore(path: scratch.path)
        let ids = [full.id, odd.id, none.id]
        let found = try await again.read { (reader) throws(QueueStoreError) in
            var found: [StoredTransfer?] = []
            for id in ids { found.append(try reader.transfer(id)) }
            return found
        }
        #expect(found == [full, odd, none])
        await again.close()
    }

    @Test func aBatchIsThereWholeOrNotAtAll() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1, 2]))
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.add(transfers([3, 4, 2, 5]), at: 0) }
                == .duplicate(gid(2))
        )
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.add(transfers([6, 6]), at: nil) }
                == .duplicate(gid(6))
        )
        #expect(try await scratch.ids() == [gid(1), gid(2)])
    }

    @Test func aDuplicateThatIsCaughtLeavesNothing() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        try await scratch.store.write { (writer) throws(QueueStoreError) in
            try? writer.add(transfers([2, 3, 1]), at: 0)
            try writer.add(transfers([4]), at: nil)
        }
        #expect(try await scratch.ids() == [gid(1), gid(4)])
        try await scratch.expectExactTally()
    }

    @Test func theHistoryRefusesItsIdentifiers() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        try await scratch.end(gid(1))
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.add(transfers([1]), at: nil) }
                == .duplicate(gid(1))
        )
    }

    @Test func oneThatHasEndedIsNotAdded() async throws {
        let scratch = try ScratchStore()
        var ended = transfer(1)
        ended.state = .finished
        let refused = ended
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.add([refused], at: nil) }
                == .wrongState(gid(1), .finished)
        )
        ended.state = .active
        let running = ended
        try await scratch.add([running])
        #expect(try await scratch.ids([.waiting]) == [gid(1)])
    }

    @Test func aPlaceIsAmongTheUnfinishedOfItsQueue() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...5) + transfers(11...13, session: "s"))
        try await scratch.end(gid(1))
        try await scratch.add(transfers([21]) + transfers([22], session: "s"), at: 1)
        try await scratch.add(transfers([23]), at: .max)
        try await scratch.add(transfers([24]), at: -5)
        #expect(try await scratch.ids([.waiting]) == [24, 2, 21, 3, 4, 5, 23].map { gid($0) })
        #expect(try await scratch.ids([.waiting], session: .some("s")) == [11, 22, 12, 13].map { gid($0) })
        #expect(
            try await scratch.ids([.waiting], session: nil)
                == [24, 2, 21, 3, 4, 5, 23, 11, 22, 12, 13].map { gid($0) }
        )
    }

    @Test(
        arguments: [
            ("f", 0xF123_0000_0000_0001), ("F123000000000001", 0xF123_0000_0000_0001), ("0000000000000", 0x77),
            ("12", 0x1234_5678_9ABC_DEF0), ("1234567", 0x1234_5678_9ABC_DEF0),
        ] as [(String, UInt64)]
    )
    func aUniqueBeginningFindsItsTransfer(prefix: String, number: UInt64) async throws {
        let scratch = try ScratchStore()
        try await scratch.add([0xF123_0000_0000_0001, 0x77, 0x1234_5678_9ABC_DEF0, 0x1300].map { transfer($0) })
        let found = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(beginning: prefix) }
        #expect(found == gid(number))
    }

    @Test("Beginnings of several are listed in the order of the identifiers, page by page")
    func beginnings() async throws {
        let scratch = try ScratchStore()
        let numbers: [UInt64] = [
            0x7FFF_0000_0000_0001, 0xABC0_0000_0000_0002, 0xABC0_0000_0000_0001, 0xFFFF_FFFF_FFFF_FFFF,
        ]
        try await scratch.add(numbers.map { transfer($0) })
        func found(_ prefix: String, after: GID? = nil, limit: Int = 10) async throws -> [GID] {
            try await scratch.store.read { (r) throws(QueueStoreError) in
                try r.identifiers(beginning: prefix, after: after, limit: limit)
            }
        }
        #expect(try await found("abc") == [gid(0xABC0_0000_0000_0001), gid(0xABC0_0000_0000_0002)])
        #expect(try await found("a", limit: 1) == [gid(0xABC0_0000_0000_0001)])
        #expect(try await found("a", after: gid(0xABC0_0000_0000_0001)) == [gid(0xABC0_0000_0000_0002)])
        #expect(try await found("a", after: gid(0xABC0_0000_0000_0002)) == [])
        #expect(try await found("f", after: gid(.max)) == [])
        #expect(try await found("7") == [gid(0x7FFF_0000_0000_0001)])
        for prefix in ["", "x", "-1"] { #expect(try await found(prefix) == []) }
    }

    @Test func aBeginningOfSeveralIsAmbiguous() async throws {
        let scratch = try ScratchStore()
        try await scratch.add([0xABC0_0000_0000_0001, 0xABC0_0000_0000_0002].map { transfer($0) })
        await #expect(throws: QueueStoreError.self) {
            try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(beginning: "abc") }
        }
        for prefix in ["", "abd", "xyz", "+abc", "-1", "abc000000000000010", "0000000000000000"] {
            let found = try await scratch.store.read { (r) throws(QueueStoreError) in
                try r.transfer(beginning: prefix)
            }
            #expect(found == nil, "\(prefix)")
        }
    }
}
