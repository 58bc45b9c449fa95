// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Synchronization
import Testing

@testable import QueueStore

/// A write of a group.
private struct Member: Sendable {
    let body: @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> Void

    init(_ body: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> Void) { self.body = body }
}

/// The results of the writes of a group.
private final class Results: Sendable {
    private let state: Mutex<(codes: [QueueStoreError.Code?], left: Int)>
    var codes: [QueueStoreError.Code?] { self.state.withLock { $0.codes } }

    init(count: Int) { self.state = Mutex((Array(repeating: nil, count: count), count)) }

    func isLast(_ index: Int, _ result: Result<Void, QueueStoreError>) -> Bool {
        self.state.withLock { state in
            if case .failure(let error) = result { state.codes[index] = error.code }
            state.left -= 1
            return state.left == 0
        }
    }
}

@Suite struct GroupTests {
    /// Holds the store's thread until everything in `works` waits, so that all of it is one group.
    private func group(
        _ store: QueueStore,
        _ works: [Member]
    ) async -> [QueueStoreError.Code?] {
        let (holding, held) = (Gate(), DispatchSemaphore(value: 0))
        store.writeLater { _ in
            holding.open()
            held.wait()
        } done: { _ in
        }
        // A thread that took its work only now would have some of `works` in the group of the one that holds it.
        await holding.wait()
        let results = Results(count: works.count)
        let done = Gate()
        for (index, work) in works.enumerated() {
            store.writeLater(work.body) { result in
                if results.isLast(index, result) { done.open() }
            }
        }
        held.signal()
        await done.wait()
        return results.codes
    }

    @Test func aWorkThatThrowsUndoesItselfAlone() async throws {
        let scratch = try ScratchStore(longestGroup: .seconds(1000))
        let codes = await self.group(
            scratch.store,
            [
                Member { (w) throws(QueueStoreError) in try w.add(transfers([1]), at: nil) },
                Member { (w) throws(QueueStoreError) in
                    try w.add(transfers([2]), at: nil)
                    try w.setState(.paused, of: [gid(1)])
                    throw QueueStoreError(.ambiguous, "thought better of it")
                },
                Member { (w) throws(QueueStoreError) in try w.add(transfers([1]), at: nil) },
                Member { (w) throws(QueueStoreError) in try w.add(transfers([3]), at: 0) },
            ]
        )
        #expect(codes == [nil, .ambiguous, .duplicate(gid(1)), nil])
        #expect(try await scratch.ids([.waiting]) == [gid(3), gid(1)])
        try await scratch.expectExactTally()
    }

    @Test func aFullDiskFailsTheWholeGroupAndNothingIsHalfThere() async throws {
        let scratch = try ScratchStore(longestGroup: .seconds(1000))
        try await scratch.add(transfers([1]))
        await scratch.store.limitPages(40)
        let codes = await self.group(
            scratch.store,
            [
                Member { (w) throws(QueueStoreError) in try w.add(transfers([2]), at: nil) },
                Member { (w) throws(QueueStoreError) in try w.add(transfers(100..<9000), at: nil) },
                Member { (w) throws(QueueStoreError) in try w.add(transfers([3]), at: nil) },
            ]
        )
        #expect(codes == [.full, .full, .full])
        #expect(try await scratch.ids() == [gid(1)])
        await scratch.store.limitPages(0)
        try await scratch.add(transfers([4]))
        #expect(try await scratch.ids() == [gid(1), gid(4)])
        try await scratch.expectExactTally()
    }

    @Test func aWorkThatHidesAFullDiskIsUndoneAllTheSame() async throws {
        let scratch = try ScratchStore()
        await scratch.store.limitPages(40)
        let code = await scratch.code { (w) throws(QueueStoreError) in
            try w.setSetting("kept", "1")
            try? w.add(transfers(100..<9000), at: nil)
            try? w.setSetting("other", "1")
        }
        #expect(code == .full)
        await scratch.store.limitPages(0)
        let kept = try await scratch.store.read { (r) throws(QueueStoreError) in
            [try r.setting("kept"), try r.setting("other")]
        }
        #expect(kept == [nil, nil])
        #expect(try await scratch.ids() == [])
    }

    @Test func aCommitIsSyncedAndTheLogIsUsed() async throws {
        let scratch = try ScratchStore()
        let modes = try await scratch.store.write { (writer) throws(QueueStoreError) in
            var modes: [Int64?] = []
            for name in ["synchronous", "mmap_size", "cache_size"] {
                modes.append(try writer.connection.integer("PRAGMA \(name)"))
            }
            return modes
        }
        #expect(modes == [2, 0, -2048])
        let mode = try await scratch.store.read { (reader) throws(QueueStoreError) in
            try reader.connection.first("PRAGMA journal_mode") { $0.text(0) }
        }
        #expect(mode == "wal")
    }

    @Test func readsSeeAWholeStateBesideWrites() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        let isDone = Flag()
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<2 {
                tasks.addTask {
                    while !isDone.isRaised {
                        let counts = try await scratch.store.read { (r) throws(QueueStoreError) in
                            try r.expectExactTally()
                            return try r.counts()
                        }
                        // Each write sets all ten of them.
                        #expect(counts.count == 1 && counts.values.allSatisfy { $0 == 10 })
                    }
                }
            }
            for round in 0..<100 {
                let state: TransferRecord.State = round % 2 == 0 ? .paused : .waiting
                try await scratch.store.write { (w) throws(QueueStoreError) in
                    for id in 1...10 { try w.setState(state, of: [gid(UInt64(id))]) }
                }
            }
            isDone.raise()
            try await tasks.waitForAll()
        }
    }

    @Test func theLogIsEmptiedThoughReadersFollowOneAnother() async throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        let log = WriteAheadLog(path: directory + "/queue.db", limit: 1 << 20)
        let store = try QueueStore(path: log.path, migrations: Migration.all, log: log)
        let isDone = Flag()
        let text = String(repeating: "x", count: 100_000)
        try await withThrowingTaskGroup { tasks in
            for _ in 0..<3 {
                tasks.addTask {
                    while !isDone.isRaised {
                        _ = try await store.read { (r) throws(QueueStoreError) in try r.setting("a") }
                    }
                }
            }
            for _ in 0..<60 {
                try await store.write { (w) throws(QueueStoreError) in try w.setSetting("a", text) }
                // A write is at most about 30 pages beyond the limit.
                #expect(log.size < 2 << 20)
            }
            isDone.raise()
            try await tasks.waitForAll()
        }
        await store.close()
        #expect(log.size == 0)
    }

    @Test func afterTheEndEverythingIsRefusedAndWhatWasAskedIsThere() async throws {
        let scratch = try ScratchStore()
        async let write: Void = scratch.add(transfers([1]))
        try await write
        let late = Gate()
        scratch.store.writeLater { (w) throws(QueueStoreError) in
            try w.add(transfers([2]), at: nil)
        } done: { _ in
            late.open()
        }
        async let first: Void = scratch.store.close()
        async let second: Void = scratch.store.close()
        _ = await (first, second)
        await scratch.store.close()
        await late.wait()
        #expect(await scratch.code { (w) throws(QueueStoreError) in try w.setSetting("a", "1") } == .closed)
        do {
            _ = try await scratch.ids()
            Issue.record("a read after the end")
        } catch let error as QueueStoreError { #expect(error.code == .closed) }
        let again = try QueueStore(path: scratch.path)
        let found = try await again.read { (r) throws(QueueStoreError) in try r.transfer(gid(2)) }
        #expect(found != nil)
        await again.close()
    }
}
