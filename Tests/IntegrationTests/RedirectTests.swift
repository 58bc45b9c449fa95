// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Where redirects may lead, and what they may carry.
@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    private static let file = ServedFile(length: fileLength)

    private func withCredentials(_ url: String) -> String {
        url.replacingPrefix("http://", by: "http://user:secret@")
    }

    @Test("credentials and the user's own fields are dropped at another origin, and the name stays the first URL's")
    func otherOrigin() async throws {
        let harness = try Harness()
        let other = try await serve(Served(Self.file))
        let location = other.text("evil.sh")
        let server = try await ScriptedServer.start { _ in .redirect(to: location) }
        let outcome = try await harness.fetch(self.withCredentials(server.text("file.bin"))) { request in
            request.fields = [("Cookie", "session=1"), ("X-Token", "mine"), ("Authorization", "Bearer t")]
            request.options.fields = [("User-Agent", "martlet-test"), ("X-Shared", "mine, too")]
        }
        harness.expectWhole(outcome, Self.file)
        let first = try #require(server.requests.first)
        #expect(first["Cookie"] == "session=1")
        #expect(first["X-Token"] == "mine")
        #expect(first["Authorization"] != nil)
        let second = try #require(other.requests.first)
        #expect(second["Cookie"] == nil)
        #expect(second["X-Token"] == nil)
        #expect(second["X-Shared"] == nil)
        #expect(second["Authorization"] == nil)
        await server.stop()
        await other.stop()
    }

    @Test("each redirect is judged: one to a private address is refused, and is not retried")
    func privateAddress() async throws {
        let harness = try Harness()
        let other = try await serve(Served(Self.file))
        let server = try await ScriptedServer.start { _ in .redirect(to: other.text("metadata")) }
        for path in ["one", "two"] {
            let outcome = try await harness.fetch(server.text(path)) { request in
                request.options.addresses = AddressRule(
                    refusing: .private,
                    allowing: ProxyExceptions("127.0.0.1:\(server.port)")
                )
            }
            #expect(outcome.failure?.code == .addressDenied, "\(outcome.story)")
        }
        #expect(server.requests.count == 2 && other.connectionCount == 0)
        await server.stop()
        await other.stop()
    }

    @Test("the URL's credentials go to its own origin as Basic, and stay for a redirect within it")
    func sameOrigin() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { request in
            request.path == "/file.bin" ? .redirect(to: "/moved/other.bin", status: 307) : .file(Self.file, request)
        }
        let outcome = try await harness.fetch(self.withCredentials(server.text("file.bin"))) { request in
            request.fields = [("X-Token", "mine")]
        }
        harness.expectWhole(outcome, Self.file)
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { $0["Authorization"] == "Basic dXNlcjpzZWNyZXQ=" })
        #expect(server.requests.allSatisfy { $0["X-Token"] == "mine" })
        #expect(server.requests.allSatisfy { !$0.target.contains("secret") && $0["Host"]?.contains("@") == false })
        await server.stop()
    }

    @Test("credentials that a redirect's own URL holds do not come from, or go to, another place")
    func credentialsDoNotComeBack() async throws {
        let harness = try Harness()
        let other = try await ScriptedServer.start { request in
            .redirect(to: request["X-Back"] ?? "/loop")
        }
        let otherURL = other.text("x")
        let server = try await ScriptedServer.start { _ in .redirect(to: otherURL) }
        let outcome = try await harness.fetch(self.withCredentials(server.text("file.bin"))) {
            $0.options.maximumRedirects = 3
            $0.options.retries = 0
        }
        harness.expectFailure(outcome, .redirects)
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil })
        await server.stop()
        await other.stop()
    }

    @Test("a loop of redirects ends after 20 hops")
    func loop() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .redirect(to: "/file.bin") }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectFailure(outcome, .redirects)
        #expect(server.requests.count == 21)
        await server.stop()
    }

    @Test("20 hops are followed", arguments: [301, 302, 303, 307, 308])
    func manyHops(_ status: Int) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { request in
            let hop = Int(request.path.dropFirst(9)) ?? 0
            return hop < 20 ? .redirect(to: "file.bin\(hop + 1)", status: status) : .file(Self.file, request)
        }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, Self.file)
        await server.stop()
    }

    @Test(
        "schemes other than http and https are refused",
        arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://x/", "javascript:1"]
    )
    func otherScheme(_ location: String) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .redirect(to: location) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectFailure(outcome, .redirects)
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test("https to http is refused unless asked for", arguments: [false, true])
    func downgrade(_ isAllowed: Bool) async throws {
        let harness = try Harness()
        let plain = try await serve(Served(Self.file))
        let location = plain.text("file.bin")
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .redirect(to: location) }
        let outcome = try await harness.fetch(server.text("file.bin"), transport: harness.trusting()) { request in
            request.options.allowsDowngrade = isAllowed
        }
        if isAllowed {
            harness.expectWhole(outcome, Self.file)
        } else {
            harness.expectFailure(outcome, .redirects)
            #expect(plain.requests.isEmpty)
        }
        await server.stop()
        await plain.stop()
    }

    @Test("resuming requests the original URL again, because a signed one may have expired")
    func resumeAsksTheOriginal() async throws {
        let harness = try Harness()
        var interrupted = Self.file
        interrupted.interruption = .closeAfter(cutLength)
        let first = interrupted
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/file.bin": .redirect(to: "/signed-\(request.targetIndex)")
            case "/signed-0": request.targetIndex == 0 ? .file(first, request) : .response(403, text: "expired")
            default: .file(Self.file, request)
            }
        }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, Self.file)
        #expect(server.requests.map(\.path) == ["/file.bin", "/signed-0", "/file.bin", "/signed-1"])
        // The last sent bytes are counted by the time their connection is closed.
        await server.stop()
        #expect(server.bodyBytesSent(for: "/signed-0") + server.bodyBytesSent(for: "/signed-1") == fileLength)
    }

    @Test("a redirect without a Location fails")
    func noLocation() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(302) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectFailure(outcome, .badResponse)
        await server.stop()
    }
}

extension String {
    func replacingPrefix(_ prefix: String, by other: String) -> String {
        self.hasPrefix(prefix) ? other + self.dropFirst(prefix.count) : self
    }
}

extension Harness {
    /// A transport that trusts the test authority.
    func trusting() throws -> HTTPTransport.Configuration {
        let authority = try TemporaryAuthority()
        var configuration = HTTPTransport.Configuration()
        configuration.tls.roots = .pemFile(authority.path)
        return configuration
    }
}

/// The test authority's certificate in a file that lives as long as the process.
struct TemporaryAuthority {
    private static let directory = Result {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificate.localhost.authorityPEM.utf8), to: "authority.pem")
        return directory
    }

    let path: String

    init() throws {
        self.path = try Self.directory.get().path("authority.pem")
    }
}
