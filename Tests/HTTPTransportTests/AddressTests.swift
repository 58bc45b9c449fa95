// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Addresses to which no request is sent, in the transport", .timeLimit(.minutes(1)))
struct AddressTests {
    private let rule = AddressRule(refusing: .private)

    @Test("an address, and a name whose addresses are all denied, is refused before a connection is made")
    func direct() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "inside") }
        try await HTTPTransport.with { (transport) async throws in
            for host in ["127.0.0.1", "localhost"] {
                let record = await transport.get(try HTTPURL("http://\(host):\(server.port)/"), addresses: self.rule)
                #expect(record.error?.code == .addressDenied && record.violations.isEmpty)
                #expect(record.error?.message.contains("a loopback address") == true)
                #expect(record.error?.setting == .addresses && record.error?.peer?.host == host)
            }
            #expect(server.connectionCount == 0)
            let url = try server.url("/")
            for allowed in ["127.0.0.0/8", "127.0.0.1:\(server.port)"] {
                let rule = AddressRule(refusing: .private, allowing: ProxyExceptions(allowed))
                #expect(await transport.get(url, addresses: rule).body == Array("inside".utf8))
            }
            let metadata = AddressRule(refusing: .metadata)
            #expect(await transport.get(url, addresses: metadata).body == Array("inside".utf8))
        }
    }

    @Test("a connection that a request without the rule has opened is not used")
    func pooled() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "inside") }
        try await HTTPTransport.with { (transport) async throws in
            for host in ["127.0.0.1", "localhost"] {
                let url = try HTTPURL("http://\(host):\(server.port)/")
                #expect(await transport.get(url).body == Array("inside".utf8))
                #expect(await transport.get(url, addresses: self.rule).error?.code == .addressDenied)
                #expect(await transport.get(url).body == Array("inside".utf8))
            }
        }
        #expect(server.requests.count == 4 && server.connectionCount == 2)
    }

    @Test("behind a proxy only written addresses are judged; the proxy itself only if the same party has chosen it")
    func proxied() async throws {
        let proxy = try await ScriptedServer.start { _ in .response(200, text: "proxied") }
        let settings = ProxySettings(try ProxyServer("http://127.0.0.1:\(proxy.port)"))
        let configure: (inout HTTPTransport.Configuration) -> Void = { $0.proxy = settings }
        try await HTTPTransport.with(configure) { (transport) async throws in
            let name = try HTTPURL("http://one.invalid/")
            #expect(await transport.get(name, addresses: self.rule).body == Array("proxied".utf8))
            for host in ["10.0.0.1", "[::1]", "localhost", "169.254.169.254"] {
                let record = await transport.get(try HTTPURL("http://\(host)/"), addresses: self.rule)
                #expect(record.error?.code == .addressDenied, "\(host)")
            }
            let tunnelled = await transport.get(try HTTPURL("https://10.0.0.1/"), addresses: self.rule)
            #expect(tunnelled.error?.code == .addressDenied)
            var strict = self.rule
            strict.judgesProxies = true
            let record = await transport.get(name, addresses: strict)
            #expect(record.error?.code == .addressDenied && record.error?.message.contains("the proxy") == true)
        }
        #expect(proxy.requests.count == 1)
    }

    @Test("with one family of addresses, a host of the other one is not connected to, and the message says why")
    func families() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "inside") }
        for (family, isReached) in [(AddressFamily.ipv4, true), (.ipv6, false)] {
            try await HTTPTransport.with({ $0.family = family }) { (transport) async throws in
                let record = await transport.get(try server.url("/"))
                #expect((record.error == nil) == isReached)
                if !isReached { #expect(record.error?.message.contains("no IPv6 address, and --ipv6") == true) }
            }
        }
        #expect(server.connectionCount == 1)
    }
}
