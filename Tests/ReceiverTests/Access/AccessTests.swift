// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("Who may do what")
struct AccessTests {
    private static let list = """
        # rights  kind  secret
        read,list token   t-read
        write     session s-write
        all       basic   anna:pass word

        """

    private func control(_ clock: ManualInstant = ManualInstant()) throws -> AccessControl {
        AccessControl(
            credentials: try AccessCredential.list(parsing: Self.list, source: "the test"),
            open: [],
            policy: RequestPolicy(listenHost: "127.0.0.1"),
            sessionCookie: "sid",
            rounds: 10,
            clock: clock.read
        )
    }

    @Test("is what the credential allows that was shown")
    func rights() throws {
        let control = try self.control()
        #expect(control.rights(["Authorization": "Bearer t-read"])?.rights == [.read, .list])
        #expect(control.rights(["Authorization": "Basic eDp0LXJlYWQ="])?.rights == [.read, .list])
        #expect(control.rights(["Cookie": "a=b; sid=s-write"])?.rights == .write)
        #expect(control.rights(["Cookie": "sid=s-write", "Authorization": "bearer t-read"])?.rights == .all)
        let anna = control.rights(["Authorization": "Basic YW5uYTpwYXNzIHdvcmQ="])
        #expect(anna?.rights == .all)
        #expect(anna?.user == "anna")
        #expect(control.rights([:])?.rights == [])
        for wrong in ["Bearer t-rea", "Bearer s-write", "Basic eDp4", "Basic !", "Digest x", "Bearer"] {
            #expect(control.rights(["Authorization": wrong]) == nil, "\(wrong)")
        }
        #expect(control.rights(["Cookie": "sid=x"]) == nil)
    }

    @Test("is asked for (401) where nothing was shown, and denied (403) where it was not enough")
    func verdicts() throws {
        let control = try self.control()
        func status(_ fields: HeaderFields, _ right: Rights) throws -> Int {
            try self.response(control, fields, right).status
        }
        #expect(try status([:], .read) == 401)
        #expect(try status(["Authorization": "Bearer t-read"], .read) == 200)
        #expect(try status(["Authorization": "Bearer t-read"], .write) == 403)
        #expect(try status(["Authorization": "Bearer wrong"], .read) == 401)
    }

    /// Whether an address may present credentials: the status, and `Retry-After`.
    private func response(
        _ control: AccessControl,
        _ fields: HeaderFields,
        _ right: Rights = .read
    ) throws -> (status: Int, wait: String?, fields: HeaderFields) {
        var request = try TestRequest.make(fields)
        let refusal = control.refusal(of: &request, needs: right)
        return (refusal?.status ?? 200, refusal?.fields["Retry-After"], request.fields)
    }

    @Test("is not guessed: six wrong credentials of an address are free, then one per second is checked")
    func guessing() throws {
        let clock = ManualInstant()
        let control = try self.control(clock)
        let right: HeaderFields = ["Authorization": "Bearer t-read"]
        var number = 0
        func guess() throws -> Int {
            number += 1
            return try self.response(control, ["Authorization": "Bearer x\(number)"]).status
        }
        for _ in 0..<6 {
            #expect(try self.response(control, right).status == 200)
            #expect(try guess() == 401)
        }
        for _ in 0..<100 {
            // Unchecked, whether right or wrong.
            #expect(try guess() == 429)
            let early = try self.response(control, right)
            #expect(early.status == 429 && early.wait == "1")
            clock.advance(by: .milliseconds(999))
            #expect(try self.response(control, right).status == 429)
            clock.advance(by: .milliseconds(1))
            // Right ones take no time from each other.
            for _ in 0..<10 { #expect(try self.response(control, right).status == 200) }
            #expect(try guess() == 401)
        }
    }

    @Test("is not guessed by several credentials in one request: each counts, and not more than three are checked")
    func guessingManyAtOnce() throws {
        let clock = ManualInstant()
        let control = try self.control(clock)
        func guesses(_ round: Int, _ last: String) -> HeaderFields {
            let values = (0..<20).map { "sid=\(round)-\($0)" } + ["sid=\(last)"]
            return ["Authorization": "Bearer x\(round)", "Cookie": values.joined(separator: "; ")]
        }
        #expect(try self.response(control, guesses(0, "s-write"), .write).status == 401)
        #expect(try self.response(control, guesses(1, "x")).status == 401)
        #expect(try self.response(control, guesses(2, "x")).status == 429)
        clock.advance(by: .seconds(1))
        #expect(try self.response(control, guesses(3, "x")).status == 401)
        // Three wrong ones take three seconds.
        #expect(try self.response(control, guesses(4, "x")).wait == "3")
    }

    @Test("is not needed by a signed-in client, whoever guesses from its address and whatever else it sends")
    func signedIn() throws {
        let control = try self.control()
        guard case .signedIn(let field) = control.signIn("", "t-read", try TestRequest.make([:])) else {
            Issue.record("cannot sign in")
            return
        }
        let cookie = String(field.prefix { $0 != ";" })
        for number in 0..<6 { #expect(try self.response(control, ["Authorization": "Bearer \(number)"]).status == 401) }
        #expect(try self.response(control, ["Cookie": cookie]).status == 200)
        for extra in ["t-read", "guess"] {
            let fields: HeaderFields = ["Cookie": "a=b; sid=\(extra); \(cookie)", "Authorization": "Bearer \(extra)"]
            let response = try self.response(control, fields)
            #expect(response.status == 200)
            // They were not checked, and nothing else checks them.
            #expect(!response.fields.contains("Authorization"))
            #expect(response.fields["Cookie"] == "a=b; \(cookie)")
            // Rights beyond the cookie's need a check.
            #expect(try self.response(control, fields, .write).status == 429)
        }
    }

    @Test("is refused with 429 and a time to wait where it is guessed, also beside a weaker credential")
    func refusedUnchecked() async throws {
        for extra in [[], [("Cookie", "sid=s-write")]] {
            let clock = ManualInstant()
            let bench = try await ReceiverBench {
                $0.credentials = (try? AccessCredential.list(parsing: Self.list, source: "")) ?? []
                $0.sessionCookie = "sid"
                $0.clock = clock.read
            }
            for index in 0..<20 {
                let answer = try bench.request("GET", "/", [("Authorization", "Bearer x\(index)")] + extra)
                #expect(answer.status == (index < GuessLimiter.free ? extra.isEmpty ? 401 : 200 : 429))
                #expect(answer.fields["Retry-After"] == (index < GuessLimiter.free ? nil : "1"))
            }
            #expect(try bench.request("GET", "/", [("Authorization", "Bearer t-read")]).status == 429)
            clock.advance(by: .seconds(1))
            #expect(try bench.request("GET", "/", [("Authorization", "Bearer t-read")]).status == 200)
            await bench.receiver.stop()
        }
    }

    @Test(
        "is not guessed from a file that is malformed",
        arguments: ["", "# nothing", "read token", "reed token x", "read tokn x", "read basic nocolon"]
    )
    func badFile(text: String) {
        #expect(throws: ReceiverError.self) { try AccessCredential.list(parsing: text, source: "f") }
    }

    @Test("does not reach beyond its right: reading, listing and writing are apart")
    func apart() async throws {
        let bench = try await ReceiverBench {
            $0.credentials =
                (try? AccessCredential.list(parsing: "read token r\nlist token l\nwrite token w", source: "")) ?? []
        }
        try bench.directory.write([1], to: "f")
        func status(_ method: String, _ path: String, _ token: String?) throws -> Int {
            let fields = token.map { [("Authorization", "Bearer \($0)")] } ?? []
            return try bench.request(method, path, fields, body: method == "PUT" ? [1] : nil).status
        }
        #expect(try status("GET", "/f", nil) == 401)
        #expect(try status("GET", "/f", "r") == 200)
        #expect(try status("GET", "/", "r") == 403)
        #expect(try status("GET", "/", "l") == 200)
        #expect(try status("GET", "/f", "l") == 403)
        #expect(try status("PUT", "/g", "r") == 403)
        #expect(try status("PUT", "/g", "w") == 201)
        #expect(try status("GET", "/missing", nil) == 401)
        #expect(try status("HEAD", "/.martlet-uploads/\(UploadName().id)", nil) == 401)
        await bench.receiver.stop()
    }

    @Test("is mandatory to say on an address that others reach")
    func mandatory() async throws {
        for host in ["0.0.0.0", "::"] {
            await #expect(throws: ReceiverError.self) { try await ReceiverBench { $0.listen.host = host } }
        }
    }

    @Test("a page elsewhere may neither write nor read by a name made to mean this machine")
    func pages() async throws {
        let bench = try await ReceiverBench { $0.allowedOrigins = ["https://ok.example"] }
        try bench.directory.write([1], to: "f")
        let port = bench.receiver.address.port
        func put(_ name: String, _ origin: String) throws -> Int {
            try bench.request("PUT", name, [("Origin", origin)], body: [1], host: "localhost:\(port)").status
        }
        #expect(try put("/a", "https://evil.example") == 403)
        #expect(try put("/a", "null") == 403)
        #expect(try put("/b", "https://ok.example") == 201)
        let preflight = try bench.request(
            "OPTIONS",
            "/",
            [
                ("Origin", "https://ok.example"), ("Access-Control-Request-Method", "PATCH"),
                ("Access-Control-Request-Headers", "upload-offset"),
            ]
        )
        #expect(preflight.fields["Access-Control-Allow-Origin"] == "https://ok.example")
        #expect(preflight.fields["Access-Control-Allow-Headers"] == "upload-offset")
        #expect(preflight.fields["Access-Control-Allow-Methods"]?.contains("PATCH") ?? false)
        let stranger = try bench.request("GET", "/b", [("Origin", "https://evil.example")])
        #expect(stranger.fields["Access-Control-Allow-Origin"] == nil)
        #expect(try put("/c", "http://localhost:\(port)") == 201)
        #expect(try bench.request("GET", "/f", host: "evil.example").status == 403)
        #expect(try bench.request("GET", "/f", host: "127.0.0.1:\(port)").status == 200)
        let client = try bench.client()
        client.send("GET /f HTTP/1.1\r\n\r\n")
        #expect(try client.response().status == 400)
        await bench.receiver.stop()
    }

    @Test("accepts preflight requests of a page of an allowed origin before an upload, by the complete origin")
    func preflight() async throws {
        let bench = try await ReceiverBench { $0.allowedOrigins = ["https://app.example", "http://localhost:*"] }
        for origin in ["https://app.example", "http://localhost:3000"] {
            let answer = try bench.request(
                "OPTIONS",
                UploadName().path,
                [("Origin", origin), ("Access-Control-Request-Method", "PATCH")]
            )
            #expect(answer.status == 204)
            #expect(answer.fields["Access-Control-Allow-Origin"] == origin)
            #expect(answer.fields["Access-Control-Allow-Methods"]?.contains("PATCH") ?? false)
        }
        for origin in [
            "https://evil.example", "https://app.example.evil", "http://app.example", "https://app.example:444",
            "https://xapp.example", "http://localhost:3000.evil", "http://localhost.evil:3000",
            "http://localhost:3000/x",
        ] {
            let other = try bench.request("OPTIONS", UploadName().path, [("Origin", origin)])
            #expect(other.fields["Access-Control-Allow-Origin"] == nil, "\(origin)")
        }
        await bench.receiver.stop()
    }

    @Test(
        "may be allowed to whole origins only, not to their begins",
        arguments: [
            ("https://app.example*", "https://app.example.evil", false), ("https://app*", "https://app.evil", false),
            ("https://*.example", "https://a.example", false), ("https://App.example/", "https://app.example", true),
            ("https://app.example:443", "https://app.example", true),
            ("chrome-extension://*", "chrome-extension://ab", true),
            ("chrome-extension://*", "chrome-extensions://ab", false), ("http://a:*", "http://a", true),
            ("http://a:*", "http://a:1b", false), ("*", "http://a", false),
        ]
    )
    func wholeOrigins(entry: String, origin: String, isAllowed: Bool) {
        #expect(RequestPolicy(listenHost: "", allowedOrigins: [entry]).isAllowed(origin) == isAllowed)
        #expect(RequestPolicy.isOriginPattern(entry) || !isAllowed)
    }
}
