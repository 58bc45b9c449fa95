// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Files that another process is downloading")
struct IfRunningTests {
    private let file = Served(length: Served.large)

    /// A stage on which another engine's partial file of this URL is locked.
    private func stage(limit: Int = 5, url: String = "http://a/f") -> Stage {
        let stage = Stage(limit: limit)
        var partial = MemoryStore.Partial(facts: ResourceFacts(url: url, length: Served.large, entityTag: "\"one\""))
        partial.isBusy = true
        stage.store.add(partial, at: "f")
        return stage
    }

    /// The other process has ended, with or without its file.
    private func release(_ stage: Stage, finished: Bool) throws {
        var partial = try #require(stage.store.partials["f"])
        partial.isBusy = false
        stage.store.add(partial, at: "f")
        if finished {
            try stage.store.discardPartial(FileTarget(directory: "", name: "f"))
            var file = MemoryStore.File(self.file.bytes)
            file.recorded = RecordedVersion(entityTag: "\"one\"")
            stage.store.add(file, at: "f")
        } else {
            partial.bytes = self.file.pattern.bytes(0..<1_000_000)
            partial.extents = [0..<1_000_000]
            stage.store.add(partial, at: "f")
        }
        stage.clock.advance(by: .seconds(1))
    }

    @Test("the transfer waits without a request or a place, then keeps the file that the other one finished")
    func finished() throws {
        let stage = self.stage(limit: 1)
        let id = try stage.add("http://a/f")
        #expect(stage.open.isEmpty && stage.engine.counts.held == 1)
        let other = try stage.add("http://a/g")
        try self.file.answer(stage.exchange())
        #expect(stage.end(other) == "finished")
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.transport.exchanges.count == 1)
        #expect(stage.words(id).filter { $0 == "retrying" }.count == 1, "it is reported once")
        try self.release(stage, finished: true)
        #expect(try stage.exchange().request.method == "HEAD")
        try self.file.answer(stage.exchange())
        #expect(stage.completion(id)?.skipped == true && stage.completion(id)?.path == "f")
        #expect(Set(stage.store.files.keys) == ["f", "g"])
    }

    @Test("what the other process left is continued, under the same name")
    func killed() throws {
        let stage = self.stage()
        let id = try stage.add("http://a/f")
        try self.release(stage, finished: false)
        #expect(try stage.exchange()["Range"] == "bytes=1000000-")
        try self.file.answer(stage.exchange())
        #expect(stage.completion(id)?.path == "f" && stage.holds(self.file))
    }

    @Test("fail fails, rename takes a number, another URL's download takes the name only")
    func otherRules() throws {
        let fails = self.stage()
        let failed = try fails.add("http://a/f") { $0.ifRunning = .fail }
        #expect(fails.failure(failed)?.code == .inUse && fails.transport.exchanges.isEmpty)
        let renames = self.stage()
        let renamed = try renames.add("http://a/f") { $0.ifRunning = .rename }
        try self.file.answer(renames.exchange())
        #expect(renames.completion(renamed)?.path == "f.1")
        let others = self.stage(url: "http://b/f")
        let other = try others.add("http://a/f")
        try self.file.answer(others.exchange())
        #expect(others.completion(other)?.path == "f.1")
    }

    @Test("a partial file that appears after the survey is awaited, too; the response is dropped")
    func race() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f")
        let exchange = try stage.exchange()
        var partial = MemoryStore.Partial(facts: ResourceFacts(url: "http://a/f", entityTag: "\"one\""))
        partial.isBusy = true
        stage.store.add(partial, at: "f")
        self.file.answer(exchange)
        #expect(stage.open.isEmpty && stage.engine.counts.held == 1)
        try self.release(stage, finished: true)
        try self.file.answer(stage.exchange())
        #expect(stage.completion(id)?.skipped == true)
        #expect(Set(stage.store.files.keys) == ["f"])
    }

    @Test("a waiting transfer can be paused, resumed and cancelled; the other one's partial file stays")
    func commands() throws {
        let stage = self.stage()
        let id = try stage.add("http://a/f")
        stage.engine.pause(id)
        #expect(stage.words(id).last == "paused")
        stage.clock.advance(by: .seconds(5))
        stage.engine.resume(id)
        #expect(stage.engine.counts.held == 1 && stage.open.isEmpty)
        stage.engine.cancel(id)
        #expect(stage.end(id) == "cancelled")
        #expect(stage.store.partials["f"] != nil)
        stage.clock.advance(by: .seconds(5))
        #expect(stage.engine.counts.held == 0)
    }

    @Test("the queue can be stopped while a transfer waits")
    func stop() async throws {
        let stage = self.stage()
        try stage.add("http://a/f")
        await stage.engine.stop()
        stage.clock.advance(by: .seconds(5))
        #expect(stage.open.isEmpty)
    }
}
