// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite struct CookieFileTests {
    private func load(
        _ text: String,
        publicSuffixes: PublicSuffixes = .builtIn
    ) -> (jar: CookieJar, problems: [CookieFileProblem]) {
        var problems: [CookieFileProblem] = []
        let jar = CookieJar(netscape: Array(text.utf8), now: 1000, publicSuffixes: publicSuffixes, problems: &problems)
        return (jar, problems)
    }

    @Test("A cookie file is read: comments, HttpOnly, line ends of Windows, cookies without an end, empty values")
    func reading() throws {
        var (jar, problems) = self.load(
            "\u{FEFF}# Netscape HTTP Cookie File\r\n\r\n"
                + ".example.com\tTRUE\t/\tTRUE\t2000\ta\t1\r\n"
                + "#HttpOnly_example.com\tFALSE\t/x\tFALSE\t0\tb\t2 \"3\", 4\n"
                + "example.com\ttrue\t/\tfalse\t2000.75\tc\t\n"
                + ".www.example.com\tFALSE\t/\tFALSE\t\td\n"
                + "# example.com\tFALSE\t/\tFALSE\t0\tcomment\t1\n  \t\n"
                + "example.com\tFALSE\t/\tFALSE\t999\tended\t1\n"
                + "::1\tFALSE\t/\tFALSE\t0\t\tnameless"
        )
        #expect(problems == [])
        let cookies = jar.cookies
        #expect(cookies.map(\.name) == ["a", "b", "c", "d", ""])
        #expect(cookies.map(\.value) == ["1", "2 \"3\", 4", "", "", "nameless"])
        #expect(cookies.map(\.isHostOnly) == [false, true, false, true, true])
        #expect(cookies.map(\.expires) == [2000, nil, 2000, nil, nil])
        #expect(cookies.map(\.isHTTPOnly) == [false, true, false, false, false])
        #expect(cookies.map(\.domain)[3] == "www.example.com")
        #expect(try jar.sent("https://sub.example.com/") == "a=1; c=")
    }

    @Test("Malformed lines are reported with their numbers, without the values, and the others are accepted")
    func problems() {
        let (jar, problems) = self.load(
            """
            <html>
            h\tFALSE\t/\tFALSE\t0\ta\tgut
            h\tMAYBE\t/\tFALSE\t0\ta\tgeheim
            h\tFALSE\t/\t1\t0\ta\tgeheim
            h\tFALSE\tx\tFALSE\t0\ta\tgeheim
            h\tFALSE\t/\tFALSE\t-1\ta\tgeheim
            h\tFALSE\t/\tFALSE\t99999999999999999999\ta\tgeheim
            h\tFALSE\t/\tFALSE\t0\ta\tgeheim\tgeheim
            h h\tFALSE\t/\tFALSE\t0\ta\tgeheim
            h\tFALSE\t/\tFALSE\t0\ta;b\tgeheim
            h\tFALSE\t/\tFALSE\t0\t__Host-a\tgeheim
            h\tFALSE\t/\tFALSE\t0\t\t
            com\tTRUE\t/\tFALSE\t0\ta\tgeheim
            h\tFALSE\t/\tFALSE\t0\ta\tge\rheim
            h\tFALSE\t/\tFALSE\t1.x\ta\tgeheim
            h\tFALSE\t/\tFALSE\t0\tb\tgut
            """
        )
        #expect(jar.cookies.map(\.value) == ["gut", "gut"])
        #expect(problems.map(\.line) == [1] + Array(3...15))
        #expect(problems.allSatisfy { !$0.description.contains("geheim") && $0.description.hasPrefix("line ") })
    }

    @Test("A line that is not UTF-8 is reported, and cookies for a public suffix are refused")
    func foreignBytes() {
        var problems: [CookieFileProblem] = []
        let bytes = Array("h\tFALSE\t/\tFALSE\t0\ta\t".utf8) + [0xFF, 0x0A]
        #expect(CookieJar(netscape: bytes, now: 0, problems: &problems).isEmpty)
        #expect(problems.map(\.line) == [1])
        let line = "co.uk\tTRUE\t/\tFALSE\t0\ta\t1"
        #expect(self.load(line, publicSuffixes: PublicSuffixes()).problems == [])
        #expect(self.load(line, publicSuffixes: PublicSuffixTests.list).problems.count == 1)
    }

    @Test("A port that wget writes behind the host is left out, for cookies know no ports")
    func ports() {
        let (jar, problems) = self.load(
            "127.0.0.1:8080\tFALSE\t/\tFALSE\t0\ta\t1\n.h.example:1\tTRUE\t/\tFALSE\t0\tb\t2\n"
                + "::1\tFALSE\t/\tFALSE\t0\tc\t3\n[::1]\tFALSE\t/\tFALSE\t0\td\t4\n"
                + "h:x\tFALSE\t/\tFALSE\t0\te\t5\nh:\tFALSE\t/\tFALSE\t0\te\t5\n"
        )
        #expect(jar.cookies.map(\.domain) == ["127.0.0.1", "h.example", "::1", "::1"])
        #expect(problems.map(\.line) == [5, 6])
    }

    @Test("What is written is read again")
    func roundTrip() throws {
        var jar = CookieJar()
        try jar.take(
            "a=1; Domain=example.com; Secure; Max-Age=60",
            "b=\"x y\"; HttpOnly",
            from: "https://example.com/q"
        )
        try jar.take("c=", "nameless; Path=/p/", "é=ü", from: "http://[::1]/")
        try jar.take("#d=5", from: "http://127.0.0.1/")
        let text = jar.netscapeText(includingSessionCookies: true)
        #expect(text.hasPrefix("# Netscape HTTP Cookie File\n"))
        #expect(text.contains("\n.example.com\tTRUE\t/\tTRUE\t1060\ta\t1\n"))
        #expect(text.contains("\n#HttpOnly_example.com\tFALSE\t/\tFALSE\t0\tb\t\"x y\"\n"))
        let (again, problems) = self.load(text)
        #expect(problems == [] && again.cookies == jar.cookies)
        #expect(again.netscapeText(includingSessionCookies: true) == text)
        let lasting = self.load(jar.netscapeText(includingSessionCookies: false)).jar
        #expect(lasting.cookies.map(\.name) == ["a"])
    }

    @Test("An end before 1970 is not written as no end")
    func oldEnds() throws {
        var jar = CookieJar()
        jar.set(try Cookie(name: "a", value: "1", domain: "h", expires: -5, created: -10), now: -10)
        #expect(jar.netscapeText(includingSessionCookies: false).hasSuffix("h\tFALSE\t/\tFALSE\t1\ta\t1\n"))
    }

    @Test("A file with more cookies than a jar keeps says so")
    func tooMany() {
        let (jar, problems) = self.load(
            (0..<4000).map { "h\($0 % 1000)\tFALSE\t/\tFALSE\t0\ta\($0)\t1\n" }.joined()
                + (0..<200).map { "big\tFALSE\t/\tFALSE\t0\ta\($0)\t1\n" }.joined()
        )
        #expect(jar.count == CookieJar.most)
        #expect(problems.count == 1 && problems.first?.message.contains("the oldest 1200 were") == true)
    }
}
