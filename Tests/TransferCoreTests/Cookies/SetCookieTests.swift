// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// The cookie that a URL's answer sets at the time 1000.
func received(
    _ field: String,
    from url: String = "https://www.example.com/a/b",
    publicSuffixes: PublicSuffixes = PublicSuffixes()
) throws -> Cookie? {
    Cookie(setCookie: field, from: try HTTPURL(url), now: 1000, publicSuffixes: publicSuffixes)
}

@Suite struct SetCookieTests {
    @Test("Name and value are what stands round the first equals sign, without blanks")
    func namesAndValues() throws {
        let pairs = try ["a=b", " a = b ;x", "a=b=c", "a=\"b c\"", "a=", "=b", "b", "a=b,c=d"].map { try received($0) }
        let expected = [
            ("a", "b"), ("a", "b"), ("a", "b=c"), ("a", "\"b c\""), ("a", ""), ("", "b"), ("", "b"), ("a", "b,c=d"),
        ]
        for (cookie, (name, value)) in zip(pairs, expected) {
            #expect(cookie?.name == name && cookie?.value == value)
        }
    }

    @Test(
        "What holds no cookie, or a control character, is ignored",
        arguments: [
            "", ";", "=", " = ;Path=/", "a=b\u{0}c", "a=b\nc", "a=b\rSet-Cookie: c=d", "a=b\u{7F}", "a\u{1}=b",
            "a=b\tc",
            "a\tb=c", "a=b; Path=/\u{8}", "a=b; Path=/x\ty",
        ]
    )
    func ignored(_ field: String) throws { #expect(try received(field) == nil) }

    @Test("Name and value have at most 4096 bytes together; a longer attribute is passed over")
    func lengths() throws {
        #expect(try received("a=" + String(repeating: "x", count: 4095)) != nil)
        #expect(try received("a=" + String(repeating: "x", count: 4096)) == nil)
        #expect(try received("a=" + String(repeating: "é", count: 2048)) == nil)
        let long = "/" + String(repeating: "p", count: 1024)
        #expect(try received("a=b; Path=\(long)")?.path == "/a")
        #expect(try received("a=b; Path=\(long.dropLast())")?.path.utf8.count == 1024)
        #expect(try received("a=b; Path=/x; Path=\(long)")?.path == "/x")
    }

    @Test(
        "Max-Age counts before Expires, the last of two counts, a malformed one does not",
        arguments: [
            ("a=b", nil), ("a=b; Max-Age=10", 1010), ("a=b; Expires=Thu, 01 Jan 1970 01:00:00 GMT", 3600),
            ("a=b; Max-Age=10; Expires=Thu, 01 Jan 1970 01:00:00 GMT", 1010),
            ("a=b; Expires=Thu, 01 Jan 1970 01:00:00 GMT; max-age=10", 1010), ("a=b; Max-Age=10; Max-Age=20", 1020),
            ("a=b; Max-Age=10; Max-Age=x", 1010), ("a=b; Max-Age=", nil), ("a=b; Max-Age", nil),
            ("a=b; Max-Age=-", nil), ("a=b; Max-Age=+5", nil), ("a=b; Max-Age=1.5", nil), ("a=b; Max-Age=0", .min),
            ("a=b; Max-Age=-99999999999999999999", .min), ("a=b; Expires=never", nil), ("a=b; Expires=-1", nil),
        ] as [(String, Int64?)]
    )
    func ends(_ field: String, _ expires: Int64?) throws { #expect(try received(field)?.expires == expires) }

    @Test("No cookie lives longer than 400 days")
    func longestAge() throws {
        let limit: Int64 = 1000 + 400 * 86400
        #expect(try received("a=b; Max-Age=99999999999999999999")?.expires == limit)
        #expect(try received("a=b; Expires=Fri, 31 Dec 9999 23:59:59 GMT")?.expires == limit)
        #expect(try received("a=b; Max-Age=34560000")?.expires == limit)
        let url = try HTTPURL("http://h/")
        #expect(Cookie(setCookie: "a=b; Max-Age=99", from: url, now: .max)?.expires == .max)
        #expect(Cookie(setCookie: "a=b; Max-Age=99", from: url, now: .min)?.expires == .min + 99)
    }

    @Test(
        "A cookie is for its host alone, or for a domain that the host belongs to",
        arguments: [
            ("a=b", "www.example.com", true), ("a=b; Domain=", "www.example.com", true),
            ("a=b; Domain=.", "www.example.com", true),
            ("a=b; Domain=example.com", "example.com", false), ("a=b; Domain=.Example.COM", "example.com", false),
            ("a=b; Domain=www.example.com", "www.example.com", false),
            ("a=b; Domain=other.com; Domain=example.com", "example.com", false),
            ("a=b; Domain=example.com; Domain=", "www.example.com", true),
        ]
    )
    func domains(_ field: String, _ domain: String, _ isHostOnly: Bool) throws {
        let cookie = try #require(try received(field))
        #expect(cookie.domain == domain && cookie.isHostOnly == isHostOnly)
    }

    @Test(
        "A domain that the host does not belong to is refused",
        arguments: [
            "other.com", "x.www.example.com", "ample.com", "com", ".com", "..example.com", "example.com.", "*",
            "example.com:443", "exämple.com", "w.example.com", "[::1]",
        ]
    )
    func foreignDomains(_ domain: String) throws { #expect(try received("a=b; Domain=\(domain)") == nil) }

    @Test("An address is a cookie's domain only as it is")
    func addresses() throws {
        for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.1"] {
            #expect(try received("a=b; Domain=\(host)", from: "http://\(host)/")?.isHostOnly == true)
        }
        #expect(try received("a=b; Domain=0.0.1", from: "http://127.0.0.1/") == nil)
        #expect(try received("a=b; Domain=1", from: "http://127.0.0.1/") == nil)
        #expect(try received("a=b", from: "http://[::1]/")?.domain == "::1")
        #expect(try received("a=b; Domain=::1", from: "http://[::1]/")?.isHostOnly == true)
        #expect(!CookieDomain.matches("1.127.0.0.1", domain: "127.0.0.1"))
    }

    @Test("A domain of a single label is a public suffix; the host itself gets a cookie for itself alone")
    func singleLabels() throws {
        #expect(try received("a=b; Domain=localhost", from: "http://localhost/")?.isHostOnly == true)
        #expect(try received("a=b; Domain=localhost", from: "http://x.localhost/") == nil)
        #expect(try received("a=b; Domain=com", from: "http://com/")?.isHostOnly == true)
        #expect(try received("a=b; Domain=com.", from: "http://x.com./") == nil)
    }

    @Test(
        "The path is the attribute's, otherwise that of the request up to its last slash",
        arguments: [
            ("/a/b", "a=b", "/a"), ("/a/", "a=b", "/a"), ("/a", "a=b", "/"), ("/", "a=b", "/"), ("", "a=b", "/"),
            ("/a/b?c=/d/e", "a=b", "/a"), ("/a/b", "a=b; Path=", "/a"), ("/a/b", "a=b; Path=x", "/a"),
            ("/a/b", "a=b; Path=/x/", "/x/"), ("/a/b", "a=b; Path=/x; Path=y", "/a"), ("//a", "a=b", "/"),
        ]
    )
    func paths(_ target: String, _ field: String, _ path: String) throws {
        #expect(try received(field, from: "http://example.com\(target)")?.path == path)
    }

    @Test("Secure is taken from https only, and attributes' names have no case")
    func flags() throws {
        let cookie = try #require(try received("a=b; SECURE; httponly=x; SameSite=STRICT"))
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .strict && cookie.created == 1000)
        let plain = try #require(try received("a=b; SecureX; Http Only; SameSite=foo"))
        #expect(!plain.isSecure && !plain.isHTTPOnly && plain.sameSite == nil)
        #expect(try received("a=b; Secure", from: "http://www.example.com/") == nil)
    }

    @Test("The prefixes __Secure- and __Host- promise what they say, in any case")
    func prefixes() throws {
        #expect(try received("__Secure-a=b; Secure") != nil)
        #expect(try received("__SECURE-a=b") == nil)
        #expect(try received("__Host-a=b; Secure; Path=/") != nil)
        #expect(try received("__Host-a=b; Secure; Path=/; Domain=") != nil)
        #expect(try received("__Host-a=b; Path=/") == nil)
        #expect(try received("__host-a=b; Secure; Path=/a") == nil)
        #expect(try received("__Host-a=b; Secure", from: "https://example.com/") == nil)
        #expect(try received("__Host-a=b; Secure; Path=/; Domain=www.example.com") == nil)
        #expect(try received("__Host-a=b; Secure; Path=/", from: "http://www.example.com/") == nil)
        for field in ["__Secure-a", "=__secure-a=b", "=__Host-a=b", "__HOST-a"] {
            #expect(try received(field + "; Secure; Path=/") == nil, "\(field)")
        }
    }

    @Test("A cookie made by hand holds to the same rules, and its error never shows the value")
    func madeByHand() throws {
        let cookie = try Cookie(name: "a", value: "b", domain: ".Example.COM", created: 5)
        #expect(cookie.domain == "example.com" && !cookie.isHostOnly && cookie.path == "/")
        #expect(
            try Cookie(name: "a", value: "", domain: "bücher.example", created: 5).domain == "xn--bcher-kva.example"
        )
        #expect(try Cookie(name: "a", value: "", domain: "[::1]", created: 5).domain == "::1")
        #expect(try Cookie(name: "a", value: "", domain: ".127.0.0.1", created: 5).isHostOnly)
        func code(_ name: String, _ value: String, _ domain: String = "h", _ path: String = "/") -> SyntaxError.Code? {
            do throws(SyntaxError) {
                _ = try Cookie(name: name, value: value, domain: domain, path: path, created: 5)
                return nil
            } catch {
                #expect(!error.message.contains("geheim"))
                return error.code
            }
        }
        #expect(code("", "") == .badName && code("a;", "b") == .badName && code("a=", "b") == .badName)
        #expect(code("a\n", "b") == .badName && code(" a", "b") == .badName)
        #expect(code("a", "geheim\t") == .badValue && code("a", "geheim;") == .badValue)
        #expect(code("a", "geheim ") == .badValue && code("a", "geheim\r\nX: y") == .badValue)
        #expect(code("a", "b c \"d\",e\\") == nil && code("", "geheim") == nil)
        for domain in ["", ".", "..h", "a b", "a/b", "a..b", "h:80", "h\n", "%41", "h\u{FF0F}"] {
            #expect(code("a", "geheim", domain) == .badDomain, "\(domain)")
        }
        #expect(code("a", "b", "h", "") == .badPath && code("a", "b", "h", "x") == .badPath)
        #expect(code("a", "b", "h", "/;") == .badPath && code("a", "b", "h", "/\t") == .badPath)
        #expect(code("__Secure-a", "b") == .badPrefix && code("__Host-a", "b") == .badPrefix)
        #expect(code("a", String(repeating: "b", count: 4096)) == .tooLong)
        #expect(code("a", "b", "h", "/" + String(repeating: "b", count: 1024)) == .tooLong)
    }

    @Test("Printing a cookie does not show its value")
    func printing() throws {
        let cookie = try Cookie(name: "a", value: "geheim", domain: "example.com", created: 5)
        var jar = CookieJar()
        jar.set(cookie, now: 5)
        var dumped = ""
        dump(cookie, to: &dumped)
        dump(jar, to: &dumped)
        for text in ["\(cookie)", String(reflecting: cookie), String(reflecting: [cookie]), "\(jar)", dumped] {
            #expect(!text.contains("geheim"))
        }
    }
}
