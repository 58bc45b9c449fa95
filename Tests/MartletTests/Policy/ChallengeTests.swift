// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferCore
import TransferTesting

@Suite("Challenges", .timeLimit(.minutes(1)))
struct ChallengeTests {
    private static let right = Credential.password(user: "me", password: "secret")
    private static let wrong = Credential.password(user: "me", password: "guess")
    private static let field = BasicAuthentication.authorization(user: "me", password: "secret") ?? ""

    private func server(_ expected: String? = nil) async throws -> ScriptedServer {
        let expected = expected ?? Self.field
        return try await ScriptedServer.start { request in
            request["Authorization"] == expected
                ? .response(200, text: "inside")
                : .response(401, [("WWW-Authenticate", "Basic realm=\"vault\"")], text: "who are you?")
        }
    }

    @Test("Without credentials a challenge fails with its status, reason phrase and the body's first bytes")
    func without() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        for isDownload in [false, true] {
            let error = try await failure {
                if isDownload {
                    _ = try await harness.session.download(from: server.text("a"))
                } else {
                    _ = try await harness.session.data(from: server.text("a"))
                }
            }
            #expect(error.code == .authentication && error.status == 401)
            #expect(error.reasonPhrase == "Unauthorized" && error.bodyText == "who are you?")
        }
        await observer.waitForEnds(2)
        #expect(observer.story.prefix(3) == ["challenge", "response 401", "failed authentication"])
        let challenge = observer.challenges.entries[0]
        #expect(challenge.schemes == ["basic"] && challenge.refusals == 0 && challenge.response.status == 401)
        let origin = try server.url("/").origin
        #expect(challenge.protectionSpace.realm == "vault" && challenge.protectionSpace.origin == origin)
    }

    @Test("Configured credentials are the response, and are sent without a challenge from then on")
    func configured() async throws {
        let server = try await self.server()
        let url = try server.url("a/b")
        let harness = try Harness { $0.credentials.set(Self.right, for: url) }
        let observer = Observer()
        harness.session.addDelegate(observer)
        for _ in 0..<2 { #expect(try await harness.session.data(from: url).text == "inside") }
        #expect(server.requests.map { $0["Authorization"] != nil } == [false, true, true])
        await observer.waitForEnds(2)
        #expect(observer.challenges.entries.isEmpty)
    }

    @Test("Credentials for one realm are not those of another")
    func realms() async throws {
        let server = try await self.server()
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(Self.right, for: url, realm: "elsewhere") }
        #expect(await code { try await harness.session.data(from: url) } == .authentication)
        #expect(server.requests.allSatisfy { $0["Authorization"] == nil })
        let other = try Harness { $0.credentials.set(Self.right, for: url, realm: "vault") }
        #expect(try await other.session.data(from: url).text == "inside")
    }

    @Test("User information in the URL answers, and is sent nowhere else")
    func userInformation() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let url = "http://me:secret@127.0.0.1:\(server.port)/a"
        #expect(try await harness.session.data(from: url).text == "inside")
        #expect(server.requests.allSatisfy { !$0.target.contains("secret") && $0["Host"]?.contains("me") == false })
    }

    @Test("A bearer token goes with the first request, and only to its origin")
    func bearer() async throws {
        let server = try await self.server("Bearer token")
        let other = try await self.server("Bearer token")
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(.bearer("token"), for: url) }
        #expect(try await harness.session.data(from: url).text == "inside")
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer token"])
        #expect(await code { try await harness.session.data(from: other.text("a")) } == .authentication)
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil })
    }

    @Test("A delegate answers; wrong credentials are counted as refused, the right ones are remembered")
    func delegate() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { script in
            script.challenge = { challenge, decide in
                decide(.use(challenge.refusals < 2 ? Self.guess(challenge) : Self.right))
            }
        }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("a")).text == "inside")
        #expect(observer.challenges.entries.map(\.refusals) == [0, 1, 2])
        #expect(try await harness.session.data(from: server.text("b")).text == "inside")
        #expect(observer.challenges.entries.count == 3)
        #expect(server.requests.count == 5)
    }

    private static func guess(_ challenge: Challenge) -> Credential {
        .password(user: "me", password: "guess \(challenge.refusals)")
    }

    @Test("Wrong configured credentials are tried once, then the delegate is asked")
    func wrongConfigured() async throws {
        let server = try await self.server()
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(Self.wrong, for: url) }
        let observer = Observer { $0.challenge = { $1(.use(Self.right)) } }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: url).text == "inside")
        #expect(observer.challenges.entries.map(\.refusals) == [0], "the delegate has supplied nothing yet")
        #expect(server.requests.count == 3)
    }

    @Test("A delegate that repeats wrong credentials does not loop for ever")
    func stubborn() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { $0.challenge = { $1(.use(Self.wrong)) } }
        harness.session.addDelegate(observer)
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .authentication)
        #expect(observer.challenges.entries.map(\.refusals) == Array(0..<8))
        #expect(server.requests.count == 9)
    }

    @Test(
        "Credentials that were sent ahead to another realm are not refused: the delegate answers both",
        arguments: [false, true]
    )
    func twoRealms(_ isBelow: Bool) async throws {
        // The second realm is next to the first, where either's credentials may be sent ahead, or below it.
        let second = isBelow ? "/in/b" : "/b"
        let server = try await ScriptedServer.start { request in
            let realm = request.path == second ? "second" : "first"
            return request["Authorization"] == BasicAuthentication.authorization(user: "me", password: realm)
                ? .response(200, text: realm) : .response(401, [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
        }
        let harness = try Harness()
        let observer = Observer { script in
            script.challenge = { challenge, decide in
                guard challenge.refusals == 0 else { return decide(.useDefault) }
                decide(.use(.password(user: "me", password: challenge.protectionSpace.realm ?? "")))
            }
        }
        harness.session.addDelegate(observer)
        for _ in 0..<3 {
            #expect(try await harness.session.data(from: server.text("a")).text == "first")
            #expect(try await harness.session.data(from: server.text(String(second.dropFirst()))).text == "second")
        }
        #expect(observer.challenges.entries.map(\.protectionSpace.realm) == ["first", "second"])
        #expect(observer.challenges.entries.allSatisfy { $0.refusals == 0 })
    }

    @Test("One task's refusals are counted per realm")
    func refusalsOfEachRealm() async throws {
        let server = try await ScriptedServer.start { request in
            let realm = request.path == "/b" ? "second" : "first"
            guard request["Authorization"] == BasicAuthentication.authorization(user: "me", password: realm) else {
                return .response(401, [("WWW-Authenticate", "Basic realm=\"\(realm)\"")])
            }
            return request.path == "/b" ? .response(200, text: "inside") : .redirect(to: "/b")
        }
        let harness = try Harness()
        let observer = Observer { script in
            script.challenge = { challenge, decide in
                let realm = challenge.protectionSpace.realm ?? ""
                decide(.use(.password(user: "me", password: challenge.refusals < 2 ? "guess" : realm)))
            }
        }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("a")).text == "inside")
        #expect(observer.challenges.entries.map(\.refusals) == [0, 1, 2, 0, 1, 2])
    }

    @Test("What a delegate gives for one task is asked for again by the next", arguments: [false, true])
    func persistence(_ isForSession: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer {
            $0.challenge = { $1(.use(Self.right, remember: isForSession ? .session : .task)) }
        }
        harness.session.addDelegate(observer)
        for _ in 0..<2 { #expect(try await harness.session.data(from: server.text("a")).text == "inside") }
        #expect(observer.challenges.entries.count == (isForSession ? 1 : 2))
        #expect(observer.challenges.entries.allSatisfy { $0.refusals == 0 })
    }

    @Test("What a delegate gives for a session is not sent by another session")
    func otherSession() async throws {
        let server = try await self.server()
        let (first, second) = (try Harness(), try Harness())
        let observer = Observer { $0.challenge = { $1(.use(Self.right, remember: .session)) } }
        first.session.addDelegate(observer)
        #expect(try await first.session.data(from: server.text("a")).text == "inside")
        let count = server.requests.count
        #expect(await code { try await second.session.data(from: server.text("a")) } == .authentication)
        #expect(server.requests.dropFirst(count).allSatisfy { $0["Authorization"] == nil })
    }

    @Test("A delegate can cancel, or leave it to the next delegate")
    func otherAnswers() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let (first, second) = (Observer(), Observer { $0.challenge = { $1(.cancel) } })
        harness.session.addDelegate(first)
        harness.session.addDelegate(second)
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .cancelled)
        #expect(first.challenges.entries.count == 1 && second.challenges.entries.count == 1)
        #expect(server.requests.count == 1)
    }

    @Test("Credentials never go to another origin: another port, another name, a redirect", arguments: [true, false])
    func otherOrigin(_ isOtherPort: Bool) async throws {
        let other = try await self.server()
        let target = isOtherPort ? other.text("x") : "http://localhost:\(other.port)/x"
        let server = try await ScriptedServer.start { request in
            if request["Authorization"] != Self.field {
                return .response(401, [("WWW-Authenticate", "Basic realm=\"vault\"")])
            }
            return .redirect(to: target)
        }
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(Self.right, for: url) }
        let error = try await failure { try await harness.session.data(from: url) }
        #expect(error.code == .authentication && error.response?.url.port == other.port)
        #expect(other.requests.count == 1 && other.requests[0]["Authorization"] == nil)
        let withUser = "http://me:secret@127.0.0.1:\(server.port)/a"
        let plain = try Harness()
        #expect(await code { try await plain.session.data(from: withUser) } == .authentication)
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil })
    }

    @Test("An unknown scheme is reported to the delegate as none")
    func unknownScheme() async throws {
        let server = try await ScriptedServer.start { _ in .response(401, [("WWW-Authenticate", "Mutual realm=\"x\"")])
        }
        let harness = try Harness()
        let observer = Observer { $0.challenge = { $1(.use(Self.right)) } }
        harness.session.addDelegate(observer)
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .authentication)
        #expect(observer.challenges.entries.map(\.schemes) == [[]])
        #expect(server.requests.count == 1)
    }

    @Test("A download's credentials go with its later requests, too")
    func download() async throws {
        var file = ServedFile(length: 3 << 20)
        file.interruption = .closeAfter(1 << 20)
        file.interruptedResponses = 2
        let server = try await ScriptedServer.start { [file] request in
            request["Authorization"] == Self.field
                ? .file(file, request) : .response(401, [("WWW-Authenticate", "Basic realm=\"vault\"")])
        }
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(Self.right, for: url) }
        let result = try await harness.session.download(from: url, to: .file(harness.path("file")))
        #expect(file.pattern.difference(fromFileAt: result.path, length: file.length) == nil)
        #expect(server.requests.dropFirst().allSatisfy { $0["Authorization"] == Self.field })
    }
}
