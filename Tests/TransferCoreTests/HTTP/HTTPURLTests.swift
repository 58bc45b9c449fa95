// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct HTTPURLTests {
    private func code(_ text: String) -> SyntaxError.Code? {
        do throws(SyntaxError) {
            _ = try HTTPURL(text)
            return nil
        } catch { return error.code }
    }

    @Test func everyPartIsFound() throws {
        let url = try HTTPURL("HTTPS://User%20A:p%3Aw@ExAmple.COM:8443/a%20b/c.txt?x=1&y=/?#frag")
        #expect(url.scheme == .https)
        #expect(url.user == "User A")
        #expect(url.password == "p:w")
        #expect(url.host == "example.com")
        #expect(url.port == 8443)
        #expect(url.path == "/a%20b/c.txt")
        #expect(url.query == "x=1&y=/?")
        #expect(url.requestTarget == "/a%20b/c.txt?x=1&y=/?")
        #expect(url.hostField == "example.com:8443")
        #expect(url.redacted == "https://example.com:8443/a%20b/c.txt")
        #expect(url.description == "https://example.com:8443/a%20b/c.txt?x=1&y=/?")
        #expect(url.origin == Origin(scheme: .https, host: "example.com", port: 8443))
        #expect(url.lastPathSegment == "c.txt")
    }

    /// A scheme in upper case is parsed byte by byte; a URL in normal form is taken as it is.
    @Test("A URL taken as it is equals the one parsed byte by byte", arguments: 0..<200 as Range<UInt64>)
    func bothWays(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "a", "Z", "0", "9", ".", "-", "_", "~", "/", "//", "/./", "/../", "/%2e/", "%41", "%", "?", "#", ":", ":80",
            ":443", ":8080", ":08", ":65536", "@", "[", "]", "\\", " ", "é", "..", "x.com", "b\n", "\u{7F}",
        ]
        for _ in 0..<100 {
            var rest = ["h", "example.com", "127.0.0.1:8080", ""].randomElement(using: &random) ?? ""
            for _ in 0..<Int.random(in: 0...8, using: &random) { rest += pieces.randomElement(using: &random) ?? "" }
            for scheme in ["http", "https"] {
                let asItIs = Result { () throws(SyntaxError) in try HTTPURL("\(scheme)://\(rest)") }
                let parsed = Result { () throws(SyntaxError) in try HTTPURL("\(scheme.uppercased())://\(rest)") }
                switch (asItIs, parsed) {
                case (.success(let one), .success(let other)):
                    #expect(one == other && one.requestTarget == other.requestTarget, "\(rest.debugDescription)")
                    #expect(one.host == other.host && one.port == other.port && one.query == other.query)
                case (.failure(let one), .failure(let other)): #expect(one.code == other.code)
                default: Issue.record("\(scheme)://\(rest.debugDescription): \(asItIs), \(parsed)")
                }
            }
        }
    }

    @Test(arguments: [
        ("http://h", "http://h/"), ("http://h:80", "http://h/"), ("https://h:443/x", "https://h/x"),
        ("http://h:/x", "http://h/x"), ("http://h?q", "http://h/?q"), ("http://h/?", "http://h/?"),
        ("  http://h/a b\n", "http://h/a%20b"), ("http://h/ä?ö#ü", "http://h/%C3%A4?%C3%B6"),
        ("http://h/a/../b/./c", "http://h/b/c"), ("http://h/../../x", "http://h/x"), ("http://h/a/..", "http://h/"),
        ("http://h/a/%2e%2E/b", "http://h/b"), ("http://h/.a/..b/...", "http://h/.a/..b/..."),
        ("http://h/a//b", "http://h/a//b"), ("http://h/a\\b|c^", "http://h/a%5Cb%7Cc%5E"),
        ("http://h/%zz%", "http://h/%zz%"), ("http://h/a?b/../c", "http://h/a?b/../c"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"), ("http://[::1]/", "http://[::1]/"),
        ("http://a@b@h/", "http://h/"), ("http://127.0.0.1:1/", "http://127.0.0.1:1/"),
        ("http://h./", "http://h./"), ("http://a_b.example/", "http://a_b.example/"),
        ("http://h/'(x)'~!$&*+,;=:@[]", "http://h/'(x)'~!$&*+,;=:@[]"), ("http://h#a/b", "http://h/"),
    ])
    func urlsComeIntoNormalForm(_ text: String, _ normal: String) throws {
        #expect(try HTTPURL(text).description == normal)
        #expect(try HTTPURL(normal).description == normal)
    }

    @Test(arguments: [
        ("http://BÜCHER.example/", "xn--bcher-kva.example"), ("http://b%C3%BCcher.example/", "xn--bcher-kva.example"),
        ("http://bu\u{308}cher.example/", "xn--bcher-kva.example"), ("http://例え。テスト/", "xn--r8jz45g.xn--zckzah"),
        ("http://ＥＸＡＭＰＬＥ．com/", "example.com"), ("http://münchen.de:81/", "xn--mnchen-3ya.de"),
        ("http://💩.la/", "xn--ls8h.la"), ("http://почта.рф/", "xn--80a1acny.xn--p1ai"),
    ])
    func internationalNamesBecomePunycode(_ text: String, _ host: String) throws {
        #expect(try HTTPURL(text).host == host)
    }

    @Test func faultsHaveTheirOwnCodes() {
        let cases: [(String, SyntaxError.Code)] = [
            ("", .empty), (" \n", .empty), ("example.com/x", .missingScheme), ("example.com:8080/x", .missingScheme),
            ("localhost:8080", .missingScheme), ("//example.com/x", .missingScheme), ("/etc/passwd", .missingScheme),
            ("ftp://h/x", .unsupportedScheme("ftp")), ("FILE:///etc/passwd", .unsupportedScheme("file")),
            ("mailto:a", .unsupportedScheme("mailto")), ("data:,x", .unsupportedScheme("data")),
            ("http:", .missingHost), ("http:h/x", .missingHost), ("http://", .missingHost), ("http:///x", .missingHost),
            ("http://u@/x", .missingHost), ("http://:80/", .missingHost), ("http://h:0/", .badPort),
            ("http://h:65536/", .badPort), ("http://h:99999999999999999999/", .badPort), ("http://h:8a/", .badPort),
            ("http://h:80:80/", .badPort), ("http://h:-1/", .badPort), ("http://a b/", .badCharacter),
            ("http://a\r\nb/", .badCharacter), ("http://h/\r\nX: y", .badCharacter), ("http://h/\0", .badCharacter),
            ("http://h/?a\nb", .badCharacter), ("http://h/\u{7F}", .badCharacter), ("http://u\tv@h/", .badCharacter),
            ("http://h\\@evil/", .badCharacter), ("http://a..b/", .badHost), ("http://.a/", .badHost),
            ("http://a%00b/", .badHost), ("http://a%2Fb/", .badHost), ("http://a／b/", .badHost),
            ("http://a\u{202E}b/", .badHost), ("http://%ff/", .badHost), ("http://a<b/", .badHost),
            ("http://[::1/", .badHost), ("http://[::1]x/", .badHost), ("http://[]/", .badHost),
            ("http://[1:2:3:4:5:6:7]/", .badHost), ("http://[1:2:3:4:5:6:7:8:9]/", .badHost),
            ("http://[1::2::3]/", .badHost), ("http://[:::]/", .badHost), ("http://[fe80::1%25eth0]/", .badHost),
            ("http://[::256.1.1.1]/", .badHost), ("http://[12345::]/", .badHost), ("http://[1:]/", .badHost),
            ("http://" + String(repeating: "a", count: 300) + "/", .badHost),
            ("http://" + String(repeating: "ä", count: 300) + "/", .badHost),
            ("http://h/" + String(repeating: "a", count: 1 << 20), .tooLong),
        ]
        for (text, code) in cases { #expect(self.code(text) == code, "\(text.prefix(60))") }
    }

    @Test(arguments: ["::", "1::", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8", "1::8", "a:b::c:d"])
    func everyFormOfIPv6IsTaken(_ address: String) throws {
        let url = try HTTPURL("http://[\(address)]:8080/")
        #expect(url.host == address)
        #expect(url.hostField == "[\(address)]:8080")
    }

    @Test func messagesSayHowToMendAndHideThePassword() {
        #expect(
            throws: SyntaxError(.missingScheme, "example.com/x: no scheme; write http://example.com/x or https://…")
        ) {
            try HTTPURL("example.com/x")
        }
        #expect(
            throws: SyntaxError(
                .badPort,
                "http://h:x/\\u{1B}: the port is not a number from 1 to 65535; correct it or leave it out"
            )
        ) {
            try HTTPURL("http://me:secret@h:x/\u{1B}")
        }
        #expect(throws: SyntaxError(.missingScheme, "//h/x: no scheme; write http://h/x or https://…")) {
            try HTTPURL("//h/x")
        }
    }

    /// RFC 3986 §5.4.1 and §5.4.2.
    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
        ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"),
        ("../..", "/"), ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("../../../../g", "/g"),
        ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"),
        ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
        ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x"),
        ("g?y/../x", "/b/c/g?y/../x"), ("g#s/../x", "/b/c/g"), (" g h ", "/b/c/g%20h"), ("é", "/b/c/%C3%A9"),
    ])
    func referencesResolveAsInTheStandard(_ reference: String, _ target: String) throws {
        let base = try HTTPURL("http://a/b/c/d;p?q")
        #expect(try base.resolving(reference).description == "http://a" + target)
    }

    @Test func referencesMayNameAnotherAuthority() throws {
        let base = try HTTPURL("https://u:p@a:444/b")
        #expect(try base.resolving("//g").description == "https://g/")
        #expect(try base.resolving("//g").user == nil)
        #expect(try base.resolving("x").user == "u")
        #expect(try base.resolving("http://c/d#e").description == "http://c/d")
        #expect(throws: SyntaxError.self) { try base.resolving("ftp://c/d") }
        #expect(throws: SyntaxError.self) { try base.resolving("javascript:alert(1)") }
        #expect(throws: SyntaxError.self) { try base.resolving("/a\r\nSet-Cookie: x") }
    }

    @Test(arguments: [
        ("a.bin", "a.bin"), ("a b", "a%20b"), ("é", "%C3%A9"), ("a/b", "a%2Fb"), ("?#%", "%3F%23%25"), ("c:d", "c%3Ad"),
        ("%2e%2E", "%252e%252E"), ("...", "..."), ("~_-", "~_-"),
    ])
    func aFileOfAFolderHasItsEncodedNameAsTheLastSegment(_ name: String, _ segment: String) throws {
        for folder in ["http://h/", "https://u:p@h:444/a/b/"] {
            let base = try HTTPURL(folder)
            let url = try base.entry(name)
            #expect(base.isFolder && !url.isFolder)
            #expect(url == (try HTTPURL(folder + segment)))
            #expect(url.lastPathSegment == name)
            #expect(url.origin == base.origin && url.user == base.user)
        }
    }

    @Test func onlyAPathWithASlashAtItsEndIsAFolder() throws {
        #expect(try HTTPURL("http://h").isFolder)
        #expect(try !HTTPURL("http://h/a").isFolder)
        #expect(try !HTTPURL("http://h/a/?").isFolder)
        #expect(try !HTTPURL("http://h/?q/").isFolder)
        #expect(throws: SyntaxError.self) {
            try HTTPURL("http://h/").entry(String(repeating: "a", count: 1 << 20))
        }
    }

    @Test func theLastSegmentIsDecodedAndRepaired() throws {
        #expect(try HTTPURL("http://h/").lastPathSegment == nil)
        #expect(try HTTPURL("http://h/a/").lastPathSegment == nil)
        #expect(try HTTPURL("http://h/a/%E4%BE%8B%ff").lastPathSegment == "例\u{FFFD}")
        #expect(try HTTPURL("http://h/..%2f..%2fetc").lastPathSegment == "../../etc")
    }

    @Test func noBytesTrapTheParser() {
        var generator = SeededGenerator(seed: 1)
        let alphabet = Array("htps:/@[]?#%.:0a\\ \u{E4}\u{3002}\u{0}\r".unicodeScalars)
        for _ in 0..<20_000 {
            var text = Bool.random(using: &generator) ? "http://" : ""
            for _ in 0..<Int.random(in: 0..<16, using: &generator) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            guard let url = try? HTTPURL(text) else { continue }
            #expect((try? HTTPURL(url.text)) == url)
            #expect(!url.host.isEmpty && url.path.hasPrefix("/") && url.port > 0)
            _ = (url.user, url.password, url.query, url.redacted, url.lastPathSegment, try? url.resolving(text))
        }
    }
}
