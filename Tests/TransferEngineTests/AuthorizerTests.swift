// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Keeps cookies in memory.
private final class MemoryCookies: CookieKeeper {
    private let jar = Mutex(CookieJar())

    var isEmpty: Bool { self.jar.withLock { $0.isEmpty } }

    func field(for url: HTTPURL) -> String? { self.jar.withLock { $0.field(for: url, now: 0) } }

    func receive(_ values: [String], from url: HTTPURL) {
        self.jar.withLock { $0.receive(values, from: url, now: 0) }
    }
}

@Suite("Credentials and cookies that the transfers of an engine share")
struct AuthorizerTests {
    private func authorizer(_ change: (inout CredentialSources) -> Void = { _ in }) -> Authenticator {
        var sources = CredentialSources()
        sources.sendsAhead = true
        change(&sources)
        return Authenticator(sources, hash: PlainDigests.hash)
    }

    private func refuse(_ exchange: ScriptedExchange, _ challenge: String) {
        exchange.respond(401, ["WWW-Authenticate": challenge, "Content-Length": "0"])
        exchange.end()
    }

    private let digest = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""

    @Test("A user name in a URL is sent by Basic, and by Digest after a challenge for it")
    func userInformation() throws {
        let stage = Stage()
        let authorizer = self.authorizer()
        let id = try stage.add("http://u:p@a/f") { $0.authorizer = authorizer }
        #expect(try stage.exchange()["Authorization"] == "Basic dTpw")
        try self.refuse(stage.exchange(), self.digest)
        #expect(try stage.exchange()["Authorization"]?.hasPrefix("Digest ") == true)
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(id) == "finished")
    }

    @Test("An upload is repeated with Digest")
    func upload() throws {
        let stage = Stage()
        var options = DownloadOptions()
        options.authorizer = self.authorizer { $0.own = .password(user: "u", password: "p") }
        var request = UploadRequest(try HTTPURL("http://a/f"), .bytes([1, 2, 3]), options: options)
        request.way = .plain
        let id = try stage.engine.add(request)
        try self.refuse(stage.exchange(), self.digest)
        #expect(try stage.exchange()["Authorization"]?.hasPrefix("Digest ") == true)
        let repeated = try stage.exchange()
        #expect(repeated.pull() == [1, 2, 3])
        repeated.respond(201, ["Content-Length": "0"])
        repeated.end()
        #expect(stage.end(id) == "finished", "\(stage.failure(id)?.message ?? "")")
    }

    @Test("Refused credentials fail the transfer at once, and the message says so")
    func refused() throws {
        let stage = Stage()
        let authorizer = self.authorizer { $0.own = .password(user: "u", password: "p") }
        let id = try stage.add("http://a/f") { $0.authorizer = authorizer }
        try self.refuse(stage.exchange(), "Basic realm=\"r\"")
        #expect(stage.failure(id)?.message.contains("the credentials were refused (Basic)") == true)
        #expect(stage.transport.exchanges.count == 1)
    }

    @Test("Without credentials, one request is made, and the message says that they are missing")
    func missing() throws {
        let stage = Stage()
        let authorizer = self.authorizer()
        let id = try stage.add("http://a/f") { $0.authorizer = authorizer }
        try self.refuse(stage.exchange(), self.digest)
        #expect(stage.failure(id)?.message.contains("credentials are required (Digest)") == true)
        #expect(stage.transport.exchanges.count == 1)
    }

    @Test("The caller's own field is not replaced, and not sent again after a refusal")
    func ownField() throws {
        let stage = Stage()
        let authorizer = self.authorizer { $0.own = .password(user: "u", password: "p") }
        let id = try stage.add("http://a/f", fields: [("authorization", "Bearer t")]) { $0.authorizer = authorizer }
        #expect(try stage.exchange()["Authorization"] == "Bearer t")
        try self.refuse(stage.exchange(), self.digest)
        #expect(stage.failure(id)?.message.contains("were refused") == true)
        #expect(stage.transport.exchanges.count == 1)
    }

    @Test("After a redirect to another origin nothing is sent, also on the way back")
    func redirects() throws {
        let stage = Stage()
        let authorizer = self.authorizer { $0.own = .password(user: "u", password: "p") }
        let id = try stage.add("http://a/f") { $0.authorizer = authorizer }
        for location in ["http://b/", "http://a/g"] {
            try stage.exchange().respond(302, ["Location": location, "Content-Length": "0"])
            try stage.exchange().end()
            #expect(try stage.exchange()["Authorization"] == nil)
        }
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(id) == "finished")
    }

    @Test("A login that sets cookies on its redirects works, and the next transfer sends them")
    func cookies() throws {
        let stage = Stage()
        let cookies = MemoryCookies()
        let first = try stage.add("http://a.example/f", fields: [("Cookie", "mine=1; session=old")]) {
            $0.cookies = cookies
        }
        #expect(try stage.exchange()["Cookie"] == "mine=1; session=old")
        let login = "http://b.example/login"
        try stage.exchange().respond(302, ["Location": login, "Set-Cookie": "session=new", "Content-Length": "0"])
        try stage.exchange().end()
        #expect(try stage.exchange()["Cookie"] == nil)
        try stage.exchange()
            .respond(
                302,
                [
                    "Location": "http://a.example/f", "Set-Cookie": "id=7",
                    "Set-Cookie": "evil=1; Domain=a.example", "Content-Length": "0",
                ]
            )
        try stage.exchange().end()
        // The user's own field is not sent after another origin has chosen the URL.
        #expect(try stage.exchange()["Cookie"] == "session=new")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(first) == "finished")
        let second = try stage.add("http://b.example/g") { $0.cookies = cookies }
        #expect(try stage.exchange()["Cookie"] == "id=7")
        try Served(length: 4).answer(stage.exchange())
        #expect(stage.end(second) == "finished")
    }
}
