// SPDX-License-Identifier: Apache-2.0
@testable import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("TLS failures", .timeLimit(.minutes(1)))
struct TLSFailureTests {
    private struct Fault: Sendable, CustomTestStringConvertible {
        var certificate: TestCertificate
        var isAuthorityTrusted: Bool
        var code: TransportError.Code
        var text: String

        var testDescription: String { "\(self.code)" }
    }

    private static let faults = [
        Fault(
            certificate: .expired,
            isAuthorityTrusted: true,
            code: .certificateExpired,
            text: "expired on Fri, 01 Jan 2021 00:00:00 GMT"
        ),
        Fault(
            certificate: .notYetValid,
            isAuthorityTrusted: true,
            code: .certificateExpired,
            text: "is not valid before Fri, 01 Jan 2055 00:00:00 GMT"
        ),
        Fault(
            certificate: .elsewhere,
            isAuthorityTrusted: true,
            code: .certificateWrongHost,
            text: "does not name this host, but elsewhere.test"
        ),
        Fault(
            certificate: .localhost,
            isAuthorityTrusted: false,
            code: .certificateUnknownAuthority,
            text: "is not trusted"
        ),
        Fault(certificate: .client, isAuthorityTrusted: true, code: .certificate, text: "is not for servers"),
    ]

    @Test(
        "a wildcard counts only as the first label before two others",
        arguments: [
            (TestCertificate.everyName, "does not name this host, but *; a '*' counts only as in '*.example.com'"),
            (
                .partialWildcard,
                "does not name this host, but *.test, l*calhost; a '*' counts only as in '*.example.com'"
            ),
            (.everyCommonName, "does not name this host: it has no subjectAltName"),
        ]
    )
    func wildcards(_ certificate: TestCertificate, text: String) async throws {
        let server = try await ScriptedServer.start(tls: certificate) { _ in .response(200) }
        let honest = try await TunnelServer.start(tls: nil)
        let bad = try await TunnelServer.start(tls: certificate)
        let direct = try HTTPURL("https://localhost:\(server.port)/")
        let plain = try HTTPURL("http://localhost:\(server.port)/")
        for (url, proxy, place) in [
            (direct, nil, server.port), (direct, "http://127.0.0.1:\(honest.port)", server.port),
            (direct, "https://localhost:\(bad.port)", bad.port), (plain, "https://localhost:\(bad.port)", bad.port),
        ] {
            let settings = try proxy.map { ProxySettings(try ProxyServer($0)) }
            try await HTTPTransport.with {
                $0.tls.roots = Self.roots(certificate)
                if let settings { $0.proxy = settings }
            } _: { (transport) async throws in
                let error = await transport.get(url).error
                #expect(error?.code == .certificateWrongHost, "\(error?.message ?? "no error")")
                #expect(error?.message.contains("localhost:\(place) \(text)") == true, "\(error?.message ?? "")")
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test("a common name counts if there is no subjectAltName")
    func commonName() async throws {
        let server = try await ScriptedServer.start(tls: .commonName) { _ in .response(200) }
        try await HTTPTransport.with {
            $0.tls.roots = Self.roots(.commonName)
        } _: { (transport) async throws in
            #expect(await transport.get(try HTTPURL("https://localhost:\(server.port)/")).error == nil)
        }
    }

    private static func roots(_ certificate: TestCertificate) -> TLSOptions.Roots {
        .pem(Array(certificate.authorityPEM.utf8))
    }

    @Test(
        "an expired certificate, one of another host and one of an unknown authority have codes of their own",
        arguments: Self.faults,
        [true, false]
    )
    private func certificates(_ fault: Fault, withTLS13: Bool) async throws {
        let server = try await ScriptedServer.start(tls: fault.certificate, withoutTLS13: !withTLS13) { _ in
            .response(200)
        }
        for host in ["127.0.0.1", "localhost"] {
            try await HTTPTransport.with {
                if fault.isAuthorityTrusted { $0.tls.roots = Self.roots(fault.certificate) }
            } _: { (transport) async throws in
                let error = await transport.get(try HTTPURL("https://\(host):\(server.port)/")).error
                #expect(error?.code == fault.code, "\(error?.message ?? "no error")")
                #expect(error?.message.contains("\(host):\(server.port) \(fault.text)") == true)
                #expect(error?.setting == .trust)
                #expect(error.map { TransferFailure($0).isRetryable } == false)
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test("a certificate is judged inside a tunnel as well, and the proxy's own before", arguments: Self.faults)
    private func tunnelled(_ fault: Fault) async throws {
        let server = try await ScriptedServer.start(tls: fault.certificate) { _ in .response(200) }
        let honest = try await TunnelServer.start(tls: nil)
        let bad = try await TunnelServer.start(tls: fault.certificate)
        for (proxy, scheme) in [(honest, "http"), (bad, "https")] {
            let settings = ProxySettings(try ProxyServer("\(scheme)://127.0.0.1:\(proxy.port)"))
            try await HTTPTransport.with {
                if fault.isAuthorityTrusted { $0.tls.roots = Self.roots(fault.certificate) }
                $0.proxy = settings
            } _: { (transport) async throws in
                let error = await transport.get(try server.url("/")).error
                #expect(error?.code == fault.code, "\(error?.message ?? "no error")")
                #expect(error?.message.contains("the proxy") == (scheme == "https"))
            }
        }
        #expect(server.requests.isEmpty && bad.requests.isEmpty)
    }

    @Test("an expired certificate is taken without verification, and one of another host without that of names")
    func unverified() async throws {
        for (certificate, verification) in [
            (TestCertificate.expired, TLSOptions.Verification.none), (.elsewhere, .noHostname),
        ] {
            let server = try await ScriptedServer.start(tls: certificate) { _ in .response(200) }
            try await HTTPTransport.with {
                $0.tls.roots = Self.roots(certificate)
                $0.tls.verification = verification
            } _: { (transport) async throws in
                #expect(await transport.get(try server.url("/")).head?.status == 200)
            }
        }
    }

    @Test("a server without a common version of TLS fails the handshake, with a text for people")
    func version() async throws {
        let server = try await ScriptedServer.start(tls: .localhost, withoutTLS13: true) { _ in .response(200) }
        try await HTTPTransport.with {
            $0.tls.roots = Self.roots(.localhost)
            $0.tls.minimumVersion = .tls13
        } _: { (transport) async throws in
            let error = await transport.get(try server.url("/")).error
            #expect(error?.code == .tls)
            #expect(
                error?.message
                    == "the TLS handshake with 127.0.0.1:\(server.port) failed: "
                    + "the server does not speak the required version of TLS (alert 70)"
            )
            #expect(error.map { TransferFailure($0).code } == .tlsHandshake)
        }
    }

    @Test("a server that accepts no HTTP/1.1 over TLS says so by an alert")
    func applicationProtocol() {
        // SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL
        let reason = BoringSSLReason(number: 1120)
        #expect(reason.alert == 120 && reason.explanation?.contains("only HTTP/2") == true)
    }

    @Test("a server that sends frames of HTTP/2 is named as such, and not tried again")
    func onlyHTTP2() async throws {
        // SETTINGS, then GOAWAY with PROTOCOL_ERROR, as nghttpd and nginx send them.
        let settings = "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0\u{64}"
        let goAway = "\0\0\u{8}\u{7}\0\0\0\0\0\0\0\0\0\0\0\0\u{1}"
        let listener = try RawListener(.reply(settings + goAway))
        try await HTTPTransport.with { (transport) async throws in
            let error = await transport.get(try HTTPURL("http://127.0.0.1:\(listener.port)/")).error
            #expect(error?.code == .onlyHTTP2)
            #expect(error?.message.contains("speaks only HTTP/2") == true)
            #expect(error.map { TransferFailure($0).isRetryable } == false)
        }
    }

    @Test("a server that speaks plain HTTP fails the handshake, and the remedy names http://")
    func plain() async throws {
        let listener = try RawListener(.reply("HTTP/1.1 400 Bad Request\r\n\r\n"))
        try await HTTPTransport.with { (transport) async throws in
            let error = await transport.get(try HTTPURL("https://127.0.0.1:\(listener.port)/")).error
            #expect(error?.code == .tls)
            #expect(error?.message.hasSuffix("failed: the server does not speak TLS on this port") == true)
            #expect(error?.remedy.contains("http://") == true)
            #expect(error.map { TransferFailure($0).isRetryable } == true)
        }
    }

    @Test("a connection that is closed in the handshake is a failure of it, and one that is reset is a reset")
    func ended() async throws {
        for (act, code) in [(RawListener.Act.close, TransportError.Code.tls), (.reset, .reset)] {
            let listener = try RawListener(act)
            try await HTTPTransport.with { (transport) async throws in
                let error = await transport.get(try HTTPURL("https://127.0.0.1:\(listener.port)/")).error
                #expect(error?.code == code, "\(error?.message ?? "no error")")
                #expect(error.map { TransferFailure($0).isRetryable } == true)
            }
        }
    }
}
