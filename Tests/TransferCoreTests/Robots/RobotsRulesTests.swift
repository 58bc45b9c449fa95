// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@Suite("The rules of robots.txt")
struct RobotsRulesTests {
    private func rules(_ text: String, for agent: String = "martlet/1.0") -> RobotsRules {
        RobotsRules(Array(text.utf8), for: agent)
    }

    @Test("the longest match decides, and of equal ones that which allows (RFC 9309 §5.2)")
    func longest() {
        let rules = self.rules(
            "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
            for: "foobot"
        )
        #expect(rules.allows(path: "/example/page/"))
        #expect(!rules.allows(path: "/example/page/disallowed.gif"))
        #expect(rules.allows(path: "/other"))
        #expect(self.rules("user-agent:*\ndisallow:/a\nallow:/a").allows(path: "/a"))
    }

    @Test("the RFC's groups (RFC 9309 §5.1)")
    func groups() {
        let text = """
            User-Agent: *
            Disallow: *.gif$
            Disallow: /example/
            Allow: /publications/

            User-Agent: foobot
            Disallow:/
            Allow:/example/page.html
            Allow:/example/allowed.gif

            User-Agent: barbot
            User-Agent: bazbot
            Disallow: /example/page.html

            User-Agent: quxbot
            """
        let (any, foo, baz) = (self.rules(text), self.rules(text, for: "FooBot/2.1"), self.rules(text, for: "bazbot"))
        #expect(!any.allows(path: "/a/b.gif") && any.allows(path: "/a/b.gif?x") && !any.allows(path: "/example/"))
        #expect(any.allows(path: "/publications/x"))
        #expect(foo.allows(path: "/example/allowed.gif") && !foo.allows(path: "/publications/"))
        #expect(!baz.allows(path: "/example/page.html") && baz.allows(path: "/example/other.gif"))
        #expect(self.rules(text, for: "quxbot").allows(path: "/example/"))
    }

    @Test("groups of one name are combined (RFC 9309 §2.2.1)")
    func combined() {
        let text = "User-agent: martlet\nDisallow: /a\nUser-agent: *\nDisallow: /b\nUser-agent: Martlet\nDisallow: /c"
        let rules = self.rules(text)
        #expect(!rules.allows(path: "/a") && rules.allows(path: "/b") && !rules.allows(path: "/c"))
    }

    @Test("octets are compared in one encoding (RFC 9309 §2.2.2)")
    func encoding() {
        for (pattern, path, isMatched) in [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
            ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar", true),
            ("/foo/bar/\u{30C4}", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
            ("/a%2Fb", "/a/b", false),
            ("/file-with-a-%2A.html", "/file-with-a-*.html", true),
            ("/foo-%24", "/foo-$", true),
            ("/foo$", "/foo$", false),
        ] { #expect(self.rules("user-agent: *\ndisallow: \(pattern)").allows(path: path) != isMatched, "\(pattern)") }
    }

    @Test("stars match anything, and a dollar sign the end (RFC 9309 §2.2.3)")
    func wildcards() {
        let rules = self.rules("user-agent: *\ndisallow: /*.php$\ndisallow: /a*b*c\nallow: /this/*/exactly")
        #expect(!rules.allows(path: "/x/index.php") && rules.allows(path: "/index.php5"))
        #expect(!rules.allows(path: "/a1b2cd") && rules.allows(path: "/a1c2b"))
        #expect(rules.allows(path: "/this/path/exactly"))
    }

    @Test("bad lines, comments, line ends and marks are skipped")
    func tolerance() {
        let rules = self.rules(
            "\u{FEFF}# x\r\nnonsense\rUSER-AGENT : martlet # us\r\n\nDisallow : /a # no\rsitemap: /x\n"
        )
        #expect(!rules.allows(path: "/a") && rules.allows(path: "/b") && rules.allows(path: "/robots.txt"))
        #expect(self.rules("disallow: /").allows(path: "/a"))
        #expect(self.rules("user-agent: *\ndisallow:\n").allows(path: "/a"))
        #expect(!RobotsRules.denyingAll.allows(path: "/a") && RobotsRules.denyingAll.allows(path: "/robots.txt"))
        #expect(self.rules("user-agent: *\ncrawl-delay: 1.5").crawlDelay == 1_500_000_000)
        #expect(self.rules("user-agent: *\ncrawl-delay: -1\ncrawl-delay: x").crawlDelay == 0)
    }

    @Test("random files are parsed, and decide as a naive matcher does", arguments: 0..<60)
    func walk(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        func text(_ alphabet: String, _ most: Int) -> String {
            String(
                (0..<Int.random(in: 0...most, using: &random))
                    .compactMap { _ in alphabet.randomElement(using: &random) }
            )
        }
        for _ in 0..<50 {
            let patterns = (0..<4).map { _ in (Bool.random(using: &random), "/" + text("ab/*$", 6)) }
            let file = patterns.map { "\($0 ? "Allow" : "Disallow"): \($1)\n" }.joined()
            let path = "/" + text("ab/", 8)
            let matching = patterns.filter { Self.matches(Array($0.1)[...], Array(path)[...]) }
            let longest = matching.map(\.1.count).max()
            let isAllowed = longest == nil || matching.contains { $0.0 && $0.1.count == longest }
            #expect(self.rules("User-agent: *\n" + file).allows(path: path) == isAllowed, "\(patterns) \(path)")
        }
        let noise = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
        _ = RobotsRules(Array("user-agent: *\ndisallow: /".utf8) + noise, for: "x").allows(path: "/y")
    }

    /// Matches by trying everything.
    private static func matches(_ pattern: ArraySlice<Character>, _ path: ArraySlice<Character>) -> Bool {
        guard let first = pattern.first else { return true }
        if first == "$", pattern.count == 1 { return path.isEmpty }
        if first == "*" {
            if Self.matches(pattern.dropFirst(), path) { return true }
            return !path.isEmpty && Self.matches(pattern, path.dropFirst())
        }
        return path.first == first && Self.matches(pattern.dropFirst(), path.dropFirst())
    }

    @Test("a file made to cost much time is abandoned")
    func hostile() {
        let star = String(repeating: "*a", count: 1000)
        let text = "user-agent: *\n" + (0..<200).map { "disallow: /\(star)b\($0)\n" }.joined()
        #expect(!self.rules(text).allows(path: "/" + String(repeating: "a", count: 8000)))
    }

    @Test("a fetch follows five redirects, and treats failures as the RFC says (RFC 9309 §2.3.1)")
    func fetch() throws {
        let origin = Origin(scheme: .http, host: "a.test", port: 80)
        func fetch() throws -> RobotsFetch { try #require(RobotsFetch(origin, for: "martlet")) }
        var redirected = try fetch()
        #expect(redirected.first.description == "http://a.test/robots.txt")
        for number in 0..<5 {
            let head = ResponseHead(status: 302, fields: HeaderFields([("Location", "/r\(number)")]), framing: .chunked)
            guard case .request(let url) = redirected.received(head, wallNow: 0) else { return #expect(Bool(false)) }
            #expect(url.path == "/r\(number)")
        }
        for status in [302, 404, 403] {
            let head = ResponseHead(status: status, fields: HeaderFields([("Location", "/again")]), framing: .chunked)
            var other = status == 302 ? redirected : try fetch()
            guard case .finish(.rules(let rules, _)) = other.received(head, wallNow: 0) else {
                return #expect(Bool(false))
            }
            #expect(rules.allows(path: "/x"))
        }
        for status in [500, 503, 429] {
            var other = try fetch()
            guard
                case .finish(.unavailable(let error)) = other.received(
                    ResponseHead(status: status, fields: HeaderFields([("Retry-After", "7")]), framing: .chunked),
                    wallNow: 0
                )
            else {
                return #expect(Bool(false))
            }
            #expect(error.code == .robotsUnavailable && error.retryAfter == 7)
        }
        var large = try fetch()
        guard
            case .read = large.received(
                ResponseHead(status: 200, fields: HeaderFields(), framing: .chunked),
                wallNow: 0
            )
        else {
            return #expect(Bool(false))
        }
        let line = Array("user-agent: *\ndisallow: /\n".utf8) + [UInt8](repeating: 0x0A, count: 200_000)
        let needsMore = (0..<3).map { _ in line.withUnsafeBytes { large.received(body: $0) } }
        #expect(needsMore == [true, true, false])
        guard case .rules(let rules, _) = large.ended() else { return #expect(Bool(false)) }
        #expect(!rules.allows(path: "/x"))
    }
}
