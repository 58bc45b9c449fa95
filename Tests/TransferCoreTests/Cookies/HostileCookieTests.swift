// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct HostileCookieTests {
    private static let pieces = [
        "a", "=", ";", " ", "\t", "\n", "\r", "\0", "Domain", "domain=", ".", "example.com", "com", "Path=", "/", "//",
        "Secure", "HttpOnly", "Max-Age=", "-", "0", "9", "99999999999999999999", "Expires=",
        "Thu, 01 Jan 2030 00:00:00",
        ":", ",", "\"", "__Secure-", "__host-", "é", "\u{301}", "\u{FFFD}", "#HttpOnly_", "TRUE", "FALSE", "::1",
        "127.0.0.1", "xn--", "*", "!", "\u{7F}", "%", "SameSite=", "h",
    ]
    private static let urls = [
        "http://example.com/", "https://www.example.com/a/b?c", "http://127.0.0.1/", "https://[::1]:8/x", "http://h/",
        "http://a.b.c.d.e/", "https://example.com./",
    ]

    private static func text(_ generator: inout SeededGenerator, atMost count: Int) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...count, using: &generator) {
            text += self.pieces.randomElement(using: &generator) ?? ""
        }
        return text
    }

    private static func number(_ generator: inout SeededGenerator) -> Int64 {
        [.min, -1, 0, 1000, .max, Int64.random(in: .min ... .max, using: &generator)].randomElement(using: &generator)
            ?? 0
    }

    @Test(
        "Nothing that a server sends traps, breaks a field or breaks a line of a cookie file",
        arguments: 0..<4 as Range<UInt64>
    )
    func servers(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let urls = try Self.urls.map { try HTTPURL($0) }
        var jar = CookieJar(publicSuffixes: seed % 2 == 0 ? PublicSuffixTests.list : .builtIn)
        for step in 0..<2000 {
            let url = try #require(urls.randomElement(using: &generator))
            let now = Self.number(&generator)
            jar.receive((0..<3).map { _ in Self.text(&generator, atMost: 12) }, from: url, now: now)
            _ = jar.cookies(for: url, now: now)
            if step % 200 == 0 { #expect(jar.count == jar.cookies.count) }
        }
        for url in urls {
            let field = jar.field(for: url, now: .min) ?? ""
            #expect(!field.utf8.contains { $0 < 0x20 || $0 == 0x7F })
        }
        let text = jar.netscapeText(includingSessionCookies: true)
        #expect(text.utf8.split(separator: 0x0A).count == jar.count + 2)
        var again = CookieJar()
        #expect(again.load(netscape: Array(text.utf8), now: .min) == [])
        #expect(again.count == jar.count)
    }

    @Test("No cookie file and no public suffix list traps", arguments: 0..<4 as Range<UInt64>)
    func files(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var bytes = Array(Self.text(&generator, atMost: 40).utf8)
            if !bytes.isEmpty, Bool.random(using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            var jar = CookieJar(publicSuffixes: PublicSuffixes(bytes: bytes))
            jar.load(netscape: bytes, now: Self.number(&generator))
            let domain = Self.text(&generator, atMost: 5)
            _ = jar.publicSuffixes.isPublicSuffix(domain)
            jar.removeAll(domain: domain)
            _ = CookieDate.parse(Self.text(&generator, atMost: 8))
            _ = try? Cookie(name: domain, value: domain, domain: domain, path: domain, created: Self.number(&generator))
        }
    }

    @Test("A jar sends what a plain reading of the rules sends", arguments: 0..<4 as Range<UInt64>)
    func model(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let hosts = ["example.com", "a.example.com", "b.a.example.com", "ample.com", "1.2.3.4", "com"]
        let paths = ["/", "/a", "/a/", "/a/b", "/ab"]
        var jar = CookieJar()
        var model: [Cookie] = []
        for step in 0..<300 {
            let cookie = try Cookie(
                name: ["x", "y"].randomElement(using: &generator) ?? "",
                value: "\(step)",
                domain: (Bool.random(using: &generator) ? "." : "") + (hosts.randomElement(using: &generator) ?? ""),
                path: paths.randomElement(using: &generator) ?? "/",
                expires: [nil, 100, 400].randomElement(using: &generator) ?? nil,
                isSecure: Bool.random(using: &generator),
                created: Int64(step)
            )
            let now = Int64(step)
            jar.set(cookie, now: now)
            model.removeAll { $0.isExpired(at: now) }
            var stored = cookie
            if let index = model.firstIndex(where: { $0.isReplaced(by: cookie) }) {
                stored.created = model[index].created
                model.remove(at: index)
            }
            if !cookie.isExpired(at: now) { model.append(stored) }
            let host = hosts.randomElement(using: &generator) ?? ""
            let path = paths.randomElement(using: &generator) ?? ""
            let isSecure = Bool.random(using: &generator)
            let url = try HTTPURL("\(isSecure ? "https" : "http")://\(host)\(path)")
            let expected =
                model
                .filter { cookie in
                    (host == cookie.domain || !cookie.isHostOnly && host.hasSuffix("." + cookie.domain))
                        && (isSecure || !cookie.isSecure)
                        && (path + "/").hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/")
                        && (path.utf8.count >= cookie.path.utf8.count)
                }
                .sorted { ($1.path.utf8.count, $0.created) < ($0.path.utf8.count, $1.created) }
            #expect(jar.cookies(for: url, now: now) == expected)
        }
    }
}
