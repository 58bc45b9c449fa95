// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Selection and storing of responses", .timeLimit(.minutes(1)))
struct CacheSelectionTests {
    @Test("Vary selects by the request's fields, cookies included; an asterisk selects nothing")
    func vary() async throws {
        let server = try await ScriptedServer.start { request in
            let vary = request.path == "/any" ? "*" : request.path == "/cookie" ? "Cookie" : "Accept"
            return .response(200, [("Cache-Control", "max-age=60"), ("Vary", vary)], text: "\(request.targetIndex)")
        }
        let harness = try CacheHarness()
        let url = server.text("accept")
        #expect(try await harness.data(url, nil, ["Accept": "a, b"]).text == "0")
        #expect(try await harness.data(url, nil, ["Accept": "a,b"]).text == "0")
        #expect(try await harness.data(url, nil, ["Accept": "b"]).text == "1")
        #expect(try await harness.data(url, .returnCacheElseLoad, ["Accept": "a,b"]).text == "2")
        _ = try await harness.data(server.text("any"))
        #expect(try await harness.data(server.text("any"), .returnCacheElseLoad).text == "1")
        let cookies = try #require(harness.session.configuration.cookies)
        _ = try await harness.data(server.text("cookie"))
        cookies.set(setCookie: "a=1", from: try server.url("cookie"))
        #expect(try await harness.data(server.text("cookie")).text == "1")
        #expect(try await harness.data(server.text("cookie")).response.source == .cache)
        cookies.set(setCookie: "a=2", from: try server.url("cookie"))
        #expect(try await harness.data(server.text("cookie")).text == "2")
    }

    @Test("A response for one user is not returned to another")
    func users() async throws {
        let server = try await ScriptedServer.start { request in
            .response(200, [("Cache-Control", "max-age=60")], text: request["Authorization"] ?? "nobody")
        }
        let harness = try CacheHarness()
        for user in ["Bearer a", "Bearer b", "Bearer a"] {
            #expect(try await harness.data(server.text("a"), nil, ["Authorization": user]).text == user)
        }
        #expect(try await harness.data(server.text("a")).text == "nobody")
        #expect(server.requests.count == 4)
    }

    @Test("A challenge is not stored; the response to the repeated request is, without its secrets")
    func challenge() async throws {
        let server = try await ScriptedServer.start { request in
            if request["Authorization"] == nil {
                return .response(401, [("WWW-Authenticate", "Basic realm=\"r\""), ("Cache-Control", "max-age=60")])
            }
            let fields = [("Cache-Control", "max-age=60"), ("Set-Cookie", "session=crumbcrumb"), ("Vary", "Cookie")]
            return .response(200, fields, text: "body")
        }
        let harness = try CacheHarness()
        let url = "http://me:hiddenword@127.0.0.1:\(server.port)/a?token=secretquery"
        #expect(try await harness.data(url).text == "body")
        #expect(server.requests.count == 2)
        let name = try #require(harness.files.first)
        #expect(harness.files.count == 1)
        let content = String(decoding: try harness.directory.read("cache/" + name), as: UTF8.self)
        for secret in ["hiddenword", "secretquery", "crumbcrumb", "127.0.0.1", "Basic"] {
            #expect(!content.contains(secret) && !name.contains(secret), "\(secret)")
        }
    }

    @Test("Cookies of a stored response do not replace newer ones")
    func cookies() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(200, [("Cache-Control", "max-age=60"), ("Set-Cookie", "a=old; Path=/b")], text: "x")
        }
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let cookies = try #require(harness.session.configuration.cookies)
        cookies.set(setCookie: "a=new; Path=/b", from: try server.url("a"))
        let second = try await harness.data(server.text("a"))
        #expect(second.response.source == .cache && cookies.cookies.map(\.value) == ["new"])
    }

    @Test("Responses that must not be stored, or whose end is uncertain, are not")
    func unstored() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/no-store": .response(200, [("Cache-Control", "no-store")], text: "x")
            case "/close": Reply.raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\nbody").then(.close)
            case "/cut":
                Reply.raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nbody").then(.reset)
            case "/error": .response(500, [("Cache-Control", "max-age=60")])
            default: .response(200, [("Cache-Control", "max-age=60")], text: "x")
            }
        }
        let harness = try CacheHarness()
        for path in ["no-store", "close", "cut", "error"] {
            _ = try? await harness.data(server.text(path))
            #expect(await code { try await harness.data(server.text(path), .returnCacheOnly) } == .notCached, "\(path)")
        }
        var request = try TransferRequest(server.text("a"))
        request.method = "POST"
        request.body = [1]
        _ = try await harness.session.data(from: request)
        #expect(harness.files.isEmpty)
    }

    @Test("A body that differs from its declared digest is not stored")
    func wrongDigest() async throws {
        // SHA-256 of "x".
        let digest = "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:"
        let server = try await ScriptedServer.start { request in
            let isTrailer = request.path == "/trailer"
            let text = request.targetIndex == 0 && !isTrailer ? "y" : "x"
            if isTrailer {
                return .raw(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\(text)\r\n0\r\n"
                        + "Repr-Digest: \(digest)\r\n\r\n"
                )
            }
            return .response(200, [("Cache-Control", "max-age=60"), ("Repr-Digest", digest)], text: text)
        }
        let harness = try CacheHarness()
        #expect(await code { try await harness.data(server.text("a")) } == .checksumMismatch)
        #expect(try await harness.data(server.text("a")).response.source == .network)
        #expect(try await harness.data(server.text("a")).response.source == .cache)
        for _ in 0..<2 { #expect(try await harness.data(server.text("trailer")).response.source == .network) }
    }

    @Test("A chunked body is stored with its length")
    func chunked() async throws {
        let server = try await ScriptedServer.start { _ in
            .raw(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
            )
        }
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        let second = try await harness.data(server.text("a"))
        #expect(second.text == "body" && second.response.source == .cache && second.response.expectedLength == 4)
        #expect(!second.response.headers.contains("Transfer-Encoding"))
    }

    @Test("An unstorable response removes the stored one")
    func noLongerStorable() async throws {
        let server = try await ScriptedServer.start { request in
            .response(200, [("Cache-Control", request.targetIndex == 0 ? "max-age=60" : "no-store")], text: "x")
        }
        let harness = try CacheHarness()
        _ = try await harness.data(server.text("a"))
        _ = try await harness.data(server.text("a"), .reloadIgnoringCache)
        #expect(await code { try await harness.data(server.text("a"), .returnCacheOnly) } == .notCached)
    }

    @Test("A successful unsafe request removes the responses of its URL and of those that it names")
    func invalidation() async throws {
        let server = try await ScriptedServer.start { request in
            guard request.method != "GET" else { return .response(200, [("Cache-Control", "max-age=60")], text: "x") }
            if request.body == Array("fail".utf8) { return .response(409) }
            return .response(200, [("Location", "/b"), ("Content-Location", "http://other.test/c")])
        }
        let harness = try CacheHarness()
        func stored(_ path: String) async -> Bool {
            await code { try await harness.data(server.text(path), .returnCacheOnly) } == nil
        }
        func send(_ method: String, _ body: String) async throws {
            var request = try TransferRequest(server.text("a"))
            request.method = method
            request.body = Array(body.utf8)
            _ = try? await harness.session.data(from: request)
        }
        for path in ["a", "b", "c"] { _ = try await harness.data(server.text(path)) }
        try await send("POST", "fail")
        #expect(await stored("a"))
        try await send("DELETE", "x")
        for (path, isStored) in [("a", false), ("b", false), ("c", true)] {
            #expect(await stored(path) == isStored, "\(path)")
        }
        _ = try await harness.data(server.text("a"))
        #expect(await stored("a"))
        _ = try await harness.session.upload(.bytes([1, 2]), to: server.text("a"), resumption: .none)
        #expect(await !stored("a"))
    }
}
