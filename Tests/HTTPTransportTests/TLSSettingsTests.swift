// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Receiver
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("TLS settings", .timeLimit(.minutes(1)))
struct TLSSettingsTests {

    private static let authority = Array(TestCertificate.localhost.authorityPEM.utf8)
    private static let otherAuthority = Array(TestCertificate.elsewhere.authorityPEM.utf8)

    private static func client(encrypted: Bool = false) -> TLSOptions.ClientCertificate {
        TLSOptions.ClientCertificate(
            chain: .bytes(Array(TestCertificate.client.certificatePEM.utf8)),
            key: .bytes(
                Array((encrypted ? TestCertificate.encryptedClientKeyPEM : TestCertificate.client.keyPEM).utf8)
            ),
            passphrase: encrypted ? "open-sesame" : nil
        )
    }

    private func record(
        _ url: HTTPURL,
        proxy: ProxySettings = .none,
        _ configure: (inout TLSOptions) throws -> Void
    ) async throws -> ExchangeRecorder.Record {
        var tls = TLSOptions()
        try configure(&tls)
        var record = ExchangeRecorder.Record()
        try await HTTPTransport.with {
            $0.tls = tls
            $0.proxy = proxy
        } _: { (transport) async throws in
            record = await transport.get(url)
        }
        return record
    }

    // MARK: - Roots and verification

    @Test("authorities as text, and in addition to the system's")
    func roots() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        let directory = try TemporaryDirectory()
        try directory.write(Self.authority, to: "ca.pem")
        let all: [TLSOptions.Roots] = [
            .pem(Self.authority), .systemAnd(.bytes(Self.authority)), .systemAnd(.file(directory.path("ca.pem"))),
        ]
        for roots in all {
            let record = try await self.record(server.url("/")) { $0.roots = roots }
            #expect(record.body == Array("secret".utf8), "\(roots)")
        }
        for roots in [TLSOptions.Roots.pem(Self.otherAuthority), .systemAnd(.bytes(Self.otherAuthority))] {
            #expect(
                try await self.record(server.url("/")) { $0.roots = roots }.error?.code == .certificateUnknownAuthority
            )
        }
    }

    @Test("without the host's name an authority must still vouch, and with it the name must fit")
    func noHostname() async throws {
        let server = try await ScriptedServer.start(tls: .elsewhere) { _ in .response(200, text: "secret") }
        let full = try await self.record(server.url("/")) { $0.roots = .pem(Self.otherAuthority) }
        #expect(full.error?.code == .certificateWrongHost)
        #expect(full.error?.message.contains("does not name this host") == true)
        let trusted = try await self.record(server.url("/")) {
            $0.roots = .pem(Self.otherAuthority)
            $0.verification = .noHostname
        }
        #expect(trusted.body == Array("secret".utf8))
        let untrusted = try await self.record(server.url("/")) { $0.verification = .noHostname }
        #expect(untrusted.error?.code == .certificateUnknownAuthority)
        #expect(untrusted.error?.message.contains("is not trusted") == true)
    }

    @Test("TLS 1.3 can be asked for")
    func version() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        let record = try await self.record(server.url("/")) {
            $0.roots = .pem(Self.authority)
            $0.minimumVersion = .tls13
        }
        #expect(record.body == Array("secret".utf8))
        let old = try await ScriptedServer.start(tls: .localhost, withoutTLS13: true) { _ in .response(200) }
        let refused = try await self.record(old.url("/")) {
            $0.roots = .pem(Self.authority)
            $0.minimumVersion = .tls13
        }
        #expect(refused.error?.code == .tls)
        #expect(try await self.record(old.url("/")) { $0.roots = .pem(Self.authority) }.head?.status == 200)
    }

    // MARK: - Client certificates

    @Test("a server that asks is given the client's certificate, whose key may be encrypted", arguments: [false, true])
    func clientCertificate(encrypted: Bool) async throws {
        let server = try await ScriptedServer.start(
            tls: .localhost,
            clientAuthority: TestCertificate.client.authorityPEM
        ) { _ in .response(200, text: "secret") }
        let record = try await self.record(server.url("/")) {
            $0.roots = .pem(Self.authority)
            $0.clientCertificate = Self.client(encrypted: encrypted)
        }
        #expect(record.body == Array("secret".utf8), "\(record.error?.message ?? "")")
    }

    @Test("certificate and key may stand in one file")
    func oneFile() async throws {
        let server = try await ScriptedServer.start(
            tls: .localhost,
            clientAuthority: TestCertificate.client.authorityPEM
        ) { _ in .response(200, text: "secret") }
        let directory = try TemporaryDirectory()
        let both = TestCertificate.client.certificatePEM + "\n" + TestCertificate.client.keyPEM
        try directory.write(Array(both.utf8), to: "client.pem")
        let record = try await self.record(server.url("/")) {
            $0.roots = .pem(Self.authority)
            $0.clientCertificate = TLSOptions.ClientCertificate(chain: .file(directory.path("client.pem")))
        }
        #expect(record.body == Array("secret".utf8), "\(record.error?.message ?? "")")
    }

    @Test("without a certificate, or with one that the server does not trust, the error says so")
    func clientRefused() async throws {
        let server = try await ScriptedServer.start(
            tls: .localhost,
            clientAuthority: TestCertificate.client.authorityPEM
        ) { _ in .response(200) }
        let without = try await self.record(server.url("/")) { $0.roots = .pem(Self.authority) }
        #expect(without.error?.code == .certificate, "\(without.error?.message ?? "")")
        #expect(without.error?.message.contains("client certificate") == true)
        let untrusted = try await self.record(server.url("/")) {
            $0.roots = .pem(Self.authority)
            $0.clientCertificate = TLSOptions.ClientCertificate(
                chain: .bytes(Array(TestCertificate.localhost.certificatePEM.utf8)),
                key: .bytes(Array(TestCertificate.localhost.keyPEM.utf8))
            )
        }
        #expect(untrusted.error?.code == .certificate, "\(untrusted.error?.message ?? "")")
        #expect(server.requests.isEmpty)
    }

    @Test("a proxy that asks for a certificate is not given the one that is for servers")
    func notForProxies() async throws {
        let proxy = try await ScriptedServer.start(
            tls: .localhost,
            clientAuthority: TestCertificate.client.authorityPEM
        ) { _ in .response(200) }
        let settings = ProxySettings(try ProxyServer("https://127.0.0.1:\(proxy.port)"))
        let record = try await self.record(HTTPURL("http://one.invalid/"), proxy: settings) {
            $0.roots = .pem(Self.authority)
            $0.clientCertificate = Self.client()
        }
        #expect(record.error?.code == .certificate, "\(record.error?.message ?? "")")
    }

    @Test("unusable material is refused at the start, with the file and the remedy")
    func unusable() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("nothing".utf8), to: "empty.pem")
        try directory.write(Array(TestCertificate.client.certificatePEM.utf8), to: "client.pem")
        try directory.write(Array(TestCertificate.client.keyPEM.utf8), to: "client.key")
        try directory.write(Array(TestCertificate.elsewhere.keyPEM.utf8), to: "other.key")
        try directory.write(Array(TestCertificate.encryptedClientKeyPEM.utf8), to: "encrypted.key")
        func file(_ name: String) -> TLSOptions.PEM { .file(directory.path(name)) }
        let cases: [(TLSOptions.ClientCertificate, String, String)] = [
            (.init(chain: file("empty.pem")), "empty.pem", "certificate"),
            (.init(chain: file("missing.pem")), "missing.pem", "readable file"),
            (.init(chain: file("client.pem")), "client.pem", "private key"),
            (.init(chain: file("client.pem"), key: file("missing.key")), "missing.key", "private key"),
            (.init(chain: file("client.pem"), key: file("other.key")), "other.key", "does not match"),
            (.init(chain: file("client.pem"), key: file("encrypted.key")), "encrypted.key", "passphrase"),
            (
                .init(chain: file("client.pem"), key: file("encrypted.key"), passphrase: "no"),
                "encrypted.key", "with its passphrase"
            ),
            (
                .init(chain: file("client.pem"), key: file("encrypted.key"), passphrase: "ß"),
                "encrypted.key", "ASCII"
            ),
            (.init(chain: .bytes([])), "PEM text", "certificate"),
            (.init(chain: file("client.pem"), key: .bytes([])), "PEM text", "private key"),
        ]
        for (certificate, place, hint) in cases {
            var configuration = HTTPTransport.Configuration()
            configuration.tls.clientCertificate = certificate
            #expect("\(place): \(hint)") {
                _ = try HTTPTransport(configuration: configuration)
            } throws: { error in
                (error as? TransportError)?.code == .certificate && "\(error)".contains(place)
                    && "\(error)".contains(hint)
            }
        }
        for roots in [TLSOptions.Roots.pem([]), .pem([1, 2]), .systemAnd(.bytes([])), .systemAnd(file("missing.pem"))] {
            var configuration = HTTPTransport.Configuration()
            configuration.tls.roots = roots
            #expect(throws: TransportError.self) { _ = try HTTPTransport(configuration: configuration) }
        }
    }

    // MARK: - Pins

    @Test("a pinned key must be the server's, with and without verification (RFC 7469)")
    func pins() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        let right = TestCertificate.localhostPin
        let wrong = String(repeating: "A", count: 43) + "="
        let cases: [(pins: [TLSOptions.Pin], isTaken: Bool)] = [
            ([try TLSOptions.Pin(right)], true),
            ([try TLSOptions.Pin(wrong)], false),
            (try TLSOptions.Pin.list("sha256//\(wrong);sha256//\(right)"), true),
            ([try TLSOptions.Pin("pin-sha256=\"\(right)\"", host: "localhost")], true),
            ([try TLSOptions.Pin(wrong, host: "LOCALHOST")], false),
            ([try TLSOptions.Pin(wrong, host: "other.example")], true),
            ([try TLSOptions.Pin(wrong, host: "*.localhost")], true),
            ([try TLSOptions.Pin(wrong), try TLSOptions.Pin(right, host: "localhost")], true),
        ]
        let url = try HTTPURL("https://localhost:\(server.port)/")
        for verification in [TLSOptions.Verification.full, .noHostname, .none] {
            for (pins, isTaken) in cases {
                let record = try await self.record(url) {
                    $0.roots = .pem(Self.authority)
                    $0.verification = verification
                    $0.pins = pins
                }
                #expect(record.error?.code == (isTaken ? nil : .certificate), "\(pins)")
                if !isTaken { #expect(record.error?.message.contains("pinned") == true && record.connectedCount == 0) }
            }
        }
        // A pin does not stand in for the authority.
        let untrusted = try await self.record(url) { $0.pins = [try TLSOptions.Pin(right)] }
        #expect(untrusted.error?.message.contains("is not trusted") == true)
    }

    @Test("a certificate of martlet serve is accepted as the only authority, and by its pin alone")
    func selfSigned() async throws {
        let made = try SelfSignedCertificate.make(for: ListenAddress(), names: ["box.example"])
        let other = try SelfSignedCertificate.make(for: ListenAddress())
        let directory = try TemporaryDirectory()
        try directory.write([1, 2, 3], to: "f")
        var configuration = ReceiverConfiguration(directory: directory.path)
        configuration.listen.port = 0
        configuration.certificate = made.certificate
        let receiver = try await Receiver.start(configuration)
        let pin = try TLSOptions.Pin(made.fingerprint.pin)
        for host in ["127.0.0.1", "localhost"] {
            let url = try HTTPURL("https://\(host):\(receiver.address.port)/f")
            let trusted = try await self.record(url) { $0.roots = .pem(Array(made.certificate.chain.utf8)) }
            #expect(trusted.error == nil && trusted.body.count == 3, "\(trusted.error?.message ?? "")")
            let stranger = try await self.record(url) { $0.roots = .pem(Array(other.certificate.chain.utf8)) }
            #expect(stranger.error?.code == .certificateUnknownAuthority)
            let pinned = try await self.record(url) {
                $0.verification = .pinned
                $0.pins = [pin]
            }
            #expect(pinned.error == nil && pinned.body.count == 3, "\(pinned.error?.message ?? "")")
            let wrong = try await self.record(url) {
                $0.verification = .pinned
                $0.pins = [try TLSOptions.Pin(other.fingerprint.pin)]
            }
            #expect(wrong.error?.message.contains("pinned") == true)
            // Without a pin for the host, the certificate is verified.
            let elsewhere = try await self.record(url) {
                $0.verification = .pinned
                $0.pins = [try TLSOptions.Pin(made.fingerprint.pin, host: "other.example")]
            }
            #expect(elsewhere.error?.code == .certificateUnknownAuthority)
        }
        await receiver.stop()
    }

    @Test("a pin of the origin does not spare a proxy that speaks TLS its verification")
    func pinnedBehindProxy() async throws {
        let server = try await ScriptedServer.start(tls: .elsewhere) { _ in .response(200, text: "secret") }
        let proxy = try await TunnelServer.start(tls: .localhost)
        let settings = ProxySettings(try ProxyServer("https://localhost:\(proxy.port)"))
        for isTrusted in [true, false] {
            let record = try await self.record(server.url("/"), proxy: settings) {
                if isTrusted { $0.roots = .pem(Self.authority) }
                $0.verification = .pinned
                $0.pins = [try TLSOptions.Pin("o9BIcGKoODxwnrUsujSWItxnJx13i/rpLrm9EBLq3Z4=")]
            }
            #expect((record.error == nil) == isTrusted, "\(record.error?.message ?? "")")
        }
        #expect(server.requests.count == 1)
    }

    @Test("a pin is compared with the origin's key behind a proxy that speaks TLS as well")
    func pinsBehindProxy() async throws {
        let server = try await ScriptedServer.start(tls: .elsewhere) { _ in .response(200, text: "secret") }
        let proxy = try await TunnelServer.start(tls: .localhost)
        let settings = ProxySettings(try ProxyServer("https://127.0.0.1:\(proxy.port)"))
        for (pin, isTaken) in [
            ("o9BIcGKoODxwnrUsujSWItxnJx13i/rpLrm9EBLq3Z4=", true), (TestCertificate.localhostPin, false),
        ] {
            let record = try await self.record(server.url("/"), proxy: settings) {
                $0.verification = .none
                $0.pins = [try TLSOptions.Pin(pin)]
            }
            #expect((record.error == nil) == isTaken, "\(record.error?.message ?? "")")
        }
        #expect(server.requests.count == 1)
    }

    @Test("what is no pin is refused", arguments: ["", "sha256//", "sha1//AAAA", "AAAA", "pin-sha256=AAAA"])
    func noPin(text: String) {
        #expect(throws: SyntaxError.self) { _ = try TLSOptions.Pin(text) }
    }
}
