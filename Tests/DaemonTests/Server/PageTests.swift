// SPDX-License-Identifier: Apache-2.0
import Control
import HTTPServer
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("The daemon's page", .timeLimit(.minutes(1)))
struct PageTests {
    static let call = #"{"id":1,"method":"martlet.counts","params":[{}]}"#

    /// Sends a request as a browser does, from a page of an origin.
    private func request(
        _ harness: ServerHarness,
        _ method: String,
        _ target: String,
        _ fields: [String] = [],
        origin: String? = "page",
        body: String = ""
    ) async throws -> RawReply {
        let connection = try await harness.tcp()
        let host = "127.0.0.1:\(harness.port)"
        let origins = origin.map { ["Origin: \($0 == "page" ? "http://\(host)" : $0)"] } ?? []
        let reply = try await connection.request(method, target, origins + fields, host: host, body: body)
        await connection.close()
        return reply
    }

    /// A link of `martlet web`, as its path and query.
    private func link(_ harness: ServerHarness) async throws -> String {
        let socket = try await harness.local()
        let reply = try await socket.request(body: #"{"id":1,"method":"martlet.pageTicket","params":[{}]}"#)
        await socket.close()
        let url = try #require(try JSON(parsing: reply.body)["result"]?["url"]?.string)
        #expect(url.hasPrefix("http://127.0.0.1:\(harness.port)/?ticket="))
        return String(url.dropFirst("http://127.0.0.1:\(harness.port)".count))
    }

    /// A cookie as `NAME=VALUE`, from a link.
    private func cookie(_ harness: ServerHarness) async throws -> String {
        let connection = try await harness.tcp()
        let reply = try await connection.request("GET", try await self.link(harness))
        await connection.close()
        return String(try #require(reply.field("Set-Cookie")).prefix { $0 != ";" })
    }

    @Test("The files are served with a policy that permits no inline script and no other origin")
    func files() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            for file in PageFile.daemon {
                let reply = try await connection.request("GET", file.path)
                #expect(reply.status == 200, "\(file.path)")
                let policy = try #require(reply.field("Content-Security-Policy"))
                #expect(policy.hasPrefix("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"))
                #expect(reply.field("X-Content-Type-Options") == "nosniff")
                #expect(reply.field("Cache-Control") == "no-cache")
                #expect(!reply.body.contains("://") || !reply.body.contains("src=\"http"))
                let tag = try #require(reply.field("ETag"))
                let again = try await connection.request("GET", file.path, ["If-None-Match: \(tag)"])
                #expect(again.status == 304 && again.body.isEmpty)
            }
            let page = try await connection.request("GET", "/")
            #expect(page.field("Content-Type") == "text/html; charset=utf-8")
            #expect(!page.body.contains("<script>") && !page.body.contains("onclick"))
            await connection.close()
        }
    }

    @Test("The page's files together have less than 110,000 bytes")
    func size() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            var sum = 0
            for file in PageFile.daemon {
                sum += try await connection.request("GET", file.path).body.utf8.count
            }
            #expect(sum < 110_000)
            await connection.close()
        }
    }

    @Test("A link works once and leaves the address bar; its cookie is for this page alone")
    func ticket() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            let link = try await self.link(harness)
            // A preview of the link does not use it.
            #expect(try await connection.request("HEAD", link).status == 200)
            let first = try await connection.request("GET", link)
            #expect(first.status == 303 && first.field("Location") == "/")
            let field = try #require(first.field("Set-Cookie"))
            #expect(field.contains("; HttpOnly") && field.contains("; SameSite=Strict") && field.contains("; Path=/"))
            #expect(!field.contains(ServerHarness.token))
            #expect(first.field("Cache-Control") == "no-store")
            let second = try await connection.request("GET", link)
            #expect(second.status == 303 && second.field("Location") == "/?expired")
            #expect(second.field("Set-Cookie") == nil)
            let refused = try await connection.request(
                body: #"{"id":1,"method":"martlet.pageTicket","params":["token:t0p-s3cret",{}]}"#
            )
            #expect(refused.body.contains("forbidden"))
            await connection.close()
        }
    }

    @Test("The cookie permits calls and events of the page, and of no other page")
    func cookies() async throws {
        try await ServerHarness.run { harness in
            let cookie = "Cookie: other=1; \(try await self.cookie(harness))"
            func isCalled(_ fields: [String], origin: String? = "page") async throws -> Bool {
                let reply = try await self.request(harness, "POST", "/jsonrpc", fields, origin: origin, body: Self.call)
                return reply.body.contains(#""result""#)
            }
            #expect(try await isCalled([cookie]))
            #expect(try await isCalled([cookie, "Sec-Fetch-Site: same-origin"]))
            #expect(try await !isCalled([]))
            #expect(try await !isCalled(["\(cookie)0"]))
            #expect(try await !isCalled([cookie], origin: nil))
            #expect(try await !isCalled([cookie], origin: "http://127.0.0.1:1"))
            #expect(try await !isCalled([cookie, "Sec-Fetch-Site: same-site"]))
            // A call over GET could be an image of another page.
            let query = "/jsonrpc?method=martlet.counts&id=x&params=W10%3D"
            let call = try await self.request(harness, "GET", query, [cookie], origin: nil)
            #expect(!call.body.contains(#""result""#))
            #expect(try await self.request(harness, "GET", "/metrics", [cookie], origin: nil).status == 200)
            #expect(try await self.request(harness, "GET", "/metrics", origin: nil).status == 401)
            let session = try await self.request(harness, "GET", "/page/session", [cookie], origin: nil)
            #expect(session.status == 200 && session.field("Set-Cookie") == nil)
            #expect(try await self.request(harness, "GET", "/page/session", origin: nil).status == 401)
            let out = try await self.request(harness, "DELETE", "/page/session", [cookie])
            #expect(out.field("Set-Cookie")?.contains("Max-Age=0") == true)
        }
    }

    @Test("Signing out ends the cookie at once, and after a restart")
    func signOut() async throws {
        let directory = try TemporaryDirectory()
        var old = ""
        for isSignedIn in [true, false] {
            try await ServerHarness.run {
                $0.stateDirectory = directory.path
            } _: { harness in
                func status(_ cookie: String) async throws -> Int {
                    try await self.request(harness, "GET", "/page/session", [cookie], origin: nil).status
                }
                let other = "Cookie: \(try await self.cookie(harness))"
                if isSignedIn {
                    old = "Cookie: \(try await self.cookie(harness))"
                    #expect(try await status(old) == 200)
                    #expect(try await self.request(harness, "DELETE", "/page/session", [old]).status == 200)
                }
                #expect(try await status(old) == 401)
                #expect(try await status(other) == 200)
            }
        }
    }

    @Test("An allowed foreign origin gets no access by the cookie")
    func allowedOrigin() async throws {
        try await ServerHarness.run {
            $0.allowedOrigins = ["https://example.org"]
        } _: { harness in
            let cookie = "Cookie: \(try await self.cookie(harness))"
            let reply = try await self.request(
                harness,
                "POST",
                "/jsonrpc",
                [cookie],
                origin: "https://example.org",
                body: Self.call
            )
            #expect(reply.status != 403 && !reply.body.contains(#""result""#))
        }
    }

    @Test("The token is exchanged for a cookie; a wrong one is refused, and so is another page")
    func signIn() async throws {
        try await ServerHarness.run { harness in
            func reply(_ token: String, origin: String? = "page") async throws -> RawReply {
                let body = #"{"token":"\#(token)"}"#
                return try await self.request(harness, "POST", "/page/session", origin: origin, body: body)
            }
            let right = try await reply(ServerHarness.token)
            #expect(right.status == 200 && right.field("Set-Cookie") != nil)
            #expect(try await reply("wrong").status == 401)
            #expect(try await reply("").field("Set-Cookie") == nil)
            #expect(try await reply(ServerHarness.token, origin: nil).status == 403)
        }
    }

    @Test("The page is not on the Unix socket, and a daemon without TCP has no link to it")
    func noTCP() async throws {
        try await ServerHarness.run {
            $0.listen = nil
            $0.token = nil
        } _: { harness in
            let socket = try await harness.local()
            #expect(try await socket.request("GET", "/").status == 404)
            let reply = try await socket.request(body: #"{"id":1,"method":"martlet.pageTicket","params":[{}]}"#)
            #expect(reply.body.contains("wrongState") && reply.body.contains("--listen"))
            await socket.close()
        }
    }
}
