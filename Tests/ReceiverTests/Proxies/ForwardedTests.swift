// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Receiver

@Suite("Fields of proxies")
struct ForwardedTests {
    private static func proxies(_ entries: String...) -> TrustedProxies {
        TrustedProxies(parsing: entries) ?? TrustedProxies()
    }

    private func origin(_ fields: HeaderFields, from peer: String = "10.0.0.1") -> ClientOrigin {
        ClientOrigin(fields, peer: peer, proxies: Self.proxies("10.0.0.0/8", "fd00::/8"))
    }

    @Test("Forwarded names the client, the scheme and the host")
    func standard() {
        let all = self.origin([
            "Forwarded": #"For="[2001:db8:cafe::17]:4711"; proto=HTTPS ;host="files.example:8443";by=203.0.113.43"#
        ])
        #expect(all.address == "2001:db8:cafe::17")
        #expect(all.isSecure == true)
        #expect(all.host == "files.example:8443")
        #expect(self.origin(["Forwarded": "for=192.0.2.60:80"]).address == "192.0.2.60")
        // Hidden clients keep the address of the proxy.
        for hidden in ["for=unknown;proto=https", "for=_hidden;proto=https", "proto=https"] {
            let origin = self.origin(["Forwarded": hidden])
            #expect(origin.address == "10.0.0.1", "\(hidden)")
            #expect(origin.isSecure == true, "\(hidden)")
        }
    }

    @Test("Malformed fields are ignored")
    func malformed() {
        for wrong in [
            "for", "for=\"192.0.2.1", "for=\"192.0.2.1\"x", "=a", "for=192.0.2.1;;=", "for=\"a\\", "for=192.0.2.1 , b",
        ] {
            #expect(self.origin(["Forwarded": wrong]).address == "10.0.0.1", "\(wrong)")
        }
        for wrong in ["", "x", "1.2.3", "1.2.3.4:x", "[::1", "::1%eth0", "1.2.3.4\\n"] {
            #expect(self.origin(["X-Forwarded-For": wrong]).address == "10.0.0.1", "\(wrong)")
        }
        let host = self.origin(["X-Forwarded-Host": "a b", "X-Forwarded-Proto": "gopher"])
        #expect(host.host == nil)
        #expect(host.isSecure == nil)
        // Each field alone.
        #expect(self.origin(["X-Forwarded-Proto": "https"]).isSecure == true)
        #expect(self.origin(["X-Forwarded-Host": "a"]).host == "a")
        #expect(self.origin(["X-Forwarded-Proto": ""]).isSecure == nil)
        #expect(self.origin(["X-Forwarded-For": " , ,"]).address == "10.0.0.1")
    }

    @Test("A chain is followed back to the first address without a trusted proxy")
    func chain() {
        #expect(self.origin(["X-Forwarded-For": "198.51.100.9, 192.0.2.1, 10.1.1.1"]).address == "192.0.2.1")
        #expect(self.origin(["Forwarded": "for=198.51.100.9, for=192.0.2.1, for=10.1.1.1"]).address == "192.0.2.1")
        #expect(self.origin(["X-Forwarded-For": "10.2.2.2, 10.1.1.1"]).address == "10.2.2.2")
        #expect(self.origin(["X-Forwarded-For": "198.51.100.9, [fd00::1]:80"]).address == "198.51.100.9")
        // The outermost trusted proxy knows what the client used.
        let origin = self.origin([
            "Forwarded": "for=192.0.2.1;proto=https;host=outer, for=10.1.1.1;proto=http;host=inner"
        ])
        #expect(origin.isSecure == true)
        #expect(origin.host == "outer")
        let lists = self.origin([
            "X-Forwarded-For": "198.51.100.9, 192.0.2.1, 10.1.1.1", "X-Forwarded-Proto": "http, https, http",
        ])
        #expect(lists.isSecure == true)
        let single = self.origin(["X-Forwarded-For": "198.51.100.9, 192.0.2.1", "X-Forwarded-Proto": "https"])
        #expect(single.isSecure == true)
    }

    @Test("A client cannot forge its address through the family that its proxy does not use")
    func families() {
        let fields: HeaderFields = [
            "Forwarded": "for=198.51.100.9;host=evil", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https",
        ]
        #expect(self.origin(fields) == ClientOrigin(HeaderFields(), peer: "10.0.0.1", proxies: Self.proxies()))
        let both = self.origin([
            "Forwarded": "for=192.0.2.1", "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https",
        ])
        #expect(both.address == "192.0.2.1")
        #expect(both.isSecure == true)
    }

    @Test("Fields of other clients are ignored, but for the scheme on this machine")
    func untrusted() {
        let fields: HeaderFields = [
            "Forwarded": "for=198.51.100.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil",
        ]
        let far = self.origin(fields, from: "192.0.2.7")
        #expect(far.address == "192.0.2.7")
        #expect(far.isSecure == nil)
        #expect(far.host == nil)
        let near = self.origin(fields, from: "127.0.0.1")
        #expect(near.address == "127.0.0.1")
        #expect(near.isSecure == true)
        #expect(near.host == nil)
    }

    @Test("Trusted proxies are addresses and networks")
    func networks() {
        let proxies = Self.proxies("192.0.2.1", "10.0.0.0/8", "fd00::/8", "127.0.0.1")
        for address in ["192.0.2.1", "10.255.0.1", "fd12::1", "::ffff:10.0.0.1", "127.0.0.1"] {
            #expect(proxies.contain(address), "\(address)")
        }
        for address in ["192.0.2.2", "11.0.0.1", "fe80::1", "-", "", "::1"] {
            #expect(!proxies.contain(address), "\(address)")
        }
        for wrong in ["localhost", "*", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::1%lo", "10.0.0.1:80", "", "/8"] {
            #expect(TrustedProxies(parsing: [wrong]) == nil, "\(wrong)")
        }
    }

    @Test("A base path is removed from paths and added to URLs")
    func base() throws {
        let base = try #require(BasePath(parsing: "/files/"))
        #expect(base.prefix == "/files")
        #expect(base.url("/a%20b") == "/files/a%20b")
        #expect(base.relative("/files/a") == "/a")
        #expect(base.relative("/files/") == "/")
        #expect(base.relative("/files") == "")
        for outside in ["/filesystem", "/", "/file", "/%66iles/a", "//files/a", "/a/files/"] {
            #expect(base.relative(outside[...]) == nil, "\(outside)")
        }
        #expect(BasePath(parsing: "a/b")?.prefix == "/a/b")
        #expect(BasePath(parsing: "/") == BasePath.none)
        #expect(BasePath.none.relative("/a") == "/a")
        for wrong in ["/..", "/a/../b", "/.", "/a b", "/a%20b", "/ä", "/a?b", "/a;b"] {
            #expect(BasePath(parsing: wrong) == nil, "\(wrong)")
        }
    }
}
