// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Cookies", .timeLimit(.minutes(1)))
struct CookieTests {
    @Test("Cookies that responses set are sent with the requests they are for")
    func kept() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/set"
                ? Reply.response(
                    200,
                    [
                        ("Set-Cookie", "all=1; Path=/"), ("Set-Cookie", "deep=2; Path=/deep; HttpOnly"),
                        ("Set-Cookie", "secure=3; Path=/; Secure"), ("Set-Cookie", "over=4; Path=/; Max-Age=0"),
                        ("Set-Cookie", "foreign=5; Domain=other.test"),
                    ]
                ) : .response(200)
        }
        let harness = try Harness()
        for path in ["set", "a", "deep/b"] { _ = try await harness.session.data(from: server.text(path)) }
        _ = try await harness.session.download(from: server.text("deep/c"))
        #expect(server.requests.map { $0["Cookie"] } == [nil, "all=1", "deep=2; all=1", "deep=2; all=1"])
    }

    @Test("Cookies are kept and sent across redirects, by host and not by port")
    func redirects() async throws {
        let other = try await ScriptedServer.start { request in
            request.path == "/back" ? .response(200) : .redirect(to: "/back")
        }
        let (samePlace, otherPlace) = (other.text("port"), "http://localhost:\(other.port)/host")
        let server = try await ScriptedServer.start { request in
            .response(
                302,
                [("Location", request.path == "/a" ? samePlace : otherPlace), ("Set-Cookie", "here=1; Path=/")]
            )
        }
        let harness = try Harness()
        _ = try await harness.session.data(from: server.text("a"))
        _ = try await harness.session.data(from: server.text("b"))
        #expect(server.requests.map { $0["Cookie"] } == [nil, "here=1"])
        #expect(other.requests(for: "/port").map { $0["Cookie"] } == ["here=1"])
        #expect(other.requests(for: "/host").map { $0["Cookie"] } == [nil])
        #expect(other.requests(for: "/back").map { $0["Cookie"] } == ["here=1", nil])
    }

    @Test("A private storage is the session's own; a shared one is shared")
    func sharing() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, [("Set-Cookie", "a=1; Path=/")]) }
        let storage = CookieStorage()
        let harnesses = [
            try Harness(), try Harness(), try Harness { $0.cookies = storage }, try Harness { $0.cookies = storage },
        ]
        for harness in harnesses { _ = try await harness.session.data(from: server.text("a")) }
        #expect(server.requests.map { $0["Cookie"] } == [nil, nil, nil, "a=1"])
        #expect(storage.cookies.map(\.name) == ["a"])
    }

    @Test(
        "The policy says which cookies are kept",
        arguments: [SessionConfiguration.CookieAcceptance.always, .onlyFromFirstHost, .never]
    )
    func acceptance(_ acceptance: SessionConfiguration.CookieAcceptance) async throws {
        let server = try await ScriptedServer.start { request in
            .response(request.path == "/to" ? 200 : 302, [("Location", "/to"), ("Set-Cookie", "second=2; Path=/")])
        }
        let target = "http://localhost:\(server.port)/to"
        let first = try await ScriptedServer.start { _ in
            .response(302, [("Location", target), ("Set-Cookie", "first=1; Path=/")])
        }
        let storage = CookieStorage()
        storage.set(setCookie: "there=0; Path=/", from: try first.url("/"))
        let harness = try Harness {
            $0.cookies = storage
            $0.cookieAcceptance = acceptance
        }
        _ = try await harness.session.data(from: first.text("a"))
        let expected: Set<String> =
            switch acceptance {
            case .always: ["there", "first", "second"]
            case .onlyFromFirstHost: ["there", "first"]
            case .never: ["there"]
            }
        #expect(Set(storage.cookies.map(\.name)) == expected)
        #expect(first.requests[0]["Cookie"] == "there=0")
    }

    @Test("Without a storage no cookie is kept or sent")
    func none() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, [("Set-Cookie", "a=1; Path=/")]) }
        let harness = try Harness { $0.cookies = nil }
        for _ in 0..<2 { _ = try await harness.session.data(from: server.text("a")) }
        #expect(server.requests.map { $0["Cookie"] } == [nil, nil])
    }

    @Test("A Cookie field of the request's own is sent instead")
    func own() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        let harness = try Harness()
        harness.session.configuration.cookies?.set(setCookie: "a=1; Path=/", from: try server.url("/"))
        var request = try TransferRequest(server.text("a"))
        request.headers = ["Cookie": "mine=2"]
        _ = try await harness.session.data(from: request)
        #expect(server.requests[0].fields.values("Cookie") == ["mine=2"])
    }

    @Test("Cookies are made from their parts or from Set-Cookie, found by URL, replaced and removed")
    func storage() throws {
        let storage = CookieStorage()
        let url = try HTTPURL("https://www.host.test/deep/page")
        storage.set(
            try Cookie(
                name: "a",
                value: "1",
                domain: ".host.test",
                path: "/deep",
                isSecure: true,
                created: 1_700_000_000
            )
        )
        storage.set(setCookie: "b=2; Secure; HttpOnly; Path=/", from: url)
        #expect(storage.cookies(for: url).map { "\($0.name)=\($0.value)" } == ["a=1", "b=2"])
        let (plain, parent) = (try HTTPURL("http://www.host.test/deep/"), try HTTPURL("https://host.test/deep/"))
        #expect(storage.cookies(for: plain).isEmpty)
        #expect(storage.cookies(for: parent).map(\.name) == ["a"])
        #expect(storage.cookies(for: url).map(\.isHTTPOnly) == [false, true])
        storage.set(setCookie: "b=3; Secure; Path=/", from: url)
        #expect(storage.cookies(for: url).map(\.value) == ["1", "3"])
        storage.set(setCookie: "b=; Path=/; Max-Age=0", from: url)
        #expect(storage.cookies(for: url).map(\.name) == ["a"])
        storage.remove(try #require(storage.cookies.first { $0.name == "a" }))
        #expect(storage.cookies(for: url).isEmpty)
        storage.set(setCookie: "c=4", from: url)
        storage.removeAll()
        #expect(storage.cookies.isEmpty)
    }

    @Test("A Netscape cookie file is saved for its owner alone and loaded again; session cookies only where asked for")
    func file() throws {
        let directory = try TemporaryDirectory()
        let storage = CookieStorage()
        let url = try HTTPURL("https://host.test/")
        storage.set(setCookie: "keep=1; Max-Age=1000000; Secure; HttpOnly", from: url)
        storage.set(setCookie: "session=2", from: url)
        try storage.save(to: directory.path("cookies"))
        #expect(Files.isPrivateFile(directory.path("cookies")))
        let loaded = CookieStorage()
        #expect(try loaded.load(from: directory.path("cookies")).isEmpty)
        #expect(loaded.cookies.map(\.name) == ["keep"])
        #expect(loaded.cookies[0].isSecure && loaded.cookies[0].isHTTPOnly && loaded.cookies[0].expires != nil)
        try storage.save(to: directory.path("cookies"), includingSessionCookies: true)
        let both = CookieStorage()
        try both.load(from: directory.path("cookies"))
        #expect(Set(both.cookies.map(\.name)) == ["keep", "session"])
        #expect(directory.entries() == ["cookies"])
    }

    @Test("A cookie file of curl is read; bad lines are reported, and good ones accepted")
    func foreignFile() throws {
        let directory = try TemporaryDirectory()
        let text = """
            # Netscape HTTP Cookie File
            #HttpOnly_.host.test\tTRUE\t/\tTRUE\t4102444800\ta\t1
            not a cookie at all
            host.test\tFALSE\t/\tFALSE\t0\tb\t2

            """
        try directory.write([UInt8](text), to: "cookies")
        let storage = CookieStorage()
        #expect(try storage.load(from: directory.path("cookies")).count == 1)
        #expect(Set(storage.cookies.map(\.name)) == ["a", "b"])
        #expect(throws: TransferError.self) { try storage.load(from: directory.path("missing")) }
    }
}
