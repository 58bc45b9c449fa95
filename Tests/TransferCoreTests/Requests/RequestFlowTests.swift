// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("The flow of requests: redirects and challenges")
struct RequestFlowTests {
    private static func head(_ status: Int, _ location: String? = nil) -> ResponseHead {
        ResponseHead(
            status: status,
            fields: HeaderFields(location.map { [("Location", $0)] } ?? []),
            framing: .length(0)
        )
    }

    private static func terms(_ change: (inout RequestTerms) -> Void = { _ in }) -> RequestTerms {
        var terms = RequestTerms()
        change(&terms)
        return terms
    }

    private static func word(_ step: RequestFlow.Step) -> String {
        switch step {
        case .final: "final"
        case .next(let flow): "next \(flow.url)"
        case .ask(let question): "ask \(question.subject)"
        case .fail(let failure): "fail \(failure.code.rawValue)"
        }
    }

    private static func next(_ step: RequestFlow.Step) throws -> RequestFlow {
        switch step {
        case .next(let flow): flow
        case .ask(let question): question.next
        case .final, .fail: throw WrongStep(word: self.word(step))
        }
    }

    private struct WrongStep: Error { let word: String }

    private static let start = RequestFlow(MachineHarness.url("http://a/d/f"))

    @Test(
        "the method after a redirect",
        arguments: [
            ("GET", 301, "GET"), ("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"),
            ("POST", 307, "POST"), ("POST", 308, "POST"), ("PUT", 301, "PUT"), ("PUT", 303, "GET"),
            ("HEAD", 303, "HEAD"), ("HEAD", 301, "HEAD"), ("PATCH", 302, "PATCH"), ("DELETE", 303, "GET"),
        ]
    )
    func method(method: String, status: Int, after: String) throws {
        let head = Self.head(status, "/g")
        let next = try Self.next(Self.start.received(head, method: method, Self.terms()))
        #expect(next.method(method) == after)
        #expect(next.isRewritten == (after != method))
        // The requests of a protocol stay what they are.
        let kept = try Self.next(Self.start.received(head, method: method, keepsMethod: true, Self.terms()))
        #expect(kept.method(method) == method && !kept.isRewritten)
        // What was dropped does not come back.
        let second = try Self.next(next.received(Self.head(307, "/h"), method: method, Self.terms()))
        #expect(second.isRewritten == next.isRewritten && second.method(method) == after)
    }

    @Test("a redirect without Location is final, and so are other statuses")
    func final() {
        for status in [200, 206, 300, 304, 305, 401, 404, 407, 417, 500] {
            #expect(Self.word(Self.start.received(Self.head(status, "/g"), method: "GET", Self.terms())) == "final")
        }
        for head in [Self.head(302), Self.head(302, "")] {
            #expect(Self.word(Self.start.received(head, method: "GET", Self.terms())) == "final")
        }
    }

    @Test("a redirect that must not be followed fails without a question")
    func fails() {
        let secure = RequestFlow(MachineHarness.url("https://a/f"))
        for location in ["http://a/f", "file:///etc/passwd", "http://[::1/"] {
            let step = secure.received(Self.head(302, location), method: "GET", Self.terms { $0.hasPolicy = true })
            #expect(Self.word(step) == "fail redirects")
        }
    }

    @Test("a policy and an authorizer are asked about a challenge, only a policy about a redirect")
    func asks() {
        for (hasPolicy, hasAuthorizer) in [(false, false), (true, false), (false, true), (true, true)] {
            let terms = Self.terms {
                $0.hasPolicy = hasPolicy
                $0.hasAuthorizer = hasAuthorizer
            }
            let challenge = Self.word(Self.start.received(Self.head(401), method: "GET", terms))
            #expect(challenge == (hasPolicy || hasAuthorizer ? "ask challenge" : "final"))
            let redirect = Self.word(Self.start.received(Self.head(302, "/g"), method: "GET", terms))
            #expect(redirect == (hasPolicy ? "ask redirect" : "next http://a/g"))
        }
    }

    @Test("a decision: what each of them means for each question")
    func decides() throws {
        let terms = Self.terms { $0.hasPolicy = true }
        let diversion = Diversion(directory: "", name: nil, ifExists: .auto)
        for (head, follows) in [(Self.head(302, "/g"), "proceed repeat divert"), (Self.head(401), "repeat")] {
            guard case .ask(let question) = Self.start.received(head, method: "POST", terms) else {
                throw WrongStep(word: "no question")
            }
            let decisions: [(String, PolicyDecision)] = [
                ("proceed", .proceed), ("refuse", .refuse), ("repeat", .repeat), ("divert", .divert(diversion)),
                ("cancel", .cancel),
            ]
            for (name, decision) in decisions {
                #expect((question.next(after: decision) != nil) == follows.contains(name), "\(name) \(head.status)")
            }
        }
    }

    @Test("the policy is told the URL and the method of the next request")
    func told() throws {
        let terms = Self.terms { $0.hasPolicy = true }
        guard case .ask(let question) = Self.start.received(Self.head(303, "g"), method: "PUT", terms),
            case .redirect(_, let url, let method) = question.asked
        else { throw WrongStep(word: "no question") }
        #expect(url.description == "http://a/d/g" && method == "GET")
        #expect(question.next.note(after: question.head) == "303: redirected to http://a/d/g")
    }

    @Test("credentials are refused eight times, also across redirects")
    func refusals() throws {
        let terms = Self.terms { $0.hasAuthorizer = true }
        var flow = Self.start
        for number in 1...RequestFlow.maximumRefusals {
            flow = try Self.next(flow.received(Self.head(401), method: "GET", terms))
            #expect(flow.refusals == number && flow.hops == number - 1)
            flow = try Self.next(flow.received(Self.head(307, "/\(number)"), method: "GET", terms))
        }
        #expect(Self.word(flow.received(Self.head(401), method: "GET", terms)) == "final")
    }

    /// What a flow is, told from its first request: nothing is carried on but the responses.
    private struct Naive {
        var urls: [String]
        var statuses: [Int] = []
        var refusals = 0

        var isRewritten: Bool {
            var method = self.original
            return self.statuses.contains { status in
                let drops = status == 303 ? !["GET", "HEAD"].contains(method) : status < 303 && method == "POST"
                if drops { method = "GET" }
                return drops
            }
        }

        let original: String

        var hasLeftOrigin: Bool { Set(self.urls.map { String($0.prefix(8)) }).count > 1 }
    }

    @Test("a random walk agrees with the list of all responses", arguments: 0..<200 as Range<UInt64>)
    func walk(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let method = ["GET", "HEAD", "POST", "PUT", "PATCH"].randomElement(using: &random) ?? "GET"
        let terms = Self.terms {
            $0.redirects.maximum = Int.random(in: 0...6, using: &random)
            $0.hasPolicy = Bool.random(using: &random)
            $0.hasAuthorizer = Bool.random(using: &random)
        }
        var naive = Naive(urls: ["http://a/0"], original: method)
        var flow = RequestFlow(MachineHarness.url("http://a/0"))
        for number in 1...20 {
            let host = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            let target = "http://\(host)/\(number)"
            let status = [200, 301, 302, 303, 307, 308, 401].randomElement(using: &random) ?? 200
            let step = flow.received(Self.head(status, target), method: method, terms)
            let isChallenge = status == 401 && (terms.hasPolicy || terms.hasAuthorizer)
            let isRedirect = status > 300 && status < 400
            if isRedirect, naive.statuses.count >= terms.redirects.maximum {
                #expect(Self.word(step) == "fail redirects")
                continue
            }
            guard isRedirect || isChallenge && naive.refusals < RequestFlow.maximumRefusals else {
                #expect(Self.word(step) == "final")
                continue
            }
            #expect(Self.word(step).hasPrefix("ask") == (isChallenge || terms.hasPolicy))
            // A question that is answered with no changes nothing.
            if Self.word(step).hasPrefix("ask"), Bool.random(using: &random) { continue }
            flow = try Self.next(step)
            if isChallenge {
                naive.refusals += 1
            } else {
                naive.urls.append(target)
                naive.statuses.append(status)
            }
            #expect(flow.url.description == naive.urls.last && flow.hops == naive.statuses.count)
            #expect(flow.refusals == naive.refusals && flow.hasLeftOrigin == naive.hasLeftOrigin)
            #expect(flow.isRewritten == naive.isRewritten)
            #expect(flow.method(method) == (naive.isRewritten ? "GET" : method))
        }
    }
}
