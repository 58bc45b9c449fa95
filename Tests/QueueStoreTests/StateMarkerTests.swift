// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import SQLite
import Testing

@testable import QueueStore

@Suite struct StateMarkerTests {
    private func refusal(_ directory: String) async -> String? {
        do {
            await (try QueueStore(path: directory + "/queue.db")).close()
            return nil
        } catch { return error.code == .damaged ? error.message : "\(error)" }
    }

    private func count(_ directory: String) async throws -> Int {
        let store = try QueueStore(path: directory + "/queue.db")
        let count = try await store.read { (reader) throws(QueueStoreError) in try reader.counts() }.values.reduce(0, +)
        await store.close()
        return count
    }

    @Test func aKillIsNoLoss() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        let copy = try scratch.killed()
        defer { ScratchStore.remove(copy) }
        #expect(try await self.count(copy) == 10)
        #expect(try await self.count(copy) == 10)
    }

    @Test func aStoppedDirectoryMayBeCopied() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        await scratch.store.close()
        let copy = try scratch.killed()
        defer { ScratchStore.remove(copy) }
        #expect(access(copy + "/queue.db-wal", F_OK) != 0)
        #expect(try await self.count(copy) == 10)
        // Also without the marker.
        unlink(copy + "/queue.db-state")
        #expect(try await self.count(copy) == 10)
    }

    @Test(arguments: [true, false])
    func aLostLogIsReported(isEmptied: Bool) async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        let copy = try scratch.killed()
        defer { ScratchStore.remove(copy) }
        if isEmptied { truncate(copy + "/queue.db-wal", 0) } else { unlink(copy + "/queue.db-wal") }
        let message = try #require(await self.refusal(copy))
        #expect(message.contains("-wal") && message.contains(copy + "/queue.db-state"))
        // As it says.
        unlink(copy + "/queue.db-state")
        #expect(await self.refusal(copy) == nil)
    }

    @Test func aLogThatWasLostAfterItWasWrittenBackIsReported() async throws {
        let scratch = try ScratchStore()
        var big = transfers(1...2000)
        for index in big.indices { big[index].directory = "/" + String(repeating: "d", count: 10_000) }
        // More than the log holds before it is written back.
        try await scratch.add(big)
        try await scratch.add(transfers([5000]))
        let copy = try scratch.killed()
        defer { ScratchStore.remove(copy) }
        unlink(copy + "/queue.db-wal")
        #expect(await self.refusal(copy) != nil)
    }

    @Test func aLogThatAnotherProgramWroteBackIsNoLoss() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        let copy = try scratch.killed()
        defer { ScratchStore.remove(copy) }
        let other = try SQLiteConnection(path: copy + "/queue.db")
        try other.execute("SELECT * FROM facts")
        other.close()
        #expect(access(copy + "/queue.db-wal", F_OK) != 0)
        #expect(try await self.count(copy) == 10)
    }

    @Test(arguments: ["missing", "empty", "another", "older"])
    func aLostDatabaseIsReportedAndNothingIsMade(loss: String) async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10))
        await scratch.store.close()
        let path = scratch.directory + "/queue.db"
        let older = try scratch.killed()
        defer { ScratchStore.remove(older) }
        #expect(try await self.count(scratch.directory) == 10)
        switch loss {
        case "missing": unlink(path)
        case "empty": truncate(path, 0)
        case "older": try ScratchStore.copy(older + "/queue.db", path)
        default:
            let other = try ScratchStore()
            await other.store.close()
            try ScratchStore.copy(other.path, path)
        }
        let message = try #require(await self.refusal(scratch.directory))
        #expect(message.contains(path + "-state") && message.contains(loss))
        var status = stat()
        #expect((stat(path, &status) == 0) == (loss != "missing"))
        #expect(loss != "empty" || status.st_size == 0)
    }

    @Test func anEmptyDirectoryIsAFirstStart() async throws {
        let directory = try ScratchStore.makeDirectory()
        defer { ScratchStore.remove(directory) }
        #expect(try await self.count(directory) == 0)
        #expect(try await self.count(directory) == 0)
    }

    @Test func aFileOfAnotherFormIsReplaced() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        await scratch.store.close()
        truncate(scratch.path + "-state", 3)
        #expect(try await self.count(scratch.directory) == 1)
        unlink(scratch.path)
        #expect(await self.refusal(scratch.directory) != nil)
    }

    @Test func theTextIsReadAsItWasWritten() {
        for isClean in [true, false] {
            let content = StateMarker.Content(identity: 17, counter: 3, isClean: isClean)
            #expect(StateMarker.Content(content.text) == content)
        }
        #expect(StateMarker.Content("") == nil)
    }
}
