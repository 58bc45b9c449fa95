// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferCore
import TransferTesting

@Suite("Digest authentication", .timeLimit(.minutes(1)))
struct DigestTests {
    /// A server that knows one user, and checks what RFC 7616 wants.
    private final class Vault: Sendable {
        let algorithm: DigestAlgorithm
        let faults = Log<String>()
        private let state = Mutex((nonce: "nonce-0", counts: Set<String>(), ages: 0))

        init(_ algorithm: DigestAlgorithm) { self.algorithm = algorithm }

        private var name: String { self.algorithm == .md5 ? "MD5" : "SHA-256" }

        func age() {
            self.state.withLock { state in
                state.ages += 1
                state.nonce = "nonce-\(state.ages)"
                state.counts = []
            }
        }

        private func hash(_ text: String) -> String {
            Hexadecimal.encode(PlainDigests.hash(self.algorithm, Array(text.utf8)))
        }

        func answer(_ request: RecordedRequest) -> Reply {
            let nonce = self.state.withLock { $0.nonce }
            guard let field = request["Authorization"] else { return self.challenge(nonce, isStale: false) }
            guard let challenge = AuthenticationChallenge.parse([field]).first, challenge.scheme == "digest" else {
                self.faults.add("no digest: \(field)")
                return .response(400)
            }
            let given = challenge.parameters
            if given["nonce"] != nonce { return self.challenge(nonce, isStale: true) }
            let count = given["nc"] ?? ""
            if !self.state.withLock({ $0.counts.insert(count).inserted }) { self.faults.add("nc \(count) twice") }
            if count.utf8.count != 8 { self.faults.add("nc \(count)") }
            if given["uri"] != request.target { self.faults.add("uri \(given["uri"] ?? "")") }
            if given["realm"] != "vault" || given["opaque"] != "o" { self.faults.add("realm or opaque") }
            if given["algorithm"] != self.name || given["qop"] != "auth" { self.faults.add("algorithm or qop") }
            let user = given["username"] ?? ""
            let first = self.hash("\(user):vault:secret")
            let second = self.hash("\(request.method):\(request.target)")
            let expected = self.hash("\(first):\(nonce):\(count):\(given["cnonce"] ?? ""):auth:\(second)")
            return given["response"] == expected
                ? .response(200, text: "inside") : self.challenge(nonce, isStale: false)
        }

        private func challenge(_ nonce: String, isStale: Bool) -> Reply {
            let stale = isStale ? ", stale=true" : ""
            let value =
                "Digest realm=\"vault\", qop=\"auth\", algorithm=\(self.name), nonce=\"\(nonce)\", opaque=\"o\"\(stale)"
            return .response(401, [("WWW-Authenticate", value)], text: "digest, please")
        }
    }

    @Test(
        "Answers are right, with a count of their own each, for any method and target",
        arguments: [DigestAlgorithm.md5, .sha256]
    )
    func right(_ algorithm: DigestAlgorithm) async throws {
        let vault = Vault(algorithm)
        let server = try await ScriptedServer.start { vault.answer($0) }
        let url = try server.url("dir/a?q=1&r=%20")
        let harness = try Harness { $0.credentials.set(.password(user: "me", password: "secret"), for: url) }
        #expect(try await harness.session.data(from: url).text == "inside")
        var post = TransferRequest(try server.url("dir/b"))
        post.method = "POST"
        post.body = [UInt8]("content")
        #expect(try await harness.session.data(from: post).text == "inside")
        #expect(try await harness.session.download(from: server.text("dir/c")).size == 6)
        #expect(vault.faults.entries == [])
        // One challenge only: what is known is sent unasked.
        #expect(server.requests.count == 4)
        #expect(server.requests[2].body.text == "content")
    }

    @Test(
        "A stale nonce is replaced without calling a delegate, and is not a refusal",
        arguments: [DigestAlgorithm.md5, .sha256]
    )
    func stale(_ algorithm: DigestAlgorithm) async throws {
        let vault = Vault(algorithm)
        let server = try await ScriptedServer.start { vault.answer($0) }
        let harness = try Harness()
        let observer = Observer { $0.challenge = { $1(.use(.password(user: "me", password: "secret"))) } }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("a")).text == "inside")
        vault.age()
        #expect(try await harness.session.data(from: server.text("b")).text == "inside")
        #expect(observer.challenges.entries.map(\.refusals) == [0])
        #expect(observer.challenges.entries[0].schemes == ["digest"])
        #expect(vault.faults.entries == [])
    }

    @Test("A wrong password is refused, counted, and asked for again")
    func wrong() async throws {
        let vault = Vault(.sha256)
        let server = try await ScriptedServer.start { vault.answer($0) }
        let harness = try Harness()
        let observer = Observer { script in
            script.challenge = { challenge, decide in
                decide(.use(.password(user: "me", password: challenge.refusals == 0 ? "guess" : "secret")))
            }
        }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("a")).text == "inside")
        #expect(observer.challenges.entries.map(\.refusals) == [0, 1])
        #expect(vault.faults.entries == [], "the count continues if a refusal names the same nonce (RFC 7616 §3.4)")
    }

    @Test("Of several schemes the strongest is taken")
    func strongest() async throws {
        let vault = Vault(.sha256)
        let server = try await ScriptedServer.start { request in
            var reply = vault.answer(request)
            guard request["Authorization"] == nil else { return reply }
            reply = .response(
                401,
                [
                    ("WWW-Authenticate", "Basic realm=\"vault\""),
                    (
                        "WWW-Authenticate",
                        "Digest realm=\"vault\", qop=\"auth\", algorithm=MD5, nonce=\"nonce-0\", opaque=\"o\""
                    ),
                    (
                        "WWW-Authenticate",
                        "Digest realm=\"vault\", qop=\"auth\", algorithm=SHA-256, nonce=\"nonce-0\", opaque=\"o\""
                    ),
                ]
            )
            return reply
        }
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(.password(user: "me", password: "secret"), for: url) }
        #expect(try await harness.session.data(from: url).text == "inside")
        #expect(vault.faults.entries == [])
    }

    @Test("User information in the URL answers a digest challenge, and is not sent as Basic")
    func userInformation() async throws {
        let vault = Vault(.md5)
        let server = try await ScriptedServer.start { vault.answer($0) }
        let harness = try Harness()
        #expect(try await harness.session.data(from: "http://me:secret@127.0.0.1:\(server.port)/a").text == "inside")
        #expect(!server.requests.contains { $0["Authorization"]?.hasPrefix("Basic") ?? false })
    }

    @Test("The digest of a HEAD or a redirected request is of that request's method and target")
    func redirected() async throws {
        let vault = Vault(.sha256)
        let server = try await ScriptedServer.start { request in
            request.path == "/from" && request["Authorization"] != nil
                ? .redirect(to: "/to?x=1", status: 303) : vault.answer(request)
        }
        let url = try server.url("from")
        let harness = try Harness { $0.credentials.set(.password(user: "me", password: "secret"), for: url) }
        var request = TransferRequest(url)
        request.method = "POST"
        request.body = [UInt8]("content")
        #expect(try await harness.session.data(from: request).text == "inside")
        #expect(server.requests.last?.method == "GET" && vault.faults.entries == [])
    }
}
