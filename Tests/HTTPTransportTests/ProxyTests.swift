// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Proxies", .timeLimit(.minutes(1)))
struct ProxyTests {
    private static let basic = "Basic bWU6aHVzaA=="

    private func settings(
        _ port: Int,
        scheme: String = "http",
        user: String = "",
        except: String = ""
    ) throws -> ProxySettings {
        ProxySettings(try ProxyServer("\(scheme)://\(user)127.0.0.1:\(port)"), exceptions: ProxyExceptions(except))
    }

    private func trusting(_ settings: ProxySettings) -> (inout HTTPTransport.Configuration) -> Void {
        { configuration in
            configuration.proxy = settings
            configuration.tls.roots = .pem(Array(TestCertificate.localhost.authorityPEM.utf8))
        }
    }

    // MARK: - http targets

    @Test("a proxy is given the whole URL, and one connection serves all origins (RFC 9112 §3.2.2)")
    func forwarded() async throws {
        let proxy = try await ScriptedServer.start { request in .response(200, text: request.target) }
        let settings = try self.settings(proxy.port, user: "me:hush@")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            for url in ["http://one.invalid/a?b", "http://two.invalid:81/c", "http://user:pass@three.invalid/d"] {
                let record = await transport.get(try HTTPURL(url))
                #expect(record.error == nil && record.violations.isEmpty)
            }
        }
        #expect(proxy.connectionCount == 1)
        #expect(
            proxy.requests.map(\.target) == [
                "http://one.invalid/a?b", "http://two.invalid:81/c", "http://three.invalid/d",
            ]
        )
        #expect(proxy.requests.map { $0["Host"] } == ["one.invalid", "two.invalid:81", "three.invalid"])
        #expect(proxy.requests.allSatisfy { $0.fields.values("Proxy-Authorization") == [Self.basic] })
    }

    @Test("a 407 of the proxy is an error with a remedy, not a response", arguments: ["", "me:hush@"])
    func authentication(user: String) async throws {
        let proxy = try await ScriptedServer.start { _ in .response(407, text: "who are you?") }
        try await HTTPTransport.with(self.trusting(try self.settings(proxy.port, user: user))) {
            (transport) async throws in
            let record = await transport.get(try HTTPURL("http://one.invalid/"))
            #expect(record.error?.code == .proxyAuthentication)
            #expect(record.error?.message.contains(user.isEmpty ? "name:password@host" : "refuses") == true)
            #expect(record.error?.message.contains("hush") == false)
            #expect(record.head == nil && record.violations.isEmpty)
        }
    }

    @Test("an excepted host is contacted directly, without the proxy's credentials, over a separate connection")
    func exceptions() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "direct") }
        let proxy = try await ScriptedServer.start { _ in .response(200, text: "proxied") }
        let settings = try self.settings(proxy.port, user: "me:hush@", except: "127.0.0.0/8")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            #expect(await transport.get(try server.url("/")).body == Array("direct".utf8))
            #expect(await transport.get(try HTTPURL("http://one.invalid/")).body == Array("proxied".utf8))
        }
        #expect(server.requests.map(\.target) == ["/"])
        #expect(server.requests.first?["Proxy-Authorization"] == nil)
        #expect(proxy.requests.count == 1)
    }

    @Test("a proxy that speaks TLS is given http targets over it")
    func forwardedOverTLS() async throws {
        let proxy = try await ScriptedServer.start(tls: .localhost) { request in .response(200, text: request.target) }
        try await HTTPTransport.with(self.trusting(try self.settings(proxy.port, scheme: "https"))) {
            (transport) async throws in
            for _ in 0..<2 {
                let record = await transport.get(try HTTPURL("http://one.invalid/a"))
                #expect(record.body == Array("http://one.invalid/a".utf8))
            }
        }
        #expect(proxy.connectionCount == 1)
    }

    @Test("a missing proxy is named as such, and an unusable one is never bypassed")
    func unreachable() async throws {
        let gone = try RefusingPort()
        let server = try await ScriptedServer.start { _ in .response(200) }
        for url in [try server.url("/"), try HTTPURL("https://127.0.0.1:\(server.port)/")] {
            try await HTTPTransport.with(self.trusting(try self.settings(gone.port))) { (transport) async throws in
                let error = await transport.get(url).error
                #expect(error?.code == .refused)
                #expect(
                    error?.message == "cannot connect to the proxy 127.0.0.1:\(gone.port): connection refused"
                )
            }
            try await HTTPTransport.with(self.trusting(.fromEnvironment(["all_proxy": "socks5://127.0.0.1"]))) {
                (transport) async throws in
                let error = await transport.get(url).error
                #expect(error?.code == .proxySettings)
                #expect(error?.message.contains("all_proxy") == true)
            }
        }
        #expect(server.requests.isEmpty)
    }

    // MARK: - https targets

    @Test("a tunnel carries TLS to the origin and is reused for it only (RFC 9110 §9.3.6)", arguments: [false, true])
    func tunnel(overTLS: Bool) async throws {
        let body = [UInt8](repeating: 9, count: 2 << 20)
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            request.path == "/big" ? .response(200, body: body) : .response(200, text: "secret")
        }
        let other = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "other") }
        let proxy = try await TunnelServer.start(tls: overTLS ? .localhost : nil, credentials: Self.basic)
        let settings = try self.settings(proxy.port, scheme: overTLS ? "https" : "http", user: "me:hush@")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            let fields: HeaderFields = ["User-Agent": "Martlet/0", "Cookie": "c", "Proxy-Authorization": "Basic eA=="]
            for _ in 0..<2 {
                let record = await transport.get(try server.url("/"), fields: fields)
                #expect(record.body == Array("secret".utf8), "\(record.error?.message ?? "")")
                #expect(record.connectedCount == 1 && record.violations.isEmpty)
            }
            #expect(await transport.get(try server.url("/big")).body == body)
            #expect(await transport.get(try other.url("/")).body == Array("other".utf8))
        }
        #expect(proxy.connectionCount == 2 && server.connectionCount == 1 && other.connectionCount == 1)
        #expect(proxy.requests.map(\.target) == ["127.0.0.1:\(server.port)", "127.0.0.1:\(other.port)"])
        let connect = try #require(proxy.requests.first)
        #expect(connect.method == "CONNECT" && connect["Host"] == connect.target)
        #expect(connect["User-Agent"] == "Martlet/0")
        #expect(connect["Cookie"] == nil && connect.fields.count == 3)
        #expect(server.requests.allSatisfy { $0["Proxy-Authorization"] == nil })
        #expect(server.requests.first?.target == "/")
    }

    @Test("a certificate is compared with the origin, not with the proxy", arguments: [false, true])
    func verification(overTLS: Bool) async throws {
        // The certificate names 127.0.0.1, where the proxy is, and not 127.0.0.2.
        let server = try await ScriptedServer.start(tls: .localhost, host: "127.0.0.2") { _ in .response(200) }
        let six = try await ScriptedServer.start(tls: .localhost, host: "::1") { _ in .response(200, text: "six") }
        let named = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "named") }
        let proxy = try await TunnelServer.start(tls: overTLS ? .localhost : nil)
        let settings = try self.settings(proxy.port, scheme: overTLS ? "https" : "http")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            let error = await transport.get(try server.url("/")).error
            #expect(error?.code == .certificateWrongHost)
            #expect(error?.message.contains("127.0.0.2:\(server.port) does not name this host") == true)
            #expect(await transport.get(try six.url("/")).body == Array("six".utf8))
            #expect(proxy.requests.last?.target == "[::1]:\(six.port)")
            let url = try HTTPURL("https://localhost:\(named.port)/")
            #expect(await transport.get(url).body == Array("named".utf8))
        }
        #expect(server.requests.isEmpty)
        let untrusted = await Self.firstError(settings, try named.url("/"))
        #expect(untrusted?.code == .certificateUnknownAuthority)
        #expect(untrusted?.message.contains(overTLS ? "the proxy 127.0.0.1:" : "of 127.0.0.1:") == true)
    }

    private static func firstError(_ settings: ProxySettings, _ url: HTTPURL) async -> TransportError? {
        var error: TransportError?
        try? await HTTPTransport.with {
            $0.proxy = settings
        } _: { (transport) async throws in
            error = await transport.get(url).error
        }
        return error
    }

    @Test("a proxy that makes no tunnel is reported with its status; 407 with a remedy")
    func refused() async throws {
        let url = try HTTPURL("https://one.invalid:8443/")
        let answers: [(TunnelServer.Answer, TransportError.Code, String)] = [
            (.refuse(502), .proxyRefused, "did not connect to one.invalid:8443: 502 Bad Gateway"),
            (.refuse(403), .proxyRefused, "403 Forbidden"),
            (.refuse(302), .proxyRefused, "302 Found"),
            (.refuse(407), .proxyAuthentication, "name:password@host"),
            (.raw("HTTP/1.1 101 Switching Protocols\r\n\r\n"), .malformed, "the proxy"),
            (.raw("nonsense\r\n\r\n"), .malformed, "the proxy"),
            (.raw("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 300_000)), .headTooLarge, "the proxy"),
            (.raw("HTTP/1.1 200 OK\r\n"), .truncated, "the proxy"),
            (.close, .truncated, "the proxy"),
        ]
        for (answer, code, hint) in answers {
            let proxy = try await TunnelServer.start { _ in answer }
            let error = await Self.firstError(try self.settings(proxy.port), url)
            #expect(error?.code == code, "\(answer)")
            #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("127.0.0.1:\(proxy.port)") == true)
        }
    }

    @Test("wrong credentials are reported, and shown nowhere")
    func credentials() async throws {
        let proxy = try await TunnelServer.start(credentials: Self.basic)
        let url = try HTTPURL("https://one.invalid/")
        let error = await Self.firstError(try self.settings(proxy.port, user: "me:wrong-one@"), url)
        #expect(error?.code == .proxyAuthentication)
        #expect(error?.message.contains("refuses the user name and the password") == true)
        #expect(error?.message.contains("wrong-one") == false)
    }

    @Test("bytes after the response to CONNECT are an error: this side's TLS speaks first")
    func trailing() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200) }
        let proxy = try await TunnelServer.start { _ in .connect(trailing: [0x16, 3, 3]) }
        let error = await Self.firstError(try self.settings(proxy.port), try server.url("/"))
        #expect(error?.code == .malformed)
        #expect(error?.message.contains("after the response to CONNECT") == true)
    }

    @Test("an interim response, and lengths that mean nothing, come before the tunnel")
    func oddAnswers() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        let proxy = try await TunnelServer.start { _ in
            .connect(head: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 299 Fine\r\nContent-Length: 7\r\n\r\n")
        }
        try await HTTPTransport.with(self.trusting(try self.settings(proxy.port))) { (transport) async throws in
            #expect(await transport.get(try server.url("/")).body == Array("secret".utf8))
        }
    }

    @Test("a proxy that does not answer ends with the connect timeout", arguments: [false, true])
    func stall(overTLS: Bool) async throws {
        let proxy = try await TunnelServer.start(tls: overTLS ? .localhost : nil) { _ in .stall }
        let settings = try self.settings(proxy.port, scheme: overTLS ? "https" : "http")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            let url = try HTTPURL("https://one.invalid/")
            let error = await transport.get(url, connectTimeout: 4_000_000_000).error
            #expect(error?.code == .connectTimeout)
            #expect(
                error?.message.contains("the request for a tunnel to the proxy 127.0.0.1:\(proxy.port)") == true,
                "\(error?.message ?? "")"
            )
        }
    }

    @Test("a server behind a tunnel that does not answer the handshake is the one that is named")
    func silentHandshake() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let proxy = try await TunnelServer.start()
        try await HTTPTransport.with(self.trusting(try self.settings(proxy.port))) { (transport) async throws in
            let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
            let error = await transport.get(url, connectTimeout: 4_000_000_000).error
            #expect(error?.code == .connectTimeout)
            #expect(error?.message.contains("handshake to 127.0.0.1:\(server.port)") == true)
        }
    }

    @Test(
        "a proxy that dies cuts the body that comes; a kept tunnel that died is made again",
        arguments: [false, true]
    )
    func dies(overTLS: Bool) async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            request.path == "/cut"
                ? Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(.stall)
                : .response(200, text: "all")
        }
        let proxy = try await TunnelServer.start(tls: overTLS ? .localhost : nil)
        let settings = try self.settings(proxy.port, scheme: overTLS ? "https" : "http")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            let receiver = ExchangeRecorder()
            _ = await transport.begin(try server.url("/cut"), receiver)
            await receiver.hasBody.wait()
            await proxy.closeConnections()
            let code = await receiver.whole().error?.code
            #expect(code == .truncated || code == .reset)
            #expect(await transport.get(try server.url("/")).body == Array("all".utf8))
            await proxy.closeConnections()
            #expect(await transport.get(try server.url("/")).body == Array("all".utf8))
        }
        #expect(proxy.requests.count == 3)
    }

    @Test("a proxy over TLS that is cut without close_notify truncates a body without a length")
    func cutForwarded() async throws {
        let proxy = try await ScriptedServer.start(tls: .localhost) { request in
            let reply = Reply.raw("HTTP/1.1 200 OK\r\n\r\nabc")
            return request.target.hasSuffix("/cut") ? reply.then(.cut) : reply.then(.close)
        }
        let settings = try self.settings(proxy.port, scheme: "https")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            #expect(await transport.get(try HTTPURL("http://one.invalid/cut")).error?.code == .truncated)
            #expect(await transport.get(try HTTPURL("http://one.invalid/")).isClean == false)
        }
    }

    @Test(
        "in a tunnel the origin's close_notify shows a body's end, whether or not the proxy sends its own",
        arguments: [(false, false), (true, false), (true, true)]
    )
    func cutTunnel(overTLS: Bool, cutsTLS: Bool) async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            let reply = Reply.raw("HTTP/1.1 200 OK\r\n\r\nabc")
            switch request.path {
            case "/cut": return reply.then(.cut)
            case "/at-once": return reply.then(.closeAtOnce)
            default: return reply.then(.close)
            }
        }
        let proxy = try await TunnelServer.start(tls: overTLS ? .localhost : nil, cutsTLS: cutsTLS)
        let settings = try self.settings(proxy.port, scheme: overTLS ? "https" : "http")
        try await HTTPTransport.with(self.trusting(settings)) { (transport) async throws in
            let cut = await transport.get(try server.url("/cut"))
            #expect(cut.error?.code == .truncated && cut.body == Array("abc".utf8))
            for path in ["/closed", "/at-once", "/at-once", "/at-once"] {
                let closed = await transport.get(try server.url(path))
                #expect(closed.error == nil && closed.isClean == false && closed.body == Array("abc".utf8), "\(path)")
            }
        }
    }

    @Test("cancelling while the tunnel is made is silent")
    func cancel() async throws {
        let seen = Gate()
        let proxy = try await TunnelServer.start { _ in
            seen.open()
            return .stall
        }
        try await HTTPTransport.with(self.trusting(try self.settings(proxy.port))) { (transport) async throws in
            let receiver = ExchangeRecorder()
            let exchange = await transport.begin(try HTTPURL("https://one.invalid/"), receiver)
            await seen.wait()
            exchange.cancel()
            await transport.shutdown()
            #expect(!receiver.now.isOver && receiver.now.connectedCount == 0)
        }
    }
}
