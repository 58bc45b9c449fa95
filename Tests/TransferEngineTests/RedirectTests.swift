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
        #expect(stage.open[0]["Authorization"] == "Basic bWU6c2VjcmV0")
        self.redirect(stage.open[0], to: "/g")
        #expect(stage.open[0]["Authorization"] != nil)
        #expect(stage.open[0]["Cookie"] == "c=1")
        self.redirect(stage.open[0], to: "http://a:8080/g")
        #expect(stage.open[0]["Authorization"] == nil)
        #expect(stage.open[0]["Cookie"] == nil)
        #expect(stage.open[0]["User-Agent"] == "x")
        Served(length: 4).answer(stage.open[0])
        #expect(stage.end(id) == "finished")
    }

    @Test("a redirect never chooses the file's name")
    func name() throws {
        let stage = Stage()
        let id = try stage.add("http://a/wanted.txt")
        self.redirect(stage.open[0], to: "http://b/.bashrc")
        Served(length: 4).answer(stage.open[0])
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
        self.redirect(stage.open[0], to: "http://a/f")
        #expect(stage.failure(refused)?.code == .redirects)
        let allowed = try stage.add("https://a/g") { $0.allowsDowngrade = true }
        self.redirect(stage.open[0], to: "http://a/g")
        Served(length: 4).answer(stage.open[0])
        #expect(stage.end(allowed) == "finished")
        let file = try stage.add("https://a/h")
        self.redirect(stage.open[0], to: "file:///etc/passwd")
        #expect(stage.failure(file)?.code == .redirects)
    }

    @Test("resuming asks the original URL again")
    func resume() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f")
        self.redirect(stage.open[0], to: "http://b/signed?x=1")
        file.answer(stage.open[0], cutAfter: 100_000)
        stage.clock.advance(by: .seconds(31))
        #expect(stage.open[0].request.url.redacted == "http://a/f")
        self.redirect(stage.open[0], to: "http://b/signed?x=2")
        #expect(stage.open[0]["Range"] == "bytes=100000-")
        file.answer(stage.open[0])
        #expect(stage.end(id) == "finished")
        #expect(stage.store.files["f"]?.bytes == file.bytes)
    }
}
