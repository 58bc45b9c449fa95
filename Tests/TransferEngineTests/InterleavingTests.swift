// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("What is asked of a transfer between two of its steps")
struct InterleavingTests {
    /// A transfer that has some bytes of a large file, and is paused.
    private func paused(_ stage: Stage, _ pool: ManualPool, _ file: Served) throws -> TransferID {
        let id = try stage.add("http://a/f")
        let exchange = try stage.exchange()
        file.head(exchange)
        pool.runAll()
        exchange.body(file.pattern, 0..<500_000)
        pool.runAll()
        stage.engine.pause(id)
        pool.runAll()
        #expect(stage.engine.state(of: id) == .paused && stage.store.partials["f"]?.extents == [0..<500_000])
        return id
    }

    @Test("cancelled while its file is being made, it leaves none")
    func cancelledWhileMaking() throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool)
        let id = try stage.add("http://a/f")
        Served(length: Served.large).head(try stage.exchange())
        #expect(pool.count == 1)
        stage.engine.cancel(id)
        pool.runAll()
        #expect(stage.end(id) == "cancelled" && stage.store.partials.isEmpty)
    }

    @Test("cancelled while what it has is opened, it leaves nothing; kept, it leaves that", arguments: [false, true])
    func cancelledWhileOpening(keeping: Bool) throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool)
        let id = try self.paused(stage, pool, Served(length: Served.large))
        stage.engine.resume(id)
        stage.engine.cancel(id, keeping: keeping)
        pool.runAll()
        #expect(stage.end(id) == "cancelled" && stage.store.partials.isEmpty == !keeping)
        #expect(stage.store.partials["f"]?.isBusy != true)
    }

    @Test("a transfer to the name of a transfer that was just cancelled restarts")
    func namesake() throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool, releasesNames: true)
        let file = Served(length: Served.large)
        let id = try self.paused(stage, pool, file)
        stage.engine.cancel(id)
        let next = try stage.add("http://a/f")
        pool.runAll()
        let exchange = try stage.exchange()
        let range = file.head(exchange)
        #expect(range == 0..<file.length)
        pool.runAll()
        exchange.body(file.pattern, range)
        exchange.end()
        pool.runAll()
        #expect(stage.end(next) == "finished" && stage.holds(file), "\(stage.words(next))")
    }

    @Test(
        "a file of the user's own keeps its name until all of it is there, and outlasts a cancellation",
        arguments: 0..<3
    )
    func continued(way: Int) throws {
        let stage = Stage()
        var file = Served(length: Served.large)
        stage.store.add(.init(file.pattern.bytes(0..<2_000_000)), at: "f")
        let id = try stage.add("http://a/f") { $0.ifExists = .resume }
        let exchange = try stage.exchange()
        let range = file.head(exchange)
        exchange.body(file.pattern, range.lowerBound..<2_001_000)
        let own = TestPattern(seed: 7).bytes(0..<2_000_000)
        #expect(stage.store.files["f"]?.bytes == own)
        #expect(stage.store.partials["f"]?.extents == [0..<2_001_000])
        stage.engine.pause(id)
        #expect(stage.engine.state(of: id) == .paused)
        if way == 0 {
            stage.engine.cancel(id)
            #expect(stage.store.partials.isEmpty)
            #expect(stage.store.files["f"]?.bytes == own)
            return
        }
        // Another version is there now: it gets another name.
        if way == 1 {
            file.tag = "\"two\""
            file.pattern = TestPattern(seed: 8)
        }
        stage.engine.resume(id)
        while let exchange = stage.open.first { file.answer(exchange) }
        stage.run(until: id)
        #expect(stage.end(id) == "finished", "\(stage.words(id))")
        if way == 1 {
            #expect(stage.store.files["f"]?.bytes == own)
            #expect(stage.completion(id)?.path == "f.1" && stage.holds(file, at: "f.1"))
        } else {
            #expect(stage.store.files.count == 1 && stage.holds(file))
        }
    }

    @Test("a connection that is waited for by one that has gone is given to the next in line")
    func staleWaiter() throws {
        let stage = Stage(perHost: 1, lanes: 2)
        let small = Served(length: 10)
        let running = try stage.add("http://b/c")
        let redirected = try stage.add("http://a/f")
        let waiting = try stage.add("http://b/b")
        let first = try #require(stage.open.first { $0.request.url.description == "http://b/c" })
        let second = try #require(stage.open.first { $0.request.url.description == "http://a/f" })
        second.respond(302, ["Location": "http://b/f", "Content-Length": "0"])
        second.end()
        stage.engine.pause(redirected)
        small.answer(first)
        #expect(stage.end(running) == "finished")
        let third = try #require(stage.open.first { $0.request.url.description == "http://b/b" })
        small.answer(third)
        #expect(stage.end(waiting) == "finished")
    }

    @Test("a stream upload that is cancelled while it is paused releases its source")
    func pausedStream() throws {
        let stage = Stage()
        let source = PiecewiseStream([[1, 2]], ends: false)
        let id = try stage.upload(.stream(source))
        stage.engine.pause(id)
        #expect(!source.isCancelled)
        stage.engine.cancel(id)
        #expect(stage.end(id) == "cancelled" && source.isCancelled)
    }
}
