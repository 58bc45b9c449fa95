// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import HTTPServer
@testable import Receiver

@Suite("What a request asks for")
struct RequestValueTests {
    @Test(
        "a path leads nowhere but below",
        arguments: [
            ("/a/b", ["a", "b"]), ("/", []), ("//a///b/", ["a", "b"]), ("/a%20b", ["a b"]), ("/%C3%A9", ["é"]),
        ]
    )
    func path(text: String, names: [String]) throws {
        #expect(try TreePath(parsing: text[...]).names == names)
    }

    @Test(
        "a path with a way out, a hidden separator or a malformed escape is refused",
        arguments: [
            ("/..", "'..' segment"), ("/a/../b", "'..' segment"), ("/%2e%2e/x", "'..' segment"),
            ("/.%2E", "'..' segment"), ("/.", "'.' or"), ("/a%2fb", "encoded slash"),
            ("/a%2F..%2Fb", "encoded slash"), ("/a%00", "NUL"), ("/a%", "'%'"), ("/a%zz", "'%'"),
            ("/%ff", "UTF-8"), ("/" + String(repeating: "a", count: 256), "too long"),
            (String(repeating: "/a", count: 65), "too long"),
        ]
    )
    func badPath(text: String, reason: String) {
        #expect { try TreePath(parsing: text[...]) } throws: {
            ($0 as? SyntaxError)?.message.contains(reason) == true
        }
    }

    @Test("a path in a URL is parsed to the same path")
    func encoding() throws {
        for name in ["a b", "100%", "ü?#", "a&b=c", "'\"<>"] {
            let url = TreePath(names: [name, "x"], endsWithSlash: true).url
            #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x23 })
            #expect(try TreePath(parsing: url[...]) == TreePath(names: [name, "x"], endsWithSlash: true))
        }
    }

    @Test(
        "a single range gets that range, several get the complete file (RFC 9110 §14.2)",
        arguments: [
            ("bytes=0-4", ByteRangeRequest.part(0..<5)), ("bytes=5-", .part(5..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=-30", .part(0..<10)), ("bytes=9-99", .part(9..<10)), ("BYTES=0-0", .part(0..<1)),
            ("bytes=0-9223372036854775807", .part(0..<10)), ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=0-1,3-4", .whole), ("bytes=4-2", .whole), ("bytes=a-b", .whole), ("items=0-1", .whole),
            ("bytes=", .whole), ("bytes=0-99999999999999999999", .part(0..<10)),
            ("bytes=-99999999999999999999", .part(0..<10)), ("bytes=99999999999999999999-", .unsatisfiable),
            ("bytes=-", .whole),
            ("bytes=0-1,", .part(0..<2)),
        ]
    )
    func ranges(field: String, expected: ByteRangeRequest) {
        #expect(ByteRangeRequest.of(field, length: 10) == expected)
    }

    @Test("nothing of an empty file can be asked for as a range")
    func emptyFile() {
        #expect(ByteRangeRequest.of("bytes=0-", length: 0) == .unsatisfiable)
        // Its last bytes are all of it (RFC 9110 §14.1.2).
        #expect(ByteRangeRequest.of("bytes=-5", length: 0) == .whole)
        #expect(ByteRangeRequest.of(nil, length: 0) == .whole)
    }

    private static let state = Conditions.State(entityTag: "\"a\"", modified: 784_111_777)
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"

    @Test("conditions are judged in the order of RFC 9110 §13.2.2")
    func conditions() {
        func verdict(_ fields: HeaderFields, exists: Bool = true, isRead: Bool = true) -> Conditions.Verdict {
            Conditions.verdict(fields, exists ? Self.state : nil, isRead: isRead)
        }
        #expect(verdict(["If-None-Match": "\"a\""]) == .notModified)
        #expect(verdict(["If-None-Match": "W/\"a\""]) == .notModified)
        #expect(verdict(["If-None-Match": "\"b\", \"a\""]) == .notModified)
        #expect(verdict(["If-None-Match": "\"b\""]) == .proceed)
        #expect(verdict(["If-None-Match": "*"], isRead: false) == .failed)
        #expect(verdict(["If-None-Match": "*"], exists: false, isRead: false) == .proceed)
        // If-None-Match counts alone where it is there.
        #expect(verdict(["If-None-Match": "\"b\"", "If-Modified-Since": Self.date]) == .proceed)
        #expect(verdict(["If-Modified-Since": Self.date]) == .notModified)
        #expect(verdict(["If-Modified-Since": Self.earlier]) == .proceed)
        #expect(verdict(["If-Match": "\"a\""]) == .proceed)
        #expect(verdict(["If-Match": "W/\"a\""]) == .failed)
        #expect(verdict(["If-Match": "*"], exists: false) == .failed)
        #expect(verdict(["If-Unmodified-Since": Self.date]) == .proceed)
        #expect(verdict(["If-Unmodified-Since": Self.earlier]) == .failed)
        #expect(verdict(["If-Match": "\"a\"", "If-Unmodified-Since": Self.earlier]) == .proceed)
    }

    @Test("a range is heeded by If-Range only with the strong validator of this very state")
    func ifRange() {
        func heeds(_ field: String?, now: Int64 = 784_111_800) -> Bool {
            Conditions.heedsRange(field, Self.state, now: now)
        }
        #expect(heeds(nil))
        #expect(heeds("\"a\""))
        #expect(!heeds("W/\"a\""))
        #expect(!heeds("\"b\""))
        #expect(heeds(Self.date))
        #expect(!heeds(Self.earlier))
        // In the second in which it was changed it may have been changed again.
        #expect(!heeds(Self.date, now: 784_111_777))
        #expect(!heeds("nonsense"))
    }

    @Test("the form of an answer is the one the client prefers")
    func accept() {
        func choose(_ field: String?) -> AcceptedFormat { AcceptedFormat.choose(field, preferring: .html) }
        #expect(choose(nil) == .html)
        #expect(choose("*/*") == .html)
        #expect(choose("application/json") == .json)
        #expect(choose("text/html,application/xhtml+xml,*/*;q=0.8") == .html)
        #expect(choose("text/html;q=0.1, application/json;q=0.9") == .json)
        #expect(choose("*/*;q=0.1, application/*") == .json)
        #expect(choose("text/html;q=nan") == .html)
    }

    @Test(
        "an address is read as people write it",
        arguments: [
            ("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:0", "::1", 0), (":9000", "::", 9000),
            ("9000", "127.0.0.1", 9000),
            ("localhost", "localhost", 8080), ("[fe80::1]", "fe80::1", 8080), ("::1", "::1", 8080),
        ]
    )
    func listen(text: String, host: String, port: Int) throws {
        let address = try #require(ListenAddress(parsing: text))
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test(
        "other texts are not parsed as addresses",
        arguments: ["", "a:b", "[::1", "127.0.0.1:99999", "a b", "http://x/", "[x]:1"]
    )
    func noAddress(text: String) { #expect(ListenAddress(parsing: text) == nil) }

    @Test("only addresses of this machine count as loopback")
    func loopback() {
        for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] { #expect(ListenAddress(host: host).isLoopback) }
        for host in ["0.0.0.0", "::", "127.0.0.1.example", "192.168.0.1", "example.org", "127.evil.example.org"] {
            #expect(!ListenAddress(host: host).isLoopback)
        }
    }

    @Test("the digest that is wanted most is chosen (RFC 9530 §4)")
    func wantedDigest() {
        #expect(WantedDigest.algorithm("sha-256=1, sha-512=3") == .sha512)
        #expect(WantedDigest.algorithm("sha-256=10, unixsum=1") == .sha256)
        #expect(WantedDigest.algorithm("sha-256=0") == nil)
        #expect(WantedDigest.algorithm("md5=10") == nil)
        #expect(WantedDigest.algorithm("sha-256=5;q=1, sha-512=4") == .sha256)
        // A malformed field is ignored as a whole (RFC 9651 §4.2); no weight is read from "1 0".
        #expect(WantedDigest.algorithm("sha-256=1 0") == nil)
        #expect(WantedDigest.algorithm("sha-256=1, sha-512=") == nil)
        #expect(WantedDigest.algorithm(nil) == nil)
    }
}
