// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("The queue")
struct QueueTests {
    private let small = Served(length: 10)

    @Test("as many transfers run as the limit says, also when it is changed live")
    func limit() throws {
        let stage = Stage(limit: 2)
        for index in 0..<6 { try stage.add("http://h\(index)/f\(index)") }
        #expect(stage.open.count == 2)
        stage.engine.setConcurrentTransfers(4)
        #expect(stage.open.count == 4)
        stage.engine.setConcurrentTransfers(1)
        for exchange in stage.open.prefix(3) { self.small.answer(exchange) }
        #expect(stage.open.count == 1)
        #expect(stage.engine.counts.running == 1)
        #expect(stage.engine.counts.waiting == 2)
        #expect(stage.engine.counts.finished == 3)
    }

    @Test("nothing begins before start()")
    func start() throws {
        let stage = Stage(starts: false)
        try stage.add("http://h/f")
        #expect(stage.open.isEmpty)
        stage.engine.start()
        #expect(stage.open.count == 1)
    }

    @Test("after close() adding throws, and the queue ends when it is empty")
    func close() async throws {
        let stage = Stage()
        let id = try stage.add("http://h/f")
        stage.engine.close()
        #expect(throws: EngineError.self) { try stage.add("http://h/g") }
        try self.small.answer(stage.exchange())
        await stage.engine.waitUntilDrained()
        #expect(stage.end(id) == "finished")
        #expect(stage.recorder.events.count { Stage.word($0.kind) == "drained" } == 1)
    }

    @Test("an empty queue that is closed is drained")
    func closeEmpty() async {
        let stage = Stage()
        stage.engine.close()
        await stage.engine.waitUntilDrained()
    }

    @Test("the same URL twice is two transfers with two names")
    func twice() throws {
        let stage = Stage()
        let first = try stage.add("http://h/f.tar.gz")
        let second = try stage.add("http://h/f.tar.gz")
        #expect(first != second)
        for exchange in stage.open { self.small.answer(exchange) }
        #expect(stage.completion(first)?.path == "f.tar.gz")
        #expect(stage.completion(second)?.path != "f.tar.gz")
        #expect(stage.store.files.count == 2)
    }

    @Test("the caller's information travels with every event")
    func userInfo() throws {
        let stage = Stage()
        let id = try stage.add("http://h/f", userInfo: "mine")
        try self.small.answer(stage.exchange())
        #expect(stage.recorder.events(of: id).allSatisfy { $0.userInfo as? String == "mine" })
    }

    @Test("pausing a running, a waiting and a retrying transfer; resuming puts each in line again")
    func pauseOne() throws {
        let stage = Stage(limit: 1)
        let running = try stage.add("http://a/f")
        let waiting = try stage.add("http://b/g")
        stage.engine.pause(waiting)
        #expect(stage.engine.state(of: waiting) == .paused)
        try stage.exchange().respond(503)
        try stage.exchange().end()
        #expect(stage.engine.counts.retrying == 1)
        stage.engine.pause(running)
        #expect(stage.engine.counts.paused == 2)
        stage.engine.resume(running)
        // Its host is held back until the attempt would have been due.
        stage.clock.advance(by: .seconds(1))
        #expect(stage.engine.counts.running == 1)
        stage.engine.pause(running)
        #expect(stage.engine.state(of: running) == .paused)
        #expect(stage.open.isEmpty)
        stage.engine.resumeAll()
        for _ in 0..<2 { self.small.answer(try stage.exchange()) }
        #expect(stage.end(running) == "finished")
        #expect(stage.end(waiting) == "finished")
    }

    @Test("pausing keeps the partial file, and resuming continues from it")
    func pauseKeeps() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f")
        try file.head(stage.exchange())
        try stage.exchange().body(file.pattern, 0..<1_000_000)
        stage.engine.pauseAll()
        #expect(stage.store.partials["f"]?.extents == [0..<1_000_000])
        stage.engine.resume(id)
        #expect(try stage.exchange()["Range"] == "bytes=1000000-")
        try file.answer(stage.exchange())
        #expect(stage.holds(file))
    }

    @Test("cancelling a running, a waiting, a paused and a retrying transfer ends each once and keeps nothing")
    func cancel() throws {
        let stage = Stage(limit: 1)
        let file = Served(length: Served.large)
        let retrying = try stage.add("http://a/f")
        try file.answer(stage.exchange(), cutAfter: 500_000)
        let running = try stage.add("http://b/g")
        let paused = try stage.add("http://c/h")
        stage.engine.pause(paused)
        let waiting = try stage.add("http://d/i")
        try file.head(stage.exchange())
        stage.engine.cancelAll()
        for id in [retrying, running, paused, waiting] {
            #expect(stage.end(id) == "cancelled")
            #expect(stage.engine.state(of: id) == nil)
        }
        #expect(stage.engine.counts.cancelled == 4)
        #expect(stage.store.partials.isEmpty)
        #expect(stage.open.isEmpty)
        stage.clock.advance(by: .seconds(600))
        #expect(stage.transport.exchanges.count == 2)
    }

    @Test("the space reserved for a file is released when its transfer is cancelled, not when it is paused")
    func reserve() throws {
        let stage = Stage(limit: 3)
        let file = Served(length: Served.large)
        let running = try stage.add("http://a/f")
        let paused = try stage.add("http://b/g")
        for exchange in stage.open {
            file.head(exchange)
            exchange.body(file.pattern, 0..<100_000)
        }
        stage.engine.pause(paused)
        #expect(stage.store.counts.releases == 0)
        stage.engine.cancel(running, keeping: true)
        #expect(stage.store.counts.releases == 1)
        stage.engine.cancel(paused, keeping: true)
        #expect(stage.store.counts.releases == 2)
        #expect(stage.store.partials.count == 2)
    }

    @Test("a host that is held is probed in time though the transfer that failed was cancelled")
    func heldBack() throws {
        let stage = Stage(limit: 1)
        let first = try stage.add("http://a/f") { $0.outageTimeout = .seconds(3600) }
        let second = try stage.add("http://a/g") { $0.outageTimeout = .seconds(3600) }
        try stage.exchange().fail(TransportError(.refused, "refused"))
        #expect(stage.open.isEmpty)
        #expect(stage.engine.holds.map(\.message) == ["refused"])
        stage.engine.cancel(first)
        stage.clock.advance(by: .seconds(60))
        self.small.answer(try #require(stage.open.first))
        #expect(stage.end(second) == "finished")
    }

    @Test("stop() keeps partial files and returns after every transfer has ended")
    func stop() async throws {
        let stage = Stage(limit: 2)
        let file = Served(length: Served.large)
        try stage.add("http://a/f")
        try stage.add("http://b/g")
        try stage.add("http://c/h")
        for exchange in stage.open {
            file.head(exchange)
            exchange.body(file.pattern, 0..<100_000)
        }
        await stage.engine.stop()
        #expect(stage.open.isEmpty)
        #expect(stage.engine.counts.running == 0)
        #expect(stage.engine.counts.waiting == 3)
        #expect(stage.store.partials.values.allSatisfy { !$0.isBusy && $0.extents == [0..<100_000] })
        #expect(stage.store.partials.count == 2)
        #expect(stage.store.counts.keeps == 2)
    }

    @Test("a file that is about to be made when its transfer is paused is waited for, and not made")
    func stopWhileOpening() async throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool)
        let id = try stage.add("http://a/f")
        try Served(length: Served.large).head(stage.exchange())
        #expect(pool.count == 1)
        stage.engine.pause(id)
        #expect(stage.engine.counts.running == 1)
        pool.runAll()
        #expect(stage.engine.state(of: id) == .paused)
        #expect(stage.store.partials.isEmpty)
        await stage.engine.stop()
    }

    @Test("higher priorities start first")
    func priorities() throws {
        let stage = Stage(limit: 1, starts: false)
        try stage.add("http://a/low") { $0.priority = .low }
        try stage.add("http://a/normal")
        try stage.add("http://a/high") { $0.priority = .high }
        let late = try stage.add("http://a/late") { $0.priority = .low }
        stage.engine.setPriority(.foreground, of: late)
        stage.engine.start()
        var order: [String] = []
        while let exchange = stage.open.first {
            order.append(exchange.request.url.redacted)
            self.small.answer(exchange)
        }
        #expect(order == ["http://a/late", "http://a/high", "http://a/normal", "http://a/low"])
    }

    @Test("one host never gets more connections than the cap, and gets each back")
    func perHost() throws {
        let stage = Stage(limit: 6, perHost: 2)
        for index in 0..<5 { try stage.add("http://a/f\(index)") }
        try stage.add("http://b/g")
        #expect(stage.open.count == 3)
        var most = 0
        while let exchange = stage.open.first {
            most = max(most, stage.open.count { $0.request.url.redacted.hasPrefix("http://a/") })
            self.small.answer(exchange)
        }
        #expect(most == 2)
        #expect(stage.engine.counts.finished == 6)
        for index in 0..<2 { try stage.add("http://a/h\(index)") }
        #expect(stage.open.count == 2)
    }
}
