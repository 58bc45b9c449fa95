// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import NIOCore
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// Converts a failed TLS handshake.
    ///
    /// - Parameters:
    ///   - peer: The other end.
    ///   - error: NIOSSL's error, or the socket's.
    ///   - certificate: The certificate that the peer presented, if any.
    ///   - now: Seconds since 1970, for the certificate's validity period.
    /// - Returns: The error, with a code for the certificate if that is the cause, and otherwise for the handshake.
    static func handshaking(
        with peer: Peer,
        _ error: any Error,
        certificate: NIOSSLCertificate? = nil,
        now: time_t = time(nil)
    ) -> TransportError {
        if (error as? NIOSSLExtraError) == .failedToValidateHostname { return .wrongHost(peer, certificate) }
        let reasons = BoringSSLReason.all(in: error)
        if reasons.contains(.certificateVerifyFailed) { return .unverified(peer, certificate, now: now) }
        if reasons.contains(where: \.refusesClientCertificate) {
            return TransportError(
                .certificate,
                "\(peer.place) does not accept the client certificate, or requires one",
                setting: .clientCertificate
            )
        }
        if let error = error as? IOError {
            let code = Self.code(ofErrno: error.errnoCode) ?? .connect
            return TransportError(
                code,
                "connecting to \(peer.place) failed: \(Self.text(error.errnoCode))",
                remedy: Self.remedy(for: code)
            )
        }
        if case .handshakeFailed(.sslError([.eofDuringHandshake]))? = error as? NIOSSLError {
            return TransportError(.tls, "\(peer.place) closed the connection during the TLS handshake")
        }
        let isPlain = reasons.contains(.wrongVersionNumber)
        let cause = reasons.lazy.compactMap(\.explanation).first ?? String(describing: error)
        return TransportError(
            .tls,
            "the TLS handshake with \(peer.place) failed: \(cause)",
            remedy: isPlain ? "use http://, or the port for https" : ""
        )
    }

    /// The error of a certificate that is valid for other hosts.
    private static func wrongHost(_ peer: Peer, _ certificate: NIOSSLCertificate?) -> TransportError {
        let names = certificate.map { Self.names(in: $0) } ?? []
        var suffix = names.isEmpty ? "" : ", but \(names.joined(separator: ", "))"
        if names.contains(where: CertificateName.isMisplacedWildcard) {
            suffix += "; a '*' counts only as in '*.example.com'"
        } else if certificate?._subjectAlternativeNames().isEmpty == true {
            suffix += ": it has no subjectAltName"
        }
        return TransportError(
            .certificateWrongHost,
            "the certificate of \(peer.place) does not name this host\(suffix)",
            remedy: "check the URL's host",
            setting: .trust
        )
    }

    /// The error of a failed verification by BoringSSL.
    ///
    /// NIOSSL does not report the reason. The validity period and the purpose of the server's certificate are checked
    /// here; the remaining cause is nearly always the authority.
    private static func unverified(_ peer: Peer, _ certificate: NIOSSLCertificate?, now: time_t) -> TransportError {
        if let certificate, certificate.notValidAfter < now {
            return TransportError(
                .certificateExpired,
                "the certificate of \(peer.place) expired on \(Self.date(certificate.notValidAfter))",
                remedy: "check this machine's clock, or have the certificate renewed",
                setting: .trust
            )
        }
        if let certificate, certificate.notValidBefore > now {
            return TransportError(
                .certificateExpired,
                "the certificate of \(peer.place) is not valid before \(Self.date(certificate.notValidBefore))",
                remedy: "check this machine's clock",
                setting: .trust
            )
        }
        if let certificate, !certificate.isForServers {
            return TransportError(.certificate, "the certificate of \(peer.place) is not for servers", setting: .trust)
        }
        return TransportError(
            .certificateUnknownAuthority,
            "the certificate of \(peer.place) is not trusted",
            setting: .trust
        )
    }

    /// The error of a certificate whose public key is not pinned.
    static func unpinned(_ peer: Peer) -> TransportError {
        TransportError(
            .certificate,
            "no pinned key matches the certificate of \(peer.place): the server has changed its key, or is another"
        )
    }

    private static func date(_ seconds: time_t) -> String { HTTPDate.format(Int64(seconds)) }

    /// The first host names in a certificate, at most three.
    private static func names(in certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames()
            .lazy
            .filter { $0.nameType == .dnsName }
            .compactMap { String(validating: $0.contents, as: UTF8.self) }
            .filter { !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
            .prefix(3)
            .map(\.self)
    }
}

extension NIOSSLCertificate {
    /// Whether it may identify a server; true if it does not restrict its purposes.
    ///
    /// - Source: RFC 5280 §4.2.1.12 (extended key usage).
    var isForServers: Bool {
        guard let usage = NIOSSLObjectIdentifier("2.5.29.37"),
            let purposes = self._extensions.first(where: { $0.objectIdentifier == usage })
        else { return true }
        // id-kp-serverAuth, 1.3.6.1.5.5.7.3.1, as DER.
        return Array(purposes.data).contains([0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01])
    }
}
