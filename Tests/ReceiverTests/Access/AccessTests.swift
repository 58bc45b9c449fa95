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

    private func control() throws -> AccessControl {
        AccessControl(
            credentials: try AccessCredential.list(parsing: Self.list, source: "the test"),
            open: [],
            policy: RequestPolicy(listenHost: "127.0.0.1"),
            sessionCookie: "sid"
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
        func status(_ fields: HeaderFields, _ right: Rights) -> Int {
            if case .refused(let answer) = control.verdict(fields, needs: right, from: "192.0.2.1") {
                return answer.status
            }
            return 200
        }
        #expect(status([:], .read) == 401)
        #expect(status(["Authorization": "Bearer t-read"], .read) == 200)
        #expect(status(["Authorization": "Bearer t-read"], .write) == 403)
        #expect(status(["Authorization": "Bearer wrong"], .read) == 401)
    }

    @Test("is not guessed: after some wrong credentials, those of an address are refused unchecked, longer and longer")
    func guessing() {
        var limiter = GuessLimiter()
        let start = ContinuousClock.now
        for index in 0..<GuessLimiter.free {
            #expect(limiter.refusal(of: "192.0.2.1", at: start) == nil)
            limiter.failed("192.0.2.1", credential: index, at: start)
        }
        #expect(limiter.refusal(of: "192.0.2.1", at: start) == nil)
        var now = start
        var waits: [Duration] = []
        for index in 0..<10 {
            limiter.failed("192.0.2.1", credential: 100 + index, at: now)
            let wait = limiter.refusal(of: "192.0.2.1", at: now) ?? .zero
            waits.append(wait)
            now += wait
            #expect(limiter.refusal(of: "192.0.2.1", at: now) == nil)
        }
        #expect(waits.first == .seconds(1) && waits.last == GuessLimiter.longest && waits == waits.sorted())
        // Others are not affected.
        limiter.failed("192.0.2.1", credential: 0, at: now)
        #expect(limiter.refusal(of: "192.0.2.2", at: now) == nil)
        // One client has a whole network of IPv6.
        for index in 0..<10 { limiter.failed("2001:db8::\(index)", credential: index, at: now) }
        #expect(limiter.refusal(of: "2001:db8::ffff", at: now) != nil)
        #expect(limiter.refusal(of: "2001:db8:0:1::1", at: now) == nil)
        // A program that repeats its old credential does not guess.
        for _ in 0..<50 { limiter.failed("192.0.2.3", credential: 1, at: now) }
        #expect(limiter.refusal(of: "192.0.2.3", at: now) == nil)
    }

    @Test("is not guessed from many addresses either: each has one try then, and memory is bounded")
    func guessingFromEverywhere() {
        var limiter = GuessLimiter()
        let now = ContinuousClock.now
        for index in 0..<20_000 {
            let address = "10.\(index >> 16).\(index >> 8 & 255).\(index & 255)"
            #expect(limiter.refusal(of: address, at: now) == nil)
            limiter.failed(address, credential: index, at: now + .microseconds(index))
            if index >= GuessLimiter.freeInTotal {
                #expect(limiter.refusal(of: address, at: now + .seconds(5)) != nil)
            }
        }
        #expect(limiter.addressCount <= GuessLimiter.mostAddresses)
        #expect(limiter.refusal(of: "192.0.2.1", at: now) == nil)
        limiter.failed("192.0.2.1", credential: 1, at: now + .seconds(100))
        #expect(limiter.refusal(of: "192.0.2.1", at: now + .seconds(100)) == nil)
    }

    @Test("is refused with 429 and a time to wait where it is guessed, also beside a weaker credential")
    func refusedUnchecked() async throws {
        for extra in [[], [("Cookie", "sid=s-write")]] {
            let bench = try await ReceiverBench {
                $0.credentials = (try? AccessCredential.list(parsing: Self.list, source: "")) ?? []
                $0.sessionCookie = "sid"
            }
            var statuses: [Int] = []
            for index in 0..<20 {
                let answer = try bench.request("GET", "/", [("Authorization", "Bearer x\(index)")] + extra)
                statuses.append(answer.status)
                if answer.status == 429 { #expect(answer.fields["Retry-After"].flatMap { Int($0) } ?? 0 > 0) }
            }
            #expect(statuses.count { $0 != 429 } <= GuessLimiter.free + 3)
            #expect(statuses.last == 429)
            // Unchecked, whether right or wrong.
            #expect(try bench.request("GET", "/", [("Authorization", "Bearer t-read")]).status == 429)
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

    @Test("lets a page of an allowed origin ask before it goes on with an upload, by the whole origin")
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
