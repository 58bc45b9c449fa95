#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// What a failure to connect means.
    static func connecting(to peer: Peer, _ error: any Error) -> TransportError {
        if let error = error as? NIOConnectionError {
            // A host may have several addresses; a lack of our own resources says more than a refusal.
            let failures = error.connectionErrors.map { Self.connecting(to: peer, $0.error) }
            if let failure = failures.first(where: { $0.code == .localResource }) ?? failures.first { return failure }
            return TransportError(
                .nameResolution,
                "cannot resolve \(peer.nameOfHost): check its spelling and the network"
            )
        }
        if case .connectTimeout? = error as? ChannelError { return .connectTimeout(peer, during: "connecting") }
        if let error = error as? IOError { return Self.connecting(to: peer, errno: error.errnoCode) }
        return Self.handshaking(with: peer, error)
    }

    private static func connecting(to peer: Peer, errno code: CInt) -> TransportError {
        switch code {
        case EMFILE, ENFILE:
            TransportError(
                .localResource,
                "no descriptor is left for a connection to \(peer.place): raise the limit (ulimit -n) or lower -j"
            )
        case ENOBUFS, ENOMEM, EADDRNOTAVAIL:
            TransportError(.localResource, "cannot connect to \(peer.place): \(Self.text(code))")
        case ETIMEDOUT:
            .connectTimeout(peer, during: "connecting")
        default:
            TransportError(.connect, "cannot connect to \(peer.place): \(Self.text(code))")
        }
    }

    /// Says that time ran out before the request could be sent.
    static func connectTimeout(_ peer: Peer, during step: String) -> TransportError {
        TransportError(
            .connectTimeout,
            "\(step) to \(peer.place) took too long",
            remedy: "check the network",
            setting: .connectTimeout
        )
    }

    /// What a failure of the TLS handshake means.
    static func handshaking(with peer: Peer, _ error: any Error) -> TransportError {
        let text = String(describing: error)
        let isVerification = text.contains("CERTIFICATE_VERIFY_FAILED")
        let isHostname = (error as? NIOSSLExtraError) == .failedToValidateHostname
        if isVerification || isHostname {
            let reason = isHostname ? "does not name this host" : "is not trusted"
            return TransportError(
                .certificate,
                "the certificate of \(peer.place) \(reason)",
                setting: .trust
            )
        }
        if Self.isRefusalOfOurs(text) {
            return TransportError(
                .certificate,
                "\(peer.place) does not trust the client certificate, or wants one: give one it trusts"
            )
        }
        if let error = error as? IOError {
            return TransportError(.connect, "connecting to \(peer.place) failed: \(Self.text(error.errnoCode))")
        }
        if text.contains("eofDuringHandshake") || text.contains("EOF during handshake") {
            return TransportError(.tls, "\(peer.place) closed the connection during the TLS handshake")
        }
        return TransportError(.tls, "the TLS handshake with \(peer.place) failed: \(text)")
    }

    /// Says that no pinned key is the one of the server's certificate.
    static func unpinned(_ peer: Peer) -> TransportError {
        TransportError(
            .certificate,
            "no pinned key is that of the certificate of \(peer.place): the server has another key, or is another"
        )
    }

    /// What an error on an established connection means.
    static func connection(to peer: Peer, broke error: any Error) -> TransportError {
        let text = error is IOError ? "" : String(describing: error)
        // In TLS 1.3 the server's verdict on the client's certificate comes behind the handshake.
        if text.contains("CERTIFICATE_REQUIRED") {
            return TransportError(.certificate, "\(peer.place) asks for a client certificate: give one it trusts")
        }
        if Self.isRefusalOfOurs(text) {
            return TransportError(.certificate, "\(peer.place) does not trust the client certificate: give another")
        }
        if let error = error as? IOError {
            return TransportError(
                .reset,
                "the connection to \(peer.place) broke: \(Self.text(error.errnoCode))"
            )
        }
        return TransportError(.reset, "the connection to \(peer.place) broke: \(text)")
    }

    /// Whether an error is an alert with which a server refuses the client's certificate (RFC 8446 §6.2).
    private static func isRefusalOfOurs(_ text: String) -> Bool {
        ["BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED", "UNKNOWN_CA"]
            .contains { text.contains("ALERT_" + $0) }
    }

    /// What an error of the parser means.
    static func response(of peer: Peer, breaks rule: HTTP1Error) -> TransportError {
        let code: Code =
            switch rule {
            case .headTooLarge, .tooManyInterimResponses, .trailersTooLarge: .headTooLarge
            default: .malformed
            }
        return TransportError(code, "\(peer.place): \(rule)")
    }

    /// Says that the connection ended too early.
    static func truncated(_ peer: Peer, begun: Bool) -> TransportError {
        TransportError(
            .truncated,
            begun
                ? "\(peer.place) closed the connection before the response was complete"
                : "\(peer.place) closed the connection without a response"
        )
    }

    /// The error of a TLS connection that ended without close_notify in a body without a length.
    static func cut(_ peer: Peer) -> TransportError {
        TransportError(
            .truncated,
            "the connection to \(peer.place) ended without close_notify: the response, which has no length, may be truncated"
        )
    }

    /// Says that this side ended the exchange.
    static func cancelled(_ peer: Peer) -> TransportError {
        TransportError(.cancelled, "the request to \(peer.place) was cancelled")
    }

    private static func text(_ code: CInt) -> String {
        strerror(code).map { String(cString: $0).lowercased() } ?? "error \(code)"
    }
}
