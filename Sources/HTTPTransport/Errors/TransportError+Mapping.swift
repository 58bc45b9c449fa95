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
    static func connecting(to origin: Origin, _ error: any Error) -> TransportError {
        if let error = error as? NIOConnectionError {
            // A host may have several addresses; a lack of our own resources says more than a refusal.
            let failures = error.connectionErrors.map { Self.connecting(to: origin, $0.error) }
            if let failure = failures.first(where: { $0.code == .localResource }) ?? failures.first { return failure }
            return TransportError(
                .nameResolution,
                "cannot resolve the name \(origin.host): check its spelling and the network"
            )
        }
        if case .connectTimeout? = error as? ChannelError { return .connectTimeout(origin, during: "connecting") }
        if let error = error as? IOError { return Self.connecting(to: origin, errno: error.errnoCode) }
        return Self.handshaking(with: origin, error)
    }

    private static func connecting(to origin: Origin, errno code: CInt) -> TransportError {
        switch code {
        case EMFILE, ENFILE:
            TransportError(
                .localResource,
                "no descriptor is left for a connection to \(origin.place): raise the limit (ulimit -n) or lower -j"
            )
        case ENOBUFS, ENOMEM, EADDRNOTAVAIL:
            TransportError(.localResource, "cannot connect to \(origin.place): \(Self.text(code))")
        case ETIMEDOUT:
            .connectTimeout(origin, during: "connecting")
        default:
            TransportError(.connect, "cannot connect to \(origin.place): \(Self.text(code))")
        }
    }

    /// Says that time ran out before the request could be sent.
    static func connectTimeout(_ origin: Origin, during step: String) -> TransportError {
        TransportError(
            .connectTimeout,
            "\(step) to \(origin.place) took too long: check the network or give --connect-timeout more seconds"
        )
    }

    /// What a failure of the TLS handshake means.
    static func handshaking(with origin: Origin, _ error: any Error) -> TransportError {
        let text = String(describing: error)
        let isVerification = text.contains("CERTIFICATE_VERIFY_FAILED")
        let isHostname = (error as? NIOSSLExtraError) == .failedToValidateHostname
        if isVerification || isHostname {
            let reason = isHostname ? "does not name this host" : "is not trusted"
            return TransportError(
                .certificate,
                "the certificate of \(origin.place) \(reason): give --cacert FILE with its authority, or --insecure"
            )
        }
        if let error = error as? IOError {
            return TransportError(.connect, "connecting to \(origin.place) failed: \(Self.text(error.errnoCode))")
        }
        if text.contains("eofDuringHandshake") || text.contains("EOF during handshake") {
            return TransportError(.tls, "\(origin.place) closed the connection during the TLS handshake")
        }
        return TransportError(.tls, "the TLS handshake with \(origin.place) failed: \(text)")
    }

    /// What an error on an established connection means.
    static func connection(to origin: Origin, broke error: any Error) -> TransportError {
        if let error = error as? IOError {
            return TransportError(
                .reset,
                "the connection to \(origin.place) broke: \(Self.text(error.errnoCode))"
            )
        }
        return TransportError(.reset, "the connection to \(origin.place) broke: \(error)")
    }

    /// What an error of the parser means.
    static func response(of origin: Origin, breaks rule: HTTP1Error) -> TransportError {
        let code: Code =
            switch rule {
            case .headTooLarge, .tooManyInterimResponses, .trailersTooLarge: .headTooLarge
            default: .malformed
            }
        return TransportError(code, "\(origin.place): \(rule)")
    }

    /// Says that the connection ended too early.
    static func truncated(_ origin: Origin, begun: Bool) -> TransportError {
        TransportError(
            .truncated,
            begun
                ? "\(origin.place) closed the connection before the response was complete"
                : "\(origin.place) closed the connection without a response"
        )
    }

    /// Says that this side ended the exchange.
    static func cancelled(_ origin: Origin) -> TransportError {
        TransportError(.cancelled, "the request to \(origin.place) was cancelled")
    }

    private static func text(_ code: CInt) -> String {
        strerror(code).map { String(cString: $0).lowercased() } ?? "error \(code)"
    }
}

extension Origin {
    /// The host and the port for a message, an IPv6 address in brackets.
    var place: String { self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)" }
}
