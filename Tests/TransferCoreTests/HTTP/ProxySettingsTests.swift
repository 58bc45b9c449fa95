// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Proxy settings")
struct ProxySettingsTests {
    private func route(_ url: String, _ variables: [String: String]) throws -> String? {
        try ProxySettings.fromEnvironment(variables).proxy(for: HTTPURL(url))?.description
    }

    @Test("each scheme has its own variable, and all_proxy is for both")
    func schemes() throws {
        let both = ["http_proxy": "http://a:1", "https_proxy": "https://b:2", "all_proxy": "http://c:3"]
        #expect(try self.route("http://example.com/", both) == "http://a:1")
        #expect(try self.route("https://example.com/", both) == "https://b:2")
        #expect(try self.route("http://example.com/", ["ALL_PROXY": "c:3"]) == "http://c:3")
        #expect(try self.route("https://example.com/", ["all_proxy": "c:3", "ALL_PROXY": "d:4"]) == "http://c:3")
        #expect(try self.route("https://example.com/", ["http_proxy": "http://a:1"]) == nil)
        #expect(ProxySettings.fromEnvironment([:]).isDirect)
        #expect(ProxySettings.fromEnvironment(["https_proxy": "", "no_proxy": "*"]).isDirect)
    }

    @Test("HTTP_PROXY is not read: in a CGI program it is a field of the request (CVE-2016-5385)")
    func httpoxy() throws {
        #expect(try self.route("http://example.com/", ["HTTP_PROXY": "http://evil:1"]) == nil)
        #expect(try self.route("https://example.com/", ["HTTPS_PROXY": "http://b:1"]) == "http://b:1")
        #expect(
            try self.route("https://example.com/", ["HTTPS_PROXY": "http://b:1", "https_proxy": "c:2"]) == "http://c:2"
        )
    }

    @Test("a proxy's URL: scheme, port and credentials")
    func urls() throws {
        #expect(try ProxyServer("proxy.example:3128").description == "http://proxy.example:3128")
        #expect(try ProxyServer("https://proxy.example/").origin.port == 443)
        #expect(try ProxyServer("http://[::1]:8080").description == "http://[::1]:8080")
        let proxy = try ProxyServer("http://Aladdin:open%20sesame@Proxy.Example:8080/")
        #expect(proxy.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(proxy.description == "http://proxy.example:8080")
        #expect(try ProxyServer("alice@proxy:1").authorization == "Basic YWxpY2U6")
        #expect(try ProxyServer("http://proxy:1").authorization == nil)
    }

    @Test(
        "what names no usable proxy fails the request, names the variable and shows no password",
        arguments: [
            ("socks5://me:hush@proxy:1080", "SOCKS"), ("socks4a://proxy", "SOCKS"), ("ftp://me:hush@proxy", "ftp"),
            ("http://", "no host"), ("http://me:hush@proxy:99999", "port"), ("http://me:hu/sh@proxy:1", "%2F"),
            ("http://me:hush@pro xy", "character"), ("http://pr%00oxy:1", "host"), ("http://a%3Ab:hush@proxy", "colon"),
            ("me:hu?sh@proxy:1", "%3F"),
        ]
    )
    func unusable(text: String, hint: String) throws {
        for (name, url) in [("http_proxy", "http://example.com/"), ("HTTPS_PROXY", "https://example.com/")] {
            let settings = ProxySettings.fromEnvironment([name: text, "no_proxy": "direct.example"])
            #expect {
                _ = try settings.proxy(for: HTTPURL(url))
            } throws: { error in
                let message = "\(error)"
                return error is SyntaxError && message.hasPrefix(name) && message.contains(hint)
                    && !message.contains("hush") && !message.contains("hu/sh")
            }
            #expect(try settings.proxy(for: HTTPURL("http://direct.example/")) == nil)
        }
    }

    @Test("one proxy for everything, with exceptions")
    func explicit() throws {
        let proxy = try ProxyServer("proxy:1")
        let settings = ProxySettings(proxy, exceptions: ProxyExceptions("internal"))
        #expect(try settings.proxy(for: HTTPURL("https://example.com/")) == proxy)
        #expect(try settings.proxy(for: HTTPURL("https://internal/")) == nil)
        #expect(ProxySettings.none.isDirect && !settings.isDirect)
    }
}

@Suite("Exceptions from proxies (no_proxy)")
struct ProxyExceptionsTests {
    @Test(
        "an entry covers a host",
        arguments: [
            ("*", "http://anything/"),
            ("example.com", "http://example.com/"), ("example.com", "http://www.example.com/"),
            (".example.com", "http://www.example.com/"), (".example.com", "http://example.com/"),
            ("*.example.com", "http://a.b.example.com/"), ("EXAMPLE.com.", "http://example.com/"),
            ("example.com", "http://example.com./"), ("a, b\tc", "http://c/"), ("a,,b ,c", "http://b/"),
            ("example.com:8080", "http://example.com:8080/"), ("example.com:443", "https://example.com/"),
            ("192.0.2.1", "http://192.0.2.1/"), ("192.0.2.1:81", "http://192.0.2.1:81/"),
            ("192.0.2.0/24", "http://192.0.2.200/"), ("10.0.0.0/8", "http://10.255.1.1/"),
            ("192.0.2.128/25", "http://192.0.2.129/"), ("0.0.0.0/0", "http://203.0.113.9/"),
            ("::1", "http://[::1]/"), ("[::1]", "http://[::1]:8080/"), ("[::1]:8080", "http://[::1]:8080/"),
            ("2001:db8::/32", "http://[2001:db8:1::2]/"), ("2001:DB8:0:0:0:0:0:1", "http://[2001:db8::1]/"),
            ("[fd00::]/8", "http://[fd12::1]/"), ("192.0.2.0/24", "http://[::ffff:192.0.2.7]/"),
            ("::ffff:192.0.2.0/120", "http://192.0.2.7/"),
        ]
    )
    func covered(list: String, url: String) throws {
        let url = try HTTPURL(url)
        #expect(ProxyExceptions(list).cover(host: url.host, port: url.port))
    }

    @Test(
        "an entry does not cover another host",
        arguments: [
            ("", "http://anything/"), ("example.com", "http://notexample.com/"), ("example.com", "http://example.org/"),
            ("www.example.com", "http://example.com/"), ("example.com:8080", "http://example.com/"),
            ("192.0.2.1:81", "http://192.0.2.1/"), ("2.1", "http://192.0.2.1/"), (".2.1", "http://192.0.2.1/"),
            ("192.0.2.0/24", "http://192.0.3.1/"), ("192.0.2.128/25", "http://192.0.2.127/"),
            ("192.0.2.0/33", "http://192.0.2.0/"), ("192.0.2.0/", "http://192.0.2.0/"),
            ("192.0.2.0/x", "http://192.0.2.0/"), ("2001:db8::/32", "http://[2001:db9::1]/"),
            ("::/129", "http://[::1]/"), ("0.0.0.0/0", "http://[2001:db8::1]/"), ("::/0", "http://192.0.2.1/"),
            ("example.com:x", "http://example.com/"), ("[::1", "http://[::1]/"), ("/", "http://a/"),
            (".", "http://a/"), ("*.", "http://a/"), (":80", "http://a/"), ("[]", "http://a/"), ("[", "http://a/"),
            ("192.0.2.1", "http://192.0.2.1.example/"),
        ]
    )
    func notCovered(list: String, url: String) throws {
        let url = try HTTPURL(url)
        #expect(!ProxyExceptions(list).cover(host: url.host, port: url.port))
    }
}
