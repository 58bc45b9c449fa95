// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Politeness of the engine")
struct PolitenessTests {
    private func obeying(_ change: (inout PolitenessLimits) -> Void = { _ in }) -> PolitenessLimits {
        var limits = PolitenessLimits()
        limits.obeysRobots = true
        change(&limits)
        return limits
    }

    private func answer(_ exchange: ScriptedExchange, rules: String) {
        exchange.respond(200, framing: .length(Int64(rules.utf8.count)))
        exchange.body(Array(rules.utf8))
        exchange.end()
    }

    @Test("files wait for the rules of their origin without a slot; a denied one fails at once")
    func rules() throws {
        let stage = Stage(limit: 1, politeness: self.obeying())
        let denied = try stage.add("http://a/private/x")
        let allowed = try stage.add("http://a/public")
        let other = try stage.add("http://b/f")
        #expect(stage.open.map(\.request.url.description) == ["http://a/robots.txt", "http://b/robots.txt"])
        #expect(try stage.exchange()["User-Agent"]?.hasPrefix("martlet/") == true)
        try stage.exchange(1).respond(404)
        #expect(try stage.exchange(1).request.url.description == "http://b/f")
        try Served(length: 4).answer(stage.exchange(1))
        #expect(stage.end(other) == "finished")
        try self.answer(stage.exchange(), rules: "User-agent: martlet\nDisallow: /private/")
        let failure = stage.failure(denied)
        #expect(failure?.code == .robotsDenied && failure?.isRetryable == false)
        #expect(try stage.exchange().request.url.description == "http://a/public")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(allowed) == "finished")
    }

    @Test("the rules of a redirect's target are fetched before the request")
    func redirect() throws {
        let stage = Stage(politeness: self.obeying())
        let id = try stage.add("http://a/f")
        try stage.exchange().respond(404)
        try stage.exchange().respond(302, ["Location": "http://b/g", "Content-Length": "0"])
        if stage.open.first?.request.url.path == "/f" { try stage.exchange().end() }
        #expect(try stage.exchange().request.url.description == "http://b/robots.txt")
        try self.answer(stage.exchange(), rules: "User-agent: *\nDisallow: /g")
        #expect(stage.failure(id)?.code == .robotsDenied)
    }

    @Test("the requests for rules and for files have the rule for addresses")
    func addresses() throws {
        let rule = AddressRule(refusing: .metadata)
        let stage = Stage(politeness: self.obeying { $0.addresses = rule })
        _ = try stage.add("http://a/f") { $0.addresses = rule }
        #expect(try stage.exchange().request.url.path == "/robots.txt")
        #expect(try stage.exchange().request.addresses == rule)
        try stage.exchange().respond(404)
        #expect(try stage.exchange().request.url.path == "/f")
        #expect(try stage.exchange().request.addresses == rule)
    }

    @Test("rules that the server fails to provide hold the host, and are requested again", arguments: [429, 500, 503])
    func refused(status: Int) throws {
        let stage = Stage(politeness: self.obeying())
        let ids = try (0..<3).map { try stage.add("http://a/\($0)") { $0.outageTimeout = .seconds(30) } }
        for _ in 0..<3 {
            #expect(try stage.exchange().request.url.description == "http://a/robots.txt")
            try stage.exchange().respond(status)
            #expect(stage.open.isEmpty && ids.allSatisfy { stage.end($0) == nil })
            #expect(stage.engine.holds.map(\.reason) == [.errors])
            for _ in 0..<20 where stage.open.isEmpty { stage.clock.advanceToNext() }
        }
        try stage.exchange().respond(404)
        while !stage.open.isEmpty { try Served(length: 4).answer(stage.exchange()) }
        #expect(ids.allSatisfy { stage.end($0) == "finished" })
    }

    @Test("rules that the server fails to provide for longer than the outage timeout fail the files")
    func refusedForLong() throws {
        let stage = Stage(politeness: self.obeying())
        let ids = try (0..<3).map { try stage.add("http://a/\($0)") { $0.outageTimeout = .seconds(30) } }
        for _ in 0..<200 where ids.contains(where: { stage.failure($0) == nil }) {
            if stage.open.isEmpty { stage.clock.advanceToNext() } else { try stage.exchange().respond(503) }
        }
        #expect(ids.allSatisfy { stage.failure($0)?.code == .overloaded })
    }

    @Test("an unreachable host is an outage, not a denial")
    func unavailable() throws {
        let stage = Stage(politeness: self.obeying())
        let held = try stage.add("http://b/f") { $0.outageTimeout = .seconds(3600) }
        var error = TransportError(.refused, "no")
        error.peer = Origin(scheme: .http, host: "b", port: 80)
        try stage.exchange().fail(error)
        #expect(stage.end(held) == nil)
        for _ in 0..<20 where stage.open.isEmpty { stage.clock.advanceToNext() }
        #expect(try stage.exchange().request.url.description == "http://b/robots.txt")
        try stage.exchange().respond(404)
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(held) == "finished")
    }

    @Test("a Crawl-delay and an interval separate the starts of requests, of redirects too")
    func intervals() throws {
        let stage = Stage(politeness: self.obeying { $0.hostInterval = 1_000_000_000 })
        let first = try stage.add("http://a/1")
        let second = try stage.add("http://a/2")
        let began = stage.clock.now
        try self.answer(stage.exchange(), rules: "User-agent: *\nCrawl-delay: 2")
        #expect(stage.open.isEmpty)
        func next() throws -> Double {
            for _ in 0..<100 where stage.open.isEmpty { stage.clock.advanceToNext() }
            _ = try stage.exchange()
            return Double(stage.clock.now - began) / 1e9
        }
        #expect(try next() == 2)
        try stage.exchange().respond(302, ["Location": "/3", "Content-Length": "0"])
        if stage.open.first?.request.url.path == "/1" { try stage.exchange().end() }
        var starts: [Double] = []
        for _ in 0..<2 {
            starts.append(try next())
            try Served(length: 4).answer(stage.exchange())
        }
        #expect(starts == [4, 6])
        #expect(stage.end(first) == "finished" && stage.end(second) == "finished")
    }
}
