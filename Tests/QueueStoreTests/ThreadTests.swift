// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import SQLite
import Synchronization
import Testing

@testable import QueueStore

/// The order in which reads began.
private final class Order: Sendable {
    let numbers = Mutex<[Int]>([])
}

@Suite struct ThreadTests {
    private func threads(
        _ open: @escaping @Sendable () throws(QueueStoreError) -> SQLiteConnection = { () throws(QueueStoreError) in
            do throws(SQLiteError) { return try SQLiteConnection(path: nil) } catch {
                throw QueueStoreError(error, path: "")
            }
        }
    ) -> ReadingThreads {
        ReadingThreads(path: "", open: open)
    }

    private func read(_ threads: ReadingThreads) async -> Result<Int64?, QueueStoreError> {
        await withCheckedContinuation { continuation in
            threads.perform { opened in
                do throws(QueueStoreError) {
                    let connection = Connection(sqlite: try opened.get(), path: "", fault: nil)
                    continuation.resume(returning: .success(try connection.integer("SELECT 7")))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        }
    }

    @Test func anOpeningThatFailsIsRepeatedByTheNextRead() async {
        let isThere = Flag()
        let threads = self.threads { () throws(QueueStoreError) in
            guard isThere.isRaised, let connection = try? SQLiteConnection(path: nil) else {
                throw QueueStoreError(.busy, "not yet")
            }
            return connection
        }
        #expect(await self.read(threads) == .failure(QueueStoreError(.busy, "not yet")))
        isThere.raise()
        #expect(await self.read(threads) == .success(7))
    }

    @Test func twoReadsRunTogetherAndOthersWaitInOrder() async {
        let threads = self.threads()
        let (started, held) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let order = Order()
        let done = Gate()
        for number in 1...10 {
            threads.perform { _ in
                order.numbers.withLock { $0.append(number) }
                if number <= 2 {
                    started.signal()
                    held.wait()
                }
                if order.numbers.withLock({ $0.count }) == 10 { done.open() }
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    started.wait()
                    started.wait()
                    continuation.resume()
                }
        }
        #expect(order.numbers.withLock { $0.sorted() } == [1, 2])
        held.signal()
        await done.wait()
        #expect(order.numbers.withLock { Array($0.dropFirst(2)) } == Array(3...10))
        held.signal()
    }

    @Test func aWriteDoesNotWaitForReads() async throws {
        let scratch = try ScratchStore()
        let (holding, held) = (Gate(), DispatchSemaphore(value: 0))
        async let first = scratch.store.read { (reader) throws(QueueStoreError) in
            let before = try reader.setting("a")
            holding.open()
            held.wait()
            return [before, try reader.setting("a")]
        }
        await holding.wait()
        try await scratch.store.write { (writer) throws(QueueStoreError) in try writer.setSetting("a", "1") }
        held.signal()
        // Neither sees the other's half.
        #expect(try await first == [nil, nil])
        #expect(try await scratch.store.read { (r) throws(QueueStoreError) in try r.setting("a") } == "1")
    }

    @Test func closingWaitsForTheReadsThatRun() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        let (holding, held) = (Gate(), DispatchSemaphore(value: 0))
        let isClosed = Flag()
        async let read = scratch.store.read { (reader) throws(QueueStoreError) in
            holding.open()
            held.wait()
            return (try reader.counts().values.reduce(0, +), isClosed.isRaised)
        }
        await holding.wait()
        async let closing: Void = {
            await scratch.store.close()
            isClosed.raise()
        }()
        // The close was asked for when writes are refused.
        while await scratch.code({ (w) throws(QueueStoreError) in try w.setSetting("a", "1") }) != .closed {}
        held.signal()
        let (count, wasClosed) = try await read
        #expect(count == 10 && !wasClosed)
        await closing
        let again = try ScratchStore(directory: scratch.directory)
        #expect(try await again.ids().count == 10)
        await again.store.close()
    }

    @Test func aStoreThatIsNotClosedIsClosedWithItsLastReference() async throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        for count in 1...20 {
            let store = try QueueStore(path: directory + "/queue.db")
            try await store.write { (w) throws(QueueStoreError) in try w.add(transfers([count]), at: nil) }
            let found = try await store.read { (r) throws(QueueStoreError) in try r.counts() }
            #expect(found.values.reduce(0, +) == count)
        }
    }
}
