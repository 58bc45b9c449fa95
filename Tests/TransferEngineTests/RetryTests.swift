// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Retries, timeouts and rates")
struct RetryTests {
    @Test("a failed attempt is made again after its delay, which the clock alone measures")
    func backoff() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f")
        try stage.exchange().fail(TransportError(.reset, "reset"))
        let delay = try #require(stage.retries(id).first)
        #expect(delay >= .milliseconds(50) && delay <= .milliseconds(500))
        #expect(stage.open.isEmpty)
        stage.clock.advance(by: delay)
        Served(length: 5).answer(try #require(stage.open.first))
        #expect(stage.words(id) == ["started", "retrying", "started", "response", "finished"])
    }

    @Test("the time between attempts is at least the one that was asked for")
    func retryWait() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f") { $0.retryWait = .seconds(9) }
        try stage.exchange().fail(TransportError(.reset, "reset"))
        #expect(stage.retries(id) == [.seconds(9)])
        stage.clock.advance(by: .seconds(9))
        try stage.exchange().respond(503, ["Retry-After": "20", "Content-Length": "0"])
        try stage.exchange().end()
        #expect(stage.retries(id).last == .seconds(20))
    }

    @Test("Retry-After in seconds and as a date is the delay, capped")
    func retryAfter() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f")
        try stage.exchange().respond(503, ["Retry-After": "7", "Content-Length": "0"])
        try stage.exchange().end()
        #expect(stage.retries(id) == [.seconds(7)])
        stage.clock.advance(by: .seconds(7))
        try stage.exchange().respond(429, ["Retry-After": "999999999", "Content-Length": "0"])
        try stage.exchange().end()
        #expect(stage.retries(id).last == .seconds(300))
    }

    @Test("an unlisted status fails at once")
    func notFound() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f")
        try stage.exchange().respond(404, ["Content-Length": "0"])
        try stage.exchange().end()
        #expect(stage.failure(id)?.code == .notFound)
        #expect(stage.store.files.isEmpty)
    }

    @Test("a server that cuts at the same place every time ends with a failure")
    func sameCut() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        stage.transport.onStart { exchange in
            let from = file.asked(exchange)?.lowerBound ?? 0
            file.answer(exchange, cutAfter: max(0, 700_000 - from))
        }
        let id = try stage.add("http://a/f") { $0.retries = 3 }
        stage.run(until: id, timers: 2000)
        #expect(stage.end(id) == "failed")
        #expect(stage.transport.exchanges.count <= 6)
        #expect(stage.store.partials["f"]?.extents == [0..<700_000])
    }

    @Test("a server that brings something new each time may be asked for ever")
    func progress() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        stage.transport.onStart { file.answer($0, cutAfter: 100_000) }
        let id = try stage.add("http://a/f") { $0.retries = 2 }
        stage.run(until: id)
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(file))
        #expect(stage.transport.exchanges.count > 20)
    }

    @Test("no response head in time is a timeout; time before the connection is not counted")
    func headTimeout() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f") {
            $0.stallTimeout = .seconds(10)
            $0.retries = 0
        }
        stage.clock.advance(by: .seconds(100))
        #expect(stage.end(id) == nil)
        try stage.exchange().connect()
        stage.clock.advance(by: .seconds(9))
        #expect(stage.end(id) == nil)
        stage.clock.advance(by: .seconds(2))
        #expect(stage.failure(id)?.code == .timeout)
        #expect(stage.open.isEmpty)
    }

    @Test("a stall is a timeout, and bytes put it off")
    func stall() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f") {
            $0.stallTimeout = .seconds(10)
            $0.retries = 0
        }
        try file.head(stage.exchange())
        for step in 0..<5 {
            stage.clock.advance(by: .seconds(8))
            try stage.exchange().body(file.pattern, Int64(step * 10)..<Int64(step * 10 + 10))
        }
        #expect(stage.end(id) == nil)
        stage.clock.advance(by: .seconds(11))
        #expect(stage.failure(id)?.code == .timeout)
        #expect(stage.store.partials["f"]?.extents == [0..<50])
    }

    @Test("the total timeout never counts time in the queue")
    func total() throws {
        let stage = Stage(limit: 1)
        let first = try stage.add("http://a/f") { $0.stallTimeout = .zero }
        let second = try stage.add("http://b/g") {
            $0.totalTimeout = .seconds(5)
            $0.stallTimeout = .zero
        }
        stage.clock.advance(by: .seconds(3600))
        #expect(stage.end(second) == nil)
        stage.engine.cancel(first)
        stage.clock.advance(by: .seconds(4))
        #expect(stage.end(second) == nil)
        stage.clock.advance(by: .seconds(2))
        #expect(stage.failure(second)?.code == .timeout)
    }

    @Test("waiting for a connection to the target of a redirect is not a stall")
    func redirectInLine() throws {
        let stage = Stage(perHost: 1)
        let first = try stage.add("http://b/g") { $0.stallTimeout = .zero }
        let second = try stage.add("http://a/f") {
            $0.stallTimeout = .seconds(5)
            $0.retries = 0
        }
        try stage.exchange(1).respond(302, ["Location": "http://b/h", "Content-Length": "0"])
        try stage.exchange(1).end()
        #expect(stage.open.count == 1)
        stage.clock.advance(by: .seconds(60))
        #expect(stage.end(second) == nil)
        try Served(length: 3).answer(stage.exchange())
        stage.clock.advance(by: .seconds(1))
        Served(length: 3).answer(try #require(stage.open.first))
        #expect(stage.end(first) == "finished")
        #expect(stage.end(second) == "finished")
    }

    @Test("a rate limit holds within five per cent, and pauses the exchange meanwhile")
    func rate() throws {
        let stage = Stage(rate: 1_000_000)
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f") { $0.stallTimeout = .seconds(5) }
        let begin = stage.clock.now
        let exchange = try stage.exchange()
        file.head(exchange)
        var offset: Int64 = 0
        while offset < file.length {
            offset = exchange.body(file.pattern, offset..<file.length)
            #expect(exchange.isPaused)
            while exchange.isPaused { stage.clock.advanceToNext() }
        }
        exchange.end()
        #expect(stage.end(id) == "finished")
        let seconds = Double(stage.clock.now - begin) / 1e9
        let wanted = Double(file.length) / 1_000_000
        #expect(abs(seconds - wanted) < wanted * 0.05)
    }

    @Test("the time between attempts is the transfer's own: where none would be left it ends at once, and says why")
    func waitingCounts() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f") { $0.totalTimeout = .seconds(5) }
        try stage.exchange().respond(503, ["Retry-After": "10", "Content-Length": "0"], framing: .none)
        try stage.exchange().end()
        #expect(stage.failure(id)?.code == .timeout && stage.failure(id)?.setting == .resourceTimeout)
        #expect(stage.failure(id)?.message.contains("503") == true)
        let other = try stage.add("http://b/f") { $0.totalTimeout = .seconds(5) }
        try stage.exchange().respond(503, ["Retry-After": "3", "Content-Length": "0"], framing: .none)
        try stage.exchange().end()
        stage.clock.advance(by: .seconds(3))
        // It has two seconds left.
        try stage.exchange().connect()
        stage.clock.advance(by: .seconds(3))
        #expect(stage.failure(other)?.code == .timeout)
    }

    @Test("a limit of one transfer leaves another alone")
    func ownRate() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        try stage.add("http://a/f") { $0.rateLimit = 1000 }
        let free = try stage.add("http://b/g")
        try file.head(stage.exchange())
        try stage.exchange().body(file.pattern, 0..<16_384)
        #expect(try stage.exchange().isPaused)
        try file.answer(stage.exchange(1))
        #expect(stage.end(free) == "finished")
    }
}
