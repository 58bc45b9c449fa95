// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Redirects")
struct RedirectTests {
    private func redirect(_ exchange: ScriptedExchange, to location: String) {
        exchange.respond(302, ["Location": location, "Content-Length": "0"])
        exchange.end()
    }

    @Test("credentials and the user's own fields are dropped at another origin, and kept at the same one")
    func credentials() throws {
        let stage = Stage()
        let id = try stage.add("http://me:secret@a/f", fields: [("Cookie", "c=1"), ("User-Agent", "x")])
        #expect(try stage.exchange()["Authorization"] == "Basic bWU6c2VjcmV0")
        try self.redirect(stage.exchange(), to: "/g")
        #expect(try stage.exchange()["Authorization"] != nil)
        #expect(try stage.exchange()["Cookie"] == "c=1")
        try self.redirect(stage.exchange(), to: "http://a:8080/g")
        #expect(try stage.exchange()["Authorization"] == nil)
        #expect(try stage.exchange()["Cookie"] == nil)
        #expect(try stage.exchange()["User-Agent"] == "x")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(id) == "finished")
    }

    @Test("at the own origin they stay dropped if another one has chosen the URL, also for further ranges")
    func credentialsOnTheWayBack() throws {
        let stage = Stage()
        let id = try stage.add("http://me:secret@a/f", fields: [("Cookie", "c=1"), ("User-Agent", "x")]) {
            $0.connections = .fixed(2)
            $0.minimumSplit = 100_000
        }
        try self.redirect(stage.exchange(), to: "http://b/")
        try self.redirect(stage.exchange(), to: "http://a/logout?all=1")
        #expect(try stage.exchange().request.url.redacted == "http://a/logout")
        Served(length: Served.large).head(try stage.exchange())
        let further = try stage.exchange(1)
        #expect(further["Range"] != nil && further.request.url.origin.host == "a")
        for exchange in stage.open {
            #expect(exchange["Authorization"] == nil && exchange["Cookie"] == nil && exchange["User-Agent"] == "x")
        }
        stage.engine.cancel(id)
    }

    @Test("the next attempt requests the first URL again, with the credentials")
    func credentialsOfTheNextAttempt() throws {
        let stage = Stage()
        _ = try stage.add("http://me:secret@a/f")
        try self.redirect(stage.exchange(), to: "http://b/")
        try self.redirect(stage.exchange(), to: "http://a/g")
        try stage.exchange().fail(TransportError(.reset, "the connection was reset"))
        stage.clock.advance(by: .seconds(31))
        #expect(try stage.exchange().request.url.redacted == "http://a/f")
        #expect(try stage.exchange()["Authorization"] != nil)
    }

    @Test("a redirect never chooses the file's name")
    func name() throws {
        let stage = Stage()
        let id = try stage.add("http://a/wanted.txt")
        try self.redirect(stage.exchange(), to: "http://b/.bashrc")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.completion(id)?.path == "wanted.txt")
    }

    @Test("a loop ends after twenty redirects")
    func loop() throws {
        let stage = Stage()
        stage.transport.onStart { exchange in
            exchange.respond(302, ["Location": "/f", "Content-Length": "0"])
            exchange.end()
        }
        let id = try stage.add("http://a/f")
        #expect(stage.failure(id)?.code == .redirects)
        #expect(stage.transport.exchanges.count == 21)
    }

    @Test("https to http is refused unless it was allowed, other schemes always")
    func downgrade() throws {
        let stage = Stage()
        let refused = try stage.add("https://a/f")
        try self.redirect(stage.exchange(), to: "http://a/f")
        #expect(stage.failure(refused)?.code == .redirects)
        let allowed = try stage.add("https://a/g") { $0.allowsDowngrade = true }
        try self.redirect(stage.exchange(), to: "http://a/g")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(allowed) == "finished")
        let file = try stage.add("https://a/h")
        try self.redirect(stage.exchange(), to: "file:///etc/passwd")
        #expect(stage.failure(file)?.code == .redirects)
    }

    @Test("resuming asks the original URL again")
    func resume() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f")
        try self.redirect(stage.exchange(), to: "http://b/signed?x=1")
        try file.answer(stage.exchange(), cutAfter: 100_000)
        stage.clock.advance(by: .seconds(31))
        #expect(try stage.exchange().request.url.redacted == "http://a/f")
        try self.redirect(stage.exchange(), to: "http://b/signed?x=2")
        #expect(try stage.exchange()["Range"] == "bytes=100000-")
        try file.answer(stage.exchange())
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(file))
    }
}
