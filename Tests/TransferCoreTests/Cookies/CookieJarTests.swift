// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

extension CookieJar {
    /// Takes cookies as an answer sets them.
    mutating func take(_ fields: String..., from url: String, now: Int64 = 1000) throws {
        self.receive(fields, from: try HTTPURL(url), now: now)
    }

    /// The Cookie field for a request.
    mutating func sent(_ url: String, now: Int64 = 1000) throws -> String? {
        self.field(for: try HTTPURL(url), now: now)
    }
}

@Suite struct CookieJarTests {
    @Test("A cookie goes to its host alone, one with a domain to the hosts below it too")
    func hosts() throws {
        var jar = CookieJar()
        try jar.take("host=1", "domain=2; Domain=example.com", from: "http://example.com/")
        #expect(try jar.sent("http://example.com/") == "host=1; domain=2")
        #expect(try jar.sent("http://EXAMPLE.com:8080/") == "host=1; domain=2")
        #expect(try jar.sent("http://a.b.example.com/") == "domain=2")
        for url in ["http://badexample.com/", "http://com/", "http://example.com.evil.org/", "http://example.org/"] {
            #expect(try jar.sent(url) == nil, "\(url)")
        }
    }

    @Test("A cookie of an address goes to exactly that address")
    func addresses() throws {
        var jar = CookieJar()
        try jar.take("a=1", from: "http://127.0.0.1/")
        try jar.take("b=2", from: "http://[::1]:9/")
        try jar.take("c=3", from: "http://1/")
        #expect(try jar.sent("http://127.0.0.1:1/") == "a=1")
        #expect(try jar.sent("http://[::1]/") == "b=2")
        #expect(try jar.sent("http://2.127.0.0.1/") == nil)
        #expect(try jar.sent("http://0.0.1/") == nil)
    }

    @Test(
        "A path matches itself and all paths below it, segment by segment",
        arguments: [
            ("/a", "/a", true), ("/a", "/a/", true), ("/a", "/a/b", true), ("/a", "/ab", false), ("/a/", "/a", false),
            ("/a/", "/a/b", true), ("/", "/x", true), ("/a", "/a?b", true), ("/A", "/a", false), ("/a/b", "/a", false),
        ]
    )
    func paths(_ cookiePath: String, _ target: String, _ isSent: Bool) throws {
        var jar = CookieJar()
        try jar.take("a=1; Path=\(cookiePath)", from: "http://h/")
        #expect(try jar.sent("http://h\(target)") == (isSent ? "a=1" : nil))
    }

    @Test("A secure cookie is not sent by http")
    func secure() throws {
        var jar = CookieJar()
        try jar.take("a=1; Secure", "b=2", from: "https://h/")
        #expect(try jar.sent("https://h/") == "a=1; b=2")
        #expect(try jar.sent("http://h/") == "b=2")
    }

    @Test("The longest path comes first, then the oldest; a nameless cookie is its value")
    func order() throws {
        var jar = CookieJar()
        try jar.take("c=3; Path=/", from: "http://h/a/b/c", now: 10)
        try jar.take("d=4; Path=/", "nameless; Path=/", from: "http://h/a/b/c", now: 5)
        try jar.take("a=1; Path=/a/b", "b=2; Path=/a", from: "http://h/a/b/c", now: 20)
        #expect(try jar.sent("http://h/a/b/c") == "a=1; b=2; d=4; nameless; c=3")
        #expect(jar.cookies.map(\.name) == ["d", "", "c", "a", "b"])
    }

    @Test("A cookie that is set again keeps its age; one that had ended does not")
    func replacing() throws {
        var jar = CookieJar()
        try jar.take("a=1; Max-Age=50", "b=2", from: "http://h/", now: 10)
        try jar.take("a=3; Max-Age=50", from: "http://h/", now: 20)
        #expect(try jar.sent("http://h/", now: 30) == "a=3; b=2")
        #expect(jar.count == 2 && jar.cookies.first?.created == 10)
        try jar.take("a=4", from: "http://h/", now: 70)
        #expect(try jar.sent("http://h/", now: 71) == "b=2; a=4")
        // Another path, and another domain, are other cookies.
        try jar.take("a=5; Path=/x", "a=6; Domain=h.example", from: "http://h.example/", now: 70)
        #expect(jar.count == 4)
    }

    @Test("A cookie ends when it says, and is deleted by one that has ended")
    func ends() throws {
        var jar = CookieJar()
        try jar.take("a=1; Max-Age=5", "b=2", from: "http://h/", now: 10)
        #expect(try jar.sent("http://h/", now: 14) == "a=1; b=2")
        #expect(try jar.sent("http://h/", now: 15) == "b=2")
        try jar.take("b=; Max-Age=0", from: "http://h/", now: 11)
        #expect(jar.cookies.map(\.name) == ["a"])
        try jar.take("a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "z=; Max-Age=-1", from: "http://h/", now: 11)
        #expect(jar.isEmpty && jar.count == 0)
    }

    @Test("What came by http does not overwrite or hide a secure cookie (RFC 6265bis §5.7, step 16)")
    func secureIsLeftAlone() throws {
        var jar = CookieJar()
        try jar.take("a=1; Secure; Path=/x; Domain=example.com", from: "https://www.example.com/")
        for field in ["a=2; Path=/x", "a=2; Path=/x/y", "a=2; Domain=example.com; Path=/x", "a=; Max-Age=0; Path=/x"] {
            try jar.take(field, from: "http://www.example.com/")
        }
        try jar.take("a=2; Path=/x", from: "http://example.com/")
        try jar.take("a=2; Path=/x", from: "http://below.www.example.com/")
        #expect(jar.cookies.map(\.value) == ["1"])
        try jar.take("a=3; Path=/", "b=4; Path=/x", from: "http://www.example.com/")
        try jar.take("a=5; Path=/x", from: "http://other.org/")
        #expect(jar.cookies.map(\.value) == ["1", "3", "4", "5"])
        try jar.take("a=6; Path=/x; Domain=example.com", from: "https://www.example.com/")
        #expect(jar.cookies.map(\.value) == ["6", "3", "4", "5"])
        // The other way round: a secure cookie below the new one's domain.
        var below = CookieJar()
        try below.take("a=1; Secure; Path=/", from: "https://www.example.com/")
        try below.take("a=2; Domain=example.com", from: "http://example.com/")
        #expect(below.cookies.map(\.value) == ["1"])
    }

    @Test(
        "A domain has at most 180 cookies: expired ones go first, then those not secure, then the least recently used"
    )
    func limitPerDomain() throws {
        var jar = CookieJar()
        try jar.take("secure=1; Secure", "first=1", "short=1; Max-Age=5", from: "https://h/", now: 1)
        for index in 0..<178 { try jar.take("n\(index)=1; Secure", from: "https://h/", now: 10) }
        #expect(jar.count == CookieJar.mostPerDomain)
        #expect(!jar.cookies.contains { $0.name == "short" } && jar.cookies.contains { $0.name == "first" })
        try jar.take("late=1; Secure", from: "https://h/", now: 11)
        #expect(jar.count == CookieJar.mostPerDomain && !jar.cookies.contains { $0.name == "first" })
        for index in 0..<500 { try jar.take("flood\(index)=1", from: "http://h/", now: 12) }
        #expect(jar.cookies.allSatisfy { $0.isSecure } && jar.count == CookieJar.mostPerDomain)
        try jar.take("later=1; Secure", from: "https://h/", now: 13)
        #expect(!jar.cookies.contains { $0.name == "secure" })
    }

    @Test("There are at most 3000 cookies: expired ones go first, then the least recently used")
    func limitInAll() throws {
        var jar = CookieJar()
        try jar.take("short=1; Max-Age=5", from: "http://short.example/", now: 1)
        for index in 0..<3000 { try jar.take("a=1", from: "http://h\(index % 100).example/\(index)/x", now: 10) }
        #expect(jar.count == CookieJar.most && !jar.cookies.contains { $0.name == "short" })
        try jar.take("a=1", "a=2", "b=3", from: "http://new.example/", now: 10)
        #expect(jar.count == CookieJar.most)
        #expect(try jar.sent("http://h0.example/0/x") == nil && jar.sent("http://h1.example/1/x") == nil)
        #expect(try jar.sent("http://h2.example/2/x") == "a=1")
        #expect(try jar.sent("http://new.example/") == "a=2; b=3")
    }

    @Test("A cookie that is sent or set again outlives one that is not, in its domain and in all (RFC 6265bis §5.7)")
    func lastAccess() throws {
        var jar = CookieJar()
        try jar.take("login=1; Path=/app", "old=1; Path=/old", "again=1", from: "http://h/", now: 1)
        for index in 0..<177 { try jar.take("n\(index)=1; Path=/n", from: "http://h/", now: 10) }
        #expect(try jar.sent("http://h/app") == "login=1; again=1")
        // A look by the program is not an access.
        #expect(jar.cookies(for: try HTTPURL("http://h/old"), now: 11).count == 2)
        try jar.take("x=1; Path=/n", from: "http://h/", now: 12)
        #expect(jar.count == CookieJar.mostPerDomain)
        #expect(!jar.cookies.contains { $0.name == "old" } && jar.cookies.contains { $0.name == "login" })

        var all = CookieJar()
        for index in 0..<3000 { try all.take("a=1", from: "http://h\(index % 100).example/\(index)/x", now: 10) }
        #expect(try all.sent("http://h0.example/0/x") == "a=1")
        try all.take("a=2; Path=/1", from: "http://h1.example/", now: 11)
        try all.take("b=1", "b=2; Path=/b", from: "http://new.example/", now: 12)
        #expect(all.count == CookieJar.most)
        #expect(try all.sent("http://h0.example/0/x") == "a=1" && all.sent("http://h1.example/1/x") == "a=2")
        #expect(try all.sent("http://h2.example/2/x") == nil && all.sent("http://h3.example/3/x") == nil)
    }

    @Test("Cookies are removed one by one, by domain, by session and by time")
    func removing() throws {
        var jar = CookieJar()
        try jar.take("a=1", "b=2; Max-Age=5", "c=3; Domain=x.example", from: "http://x.example/")
        try jar.take("d=4; Max-Age=50", from: "http://y.x.example/")
        try jar.take("e=5", from: "http://other.example/")
        let first = try #require(jar.cookies.first)
        #expect(jar.remove(first) && !jar.remove(first) && jar.count == 4)
        jar.removeExpired(now: 1005)
        #expect(jar.cookies.map(\.name) == ["c", "d", "e"])
        jar.removeSessionCookies()
        #expect(jar.cookies.map(\.name) == ["d"])
        jar.removeAll(domain: "y.X.example")
        #expect(jar.isEmpty)
        try jar.take("e=5", from: "http://other.example/")
        jar.removeAll(domain: "")
        #expect(jar.count == 1)
        jar.removeAll()
        #expect(try jar.isEmpty && jar.count == 0 && jar.sent("http://other.example/") == nil)
    }

    @Test("A cookie that the user makes is taken for any domain")
    func made() throws {
        var jar = CookieJar()
        jar.set(try Cookie(name: "a", value: "1", domain: ".example.com", isSecure: true, created: 1), now: 1)
        #expect(try jar.sent("https://x.example.com/") == "a=1")
        jar.set(try Cookie(name: "a", value: "", domain: ".example.com", expires: 1, created: 1), now: 1)
        #expect(jar.isEmpty)
    }
}
