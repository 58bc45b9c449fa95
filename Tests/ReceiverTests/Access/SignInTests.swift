// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

/// Signing in by the page, and what `/.martlet-session` says.
@Suite("Signing in")
struct SignInTests {
    private static let list = """
        all       token t-all
        read,list basic anna:pass word
        write     token t-write

        """
    private static let navigation = [
        ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Sec-Fetch-Mode", "navigate"),
    ]

    private func bench(_ change: (inout ReceiverConfiguration) -> Void = { _ in }) async throws -> ReceiverBench {
        let credentials = try AccessCredential.list(parsing: Self.list, source: "the test")
        return try await ReceiverBench { configuration in
            configuration.credentials = credentials
            configuration.signInRounds = 10
            change(&configuration)
        }
    }

    private func signIn(_ bench: ReceiverBench, _ form: String, base: String = "") throws -> RawClient.Response {
        try bench.request(
            "POST",
            base + "/.martlet-sign-in",
            [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", "http://localhost")],
            body: Array(form.utf8)
        )
    }

    private func cookie(_ response: RawClient.Response) throws -> String {
        String(try #require(response.fields["Set-Cookie"]).prefix { $0 != ";" })
    }

    @Test("A browser gets a form, other clients the challenge as before")
    func challenges() async throws {
        let bench = try await self.bench()
        let page = try bench.request("GET", "/a/?x=1&y", Self.navigation)
        #expect(page.status == 401)
        #expect(page.fields["WWW-Authenticate"] == "Bearer realm=\"martlet\"")
        #expect(page.text.contains("name=\"to\" value=\"/a/?x=1&amp;y\""))
        #expect(page.text.contains("name=\"user\""))
        for fields in [
            [], [("Accept", "*/*")], [("Accept", "application/json")],
            [("Accept", "text/html"), ("Sec-Fetch-Mode", "cors")],
        ] {
            let response = try bench.request("GET", "/a/", fields)
            #expect(response.status == 401)
            #expect(response.fields.values("WWW-Authenticate").contains { $0.hasPrefix("Basic") }, "\(fields)")
            #expect(response.text == "credentials are needed\n")
        }
        let chinese = try bench.request("GET", "/.martlet-sign-in?to=/d/", [("Accept-Language", "zh-CN,en;q=0.5")])
        #expect(chinese.status == 200)
        #expect(chinese.text.contains("lang=\"zh\""))
        #expect(chinese.text.contains("value=\"/d/\""))
    }

    @Test("The cookie has the rights of the credential, and leads to where the visitor wanted to go")
    func cookies() async throws {
        let bench = try await self.bench { $0.basePath = "/files" }
        try bench.directory.write(Array("text".utf8), to: "f")
        let response = try self.signIn(bench, "user=anna&password=pass+word&to=%2Ff", base: "/files")
        #expect(response.status == 303)
        #expect(response.fields["Location"] == "/files/f")
        let field = try #require(response.fields["Set-Cookie"])
        #expect(field.contains("; Path=/files/; ") && field.contains("HttpOnly") && field.contains("SameSite=Strict"))
        let cookie = try self.cookie(response)
        #expect(try bench.request("GET", "/files/f", [("Cookie", cookie)]).text == "text")
        #expect(try bench.request("PUT", "/files/n", [("Cookie", cookie)], body: [1]).status == 403)
        let session = try JSON(parsing: try bench.request("GET", "/files/.martlet-session", [("Cookie", cookie)]).body)
        #expect(session["rights"] == .array(["read", "list"]))
        #expect(session["user"]?.string == "anna")
        #expect(session["signedIn"]?.bool == true)
        #expect(session["mayMakeLinks"]?.bool == true)
        #expect(session["basePath"]?.string == "/files")
        // Also after a restart, whatever the order of the credentials.
        await bench.receiver.stop()
        let credentials = try AccessCredential.list(parsing: Self.list, source: "the test").reversed()
        let again = try await ReceiverBench(in: bench.directory) { configuration in
            configuration.credentials = Array(credentials)
            configuration.signInRounds = 10
            configuration.basePath = "/files"
        }
        #expect(try again.request("GET", "/files/f", [("Cookie", cookie)]).text == "text")
        let out = try again.request(
            "POST",
            "/files/.martlet-sign-out",
            [("Cookie", cookie), ("Origin", "http://localhost")],
            body: []
        )
        #expect(out.status == 303)
        #expect(try #require(out.fields["Set-Cookie"]).contains("Max-Age=0"))
    }

    @Test("Signing out ends the cookie at once, also after a restart and for other receivers; other cookies stay")
    func signOut() async throws {
        let bench = try await self.bench { $0.signOutStore = $0.directory.map { $0 + "/.sign-outs" } }
        let neighbour = try await self.bench { $0.signOutStore = bench.directory.path(".sign-outs") }
        let (mine, other) = (
            try self.cookie(try self.signIn(bench, "password=t-all")),
            try self.cookie(try self.signIn(bench, "user=anna&password=pass+word"))
        )
        func status(_ cookie: String, _ bench: ReceiverBench) throws -> Int {
            try bench.request("GET", "/", [("Cookie", cookie)]).status
        }
        #expect(try status(mine, bench) == 200 && status(mine, neighbour) == 200)
        let out = [("Cookie", mine), ("Origin", "http://localhost")]
        // A page elsewhere cannot sign out.
        let foreign = [("Cookie", mine), ("Origin", "http://localhost:81")]
        #expect(try bench.request("POST", "/.martlet-sign-out", foreign, body: []).status == 403)
        #expect(try status(mine, bench) == 200)
        for _ in 0..<2 {
            let response = try bench.request("POST", "/.martlet-sign-out", out, body: [])
            #expect(response.status == 303)
            #expect(response.fields["Set-Cookie"]?.contains("Max-Age=0") == true)
            for bench in [bench, neighbour] { #expect(try status(mine, bench) == 401 && status(other, bench) == 200) }
        }
        #expect(try bench.request("PUT", "/n", out, body: [1]).status == 401)
        let session = try JSON(parsing: try bench.request("GET", "/.martlet-session", [("Cookie", other)]).body)
        #expect(session["signedIn"]?.bool == true)
        await bench.receiver.stop()
        let credentials = try AccessCredential.list(parsing: Self.list, source: "the test")
        let again = try await ReceiverBench(in: bench.directory) { configuration in
            configuration.credentials = credentials
            configuration.signOutStore = bench.directory.path(".sign-outs")
        }
        #expect(try status(mine, again) == 401 && status(other, again) == 200)
        let new = try self.cookie(try self.signIn(again, "password=t-all"))
        #expect(try status(new, again) == 200 && status(new, neighbour) == 200)
        let stored = String(decoding: try bench.directory.read(".sign-outs"), as: UTF8.self)
        let parts = try #require(mine.split(separator: "=").last).split(separator: ".")
        #expect(stored.contains(parts[1]) && !stored.contains(parts[3]))
        await again.receiver.stop()
        await neighbour.receiver.stop()
    }

    @Test("A sign-out that cannot be stored ends the cookie, and says so")
    func signOutNotStored() async throws {
        let bench = try await self.bench { $0.signOutStore = $0.directory.map { $0 + "/.sign-outs" } }
        let cookie = try self.cookie(try self.signIn(bench, "password=t-all"))
        #expect(unlink(bench.directory.path(".sign-outs.lock")) == 0)
        #expect(mkdir(bench.directory.path(".sign-outs.lock"), 0o700) == 0)
        let fields = [("Cookie", cookie), ("Origin", "http://localhost")]
        let response = try bench.request("POST", "/.martlet-sign-out", fields, body: [])
        #expect(response.status == 500)
        #expect(response.text.contains("until the receiver is restarted") && !response.text.contains("/"))
        #expect(try bench.request("GET", "/", fields).status == 401)
        await bench.receiver.stop()
        // A receiver that could not store them does not start.
        let path = bench.directory.path(".sign-outs")
        await #expect(throws: ReceiverError.self) { _ = try await self.bench { $0.signOutStore = path } }
    }

    @Test("A write with the cookie needs the page's own Origin")
    func origins() async throws {
        let bench = try await self.bench()
        let cookie = try self.cookie(try self.signIn(bench, "password=t-all"))
        #expect(try bench.request("PUT", "/n", [("Cookie", cookie)], body: [1]).status == 403)
        let foreign = [("Cookie", cookie), ("Origin", "http://localhost:81")]
        #expect(try bench.request("PUT", "/n", foreign, body: [1]).status == 403)
        let null = [("Cookie", cookie), ("Origin", "null")]
        #expect(try bench.request("PUT", "/n", null, body: [1]).status == 403)
        let own = [("Cookie", cookie), ("Origin", "http://localhost")]
        #expect(try bench.request("PUT", "/n", own, body: [1]).status == 201)
        // A cookie that has ended, or is another server's, is as none.
        #expect(try bench.request("PUT", "/m", [("Cookie", cookie + "0")], body: [1]).status == 401)
    }

    @Test("Only paths of this server are led to")
    func targets() throws {
        for good in ["/", "/a/b?x=%2F&y#z", "/a%20b"] { #expect(SessionRoutes.target(good) == good) }
        for bad in [
            "", "a", "//evil", "/\\evil", "https://evil", "/a\nb", "/a b", "/ä",
            "/" + String(repeating: "a", count: 5000),
        ] {
            #expect(SessionRoutes.target(bad) == nil, "\(bad)")
        }
    }

    @Test("Guesses are delayed, those by other means included")
    func guesses() async throws {
        let clock = ManualInstant()
        let bench = try await self.bench { $0.clock = clock.read }
        for number in 0..<GuessLimiter.free {
            let response = try self.signIn(bench, "user=anna&password=\(number)")
            #expect(response.status == 403)
            #expect(response.fields["Set-Cookie"] == nil)
            #expect(response.text.contains("role=\"alert\""))
        }
        let response = try self.signIn(bench, "user=anna&password=pass+word")
        #expect(response.status == 429)
        #expect(response.fields.contains("Retry-After"))
        #expect(try bench.request("GET", "/", [("Authorization", "Bearer t-all")]).status == 429)
        clock.advance(by: GuessLimiter.interval)
        #expect(try self.signIn(bench, "user=anna&password=pass+word").status == 303)
        #expect(try bench.request("GET", "/", [("Authorization", "Bearer t-all")]).status == 200)
    }

    @Test("Anybody reads a public directory; only credentials write and make links")
    func publicDirectory() async throws {
        let bench = try await self.bench { $0.isPublic = true }
        try bench.directory.write(Array("text".utf8), to: "f")
        #expect(try bench.request("GET", "/f").text == "text")
        #expect(try bench.request("GET", "/").status == 200)
        #expect(!(try bench.request("GET", "/", [("Accept", "text/html")]).text.contains("type=\"file\"")))
        #expect(try bench.request("PUT", "/n", body: [1]).status == 401)
        let session = try JSON(parsing: try bench.request("GET", "/.martlet-session").body)
        #expect(session["rights"] == .array(["read", "list"]))
        #expect(session["mayMakeLinks"]?.bool == false)
        #expect(session["signedIn"]?.bool == false)
        let offer = Array("{\"path\": \"/f\"}".utf8)
        let json = [("Content-Type", "application/json")]
        #expect(try bench.request("POST", "/.martlet-share", json, body: offer).status == 401)
        #expect(try bench.request("GET", "/.martlet-share").status == 401)
        let token = ("Authorization", "Bearer t-all")
        #expect(try bench.request("PUT", "/n", [token], body: [1]).status == 201)
        #expect(try bench.request("POST", "/.martlet-share", json + [token], body: offer).status == 201)
        #expect(try bench.request("GET", "/f", [("Authorization", "Bearer wrong")]).status == 401)
        let writer = try JSON(
            parsing: try bench.request("GET", "/.martlet-session", [("Authorization", "Bearer t-write")]).body
        )
        #expect(writer["rights"] == .array(["read", "list", "write"]))
    }

    @Test("A public directory without credentials can only be read, on any address")
    func publicWithoutCredentials() async throws {
        let bench = try await ReceiverBench { configuration in
            configuration.isPublic = true
            configuration.listen.host = "0.0.0.0"
        }
        try bench.directory.write(Array("text".utf8), to: "f")
        #expect(try bench.request("GET", "/f", host: "any.example").text == "text")
        #expect(try bench.request("PUT", "/n", body: [1]).status == 403)
        let offer = Array("{\"path\": \"/f\"}".utf8)
        #expect(
            try bench.request("POST", "/.martlet-share", [("Content-Type", "application/json")], body: offer).status
                == 403
        )
        let session = try JSON(parsing: try bench.request("GET", "/.martlet-session").body)
        #expect(session["mayMakeLinks"]?.bool == false)
        #expect(session["takesSignIn"]?.bool == false)
    }
}
