// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Transfers of one host")
struct SharedHostTests {
    private let file = Served(length: 30 << 20)
    private let small = Served(length: 100)

    /// A stage where one transfer has so many connections to host `a`.
    private func stage(perHost: Int?, fixed: Int, lanes: Int = 1) throws -> (stage: Stage, id: TransferID) {
        let stage = Stage(limit: 3, perHost: perHost, lanes: lanes)
        let id = try stage.add("http://a/large") { $0.connections = .fixed(fixed) }
        try self.file.head(stage.exchange())
        return (stage, id)
    }

    private func exchange(_ stage: Stage, _ url: String) -> ScriptedExchange? {
        stage.open.first { $0.request.url.description == url }
    }

    private func serveAll(_ stage: Stage, first: ScriptedExchange) {
        while let exchange = stage.open.first {
            if exchange === first {
                exchange.body(self.file.pattern, 0..<self.file.length)
                if !exchange.hasEnded { exchange.end() }
            } else {
                self.file.answer(exchange)
            }
        }
    }

    @Test("a small file does not wait for a large one that has all connections", arguments: [1, 2])
    func starvation(lanes: Int) throws {
        // As by `-j 3`: four connections to a host.
        let (stage, large) = try self.stage(perHost: 4, fixed: 4, lanes: lanes)
        let first = try stage.exchange()
        #expect(stage.open.count == 4)
        let id = try stage.add("http://a/small")
        #expect(stage.open.count == 4)
        self.small.answer(try #require(self.exchange(stage, "http://a/small")))
        #expect(stage.end(id) == "finished")
        // The large file gets its connection again.
        stage.clock.advance(by: .seconds(1))
        #expect(stage.open.count == 4 && stage.open.allSatisfy { $0.request.url.description == "http://a/large" })
        self.serveAll(stage, first: first)
        #expect(stage.end(large) == "finished" && stage.holds(self.file, at: "large"))
    }

    @Test("as many small files start as have a place; the large file keeps one connection")
    func several() throws {
        let (stage, large) = try self.stage(perHost: 4, fixed: 4)
        let first = try stage.exchange()
        for index in 0..<4 { try stage.add("http://a/small\(index)") }
        #expect(stage.open.count == 4)
        #expect(stage.open.count { $0.request.url.description == "http://a/large" } == 2)
        #expect(stage.engine.counts.running == 3)
        for index in 0..<4 { self.small.answer(try #require(self.exchange(stage, "http://a/small\(index)"))) }
        #expect(stage.engine.counts.finished == 4)
        self.serveAll(stage, first: first)
        #expect(stage.end(large) == "finished" && stage.holds(self.file, at: "large"))
    }

    @Test("a transfer that is redirected to a host gets a connection of one that has several")
    func redirected() throws {
        let (stage, _) = try self.stage(perHost: 4, fixed: 4)
        let id = try stage.add("http://b/f")
        let exchange = try #require(self.exchange(stage, "http://b/f"))
        exchange.respond(302, ["Location": "http://a/small", "Content-Length": "0"])
        exchange.end()
        #expect(stage.open.count == 4)
        self.small.answer(try #require(self.exchange(stage, "http://a/small")))
        #expect(stage.end(id) == "finished")
    }

    @Test(
        "a number of connections that the caller has fixed is cut by a limit that was set, not by a derived one",
        arguments: [(nil, 16), (6, 6)]
    )
    func fixed(perHost: Int?, expected: Int) throws {
        let (stage, id) = try self.stage(perHost: perHost, fixed: 16)
        #expect(stage.open.count == expected)
        stage.engine.setConnectionLimits(ofHosts: ["a": 2])
        let other = try stage.add("http://a/small") { $0.connections = .fixed(16) }
        for _ in 0..<20 { stage.clock.advance(by: .seconds(1)) }
        #expect(stage.open.count == 2)
        self.small.answer(try #require(self.exchange(stage, "http://a/small")))
        #expect(stage.end(other) == "finished" && stage.end(id) == nil)
    }

    @Test("a large number of transfers that end as they begin does not nest")
    func depth() throws {
        let stage = Stage(limit: 1, starts: false)
        stage.transport.onStart { self.small.answer($0) }
        for index in 0..<20_000 { try stage.add("http://a/f\(index)") }
        stage.engine.start()
        #expect(stage.engine.counts.finished == 20_000)
    }
}
