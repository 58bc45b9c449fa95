// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

@Suite struct SpooledListTests {
    @Test func isWhatWasThereInTheOrderOfPages() async throws {
        let scratch = try ScratchStore()
        var all = transfers(1...3000) + transfers(3001...3100, session: "s")
        // Longer than what is read at once.
        all[1].directory = "/" + String(repeating: "d", count: 700_000)
        all[2].urls = ["http://a.example/", "[\u{FC}"]
        all[2].options = TransferOptions(["header": ["A: 1", "B: 2"]])
        all[2].total = 7
        all[3].upload = UploadSource([.file("/data/\u{FC}")])
        try await scratch.add(all)
        try await scratch.end(gid(17), .failed)
        let everything = Set(TransferRecord.State.allCases)
        let expected = try await scratch.store.read { (reader) throws(QueueStoreError) in
            try reader.transfers(in: everything, session: nil, offset: 0, limit: .max, fromEnd: false)
        }
        let list = try await scratch.store.snapshot(states: everything, session: nil)
        let waiting = try await scratch.store.snapshot(states: [.waiting], session: .some("s"))
        // None contains later changes.
        try await scratch.store.write { (writer) throws(QueueStoreError) in
            _ = try writer.move(gid(5), to: 2000)
            _ = try writer.setState(.paused, from: .waiting, session: nil)
            try writer.add(transfers([4000]), at: 0)
        }
        #expect(list.count == expected.count)
        var found: [StoredTransfer] = []
        while true {
            let page = try list.next(999)
            if page.isEmpty { break }
            found += page
        }
        #expect(found == expected)
        #expect(try waiting.next(.max).map(\.id) == (3001...3100).map { gid($0) })
        #expect(try waiting.next(1).isEmpty)
    }

    @Test func pagesByNumberFindEachOnceWhateverMoves() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...400))
        var found: [GID] = []
        var number: Int64? = 0
        var numbers = SeededNumbers(state: 3)
        while let behind = number {
            let page = try await scratch.store.read { (reader) throws(QueueStoreError) in
                try reader.transfers(behind: behind, in: Set(TransferRecord.State.allCases), session: nil, limit: 20)
            }
            found += page.transfers.map(\.id)
            number = page.next
            let moved = (0..<30).map { _ in gid(UInt64.random(in: 1...400, using: &numbers)) }
            try await scratch.store.write { (writer) throws(QueueStoreError) in
                for id in moved.prefix(20) where try writer.reader.place(of: id) != nil {
                    _ = try writer.move(id, to: 3)
                }
                try writer.end(
                    moved.suffix(10).map { StoredEnd(id: $0, state: .failed, path: nil, bytes: 0, total: nil, at: 1) }
                )
            }
        }
        #expect(found == (1...400).map { gid($0) })
    }
}
