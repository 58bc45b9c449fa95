import NIOCore
import Testing
import TransferCore
import TransferTesting

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
            credentials: try Credential.list(parsing: Self.list, source: "the test"),
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
            if case .refused(let answer, _) = control.verdict(fields, needs: right) { return answer.status }
            return 200
        }
        #expect(status([:], .read) == 401)
        #expect(status(["Authorization": "Bearer t-read"], .read) == 200)
        #expect(status(["Authorization": "Bearer t-read"], .write) == 403)
        #expect(status(["Authorization": "Bearer wrong"], .read) == 401)
    }

    @Test("takes longer and longer to be refused")
    func throttled() throws {
        let control = try self.control()
        var last = TimeAmount.zero
        for _ in 0..<20 {
            if case .refused(_, let delay) = control.verdict(["Authorization": "Bearer x"], needs: .read) {
                last = delay
            }
        }
        #expect(last > .zero)
    }

    @Test(
        "is not guessed from a file that is malformed",
        arguments: ["", "# nothing", "read token", "reed token x", "read tokn x", "read basic nocolon"]
    )
    func badFile(text: String) {
        #expect(throws: ReceiverError.self) { try Credential.list(parsing: text, source: "f") }
    }

    @Test("does not reach beyond its right: reading, listing and writing are apart")
    func apart() async throws {
        let bench = try await ReceiverBench {
            $0.credentials =
                (try? Credential.list(parsing: "read token r\nlist token l\nwrite token w", source: "")) ?? []
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

    @Test("lets a page of an allowed origin ask before it goes on with an upload, by the origin or its begin")
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
        let other = try bench.request("OPTIONS", UploadName().path, [("Origin", "https://evil.example")])
        #expect(other.fields["Access-Control-Allow-Origin"] == nil)
        await bench.receiver.stop()
    }
}
