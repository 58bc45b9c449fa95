// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import NIOCore
internal import NIOPosix
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// Converts a failure to connect.
    static func connecting(to peer: Peer, _ error: any Error) -> TransportError {
        Self.mapped(to: peer, error).about(peer)
    }

    private func about(_ peer: Peer) -> TransportError {
        var error = self
        error.peer = peer.origin
        return error
    }

    private static func mapped(to peer: Peer, _ error: any Error) -> TransportError {
        if let error = error as? TransportError { return error }
        if let reason = error as? UnusableAddress { return .unusable(reason, for: peer) }
        if let error = error as? NIOConnectionError {
            if let reason = error.dnsAError as? UnusableAddress { return .unusable(reason, for: peer) }
            // A host may have several addresses; a shortage of local resources explains more than a refusal.
            let failures = error.connectionErrors.map { Self.connecting(to: peer, $0.error) }
            if let failure = failures.first(where: { $0.code == .localResource }) ?? failures.first { return failure }
            // Without an address, the name resolution is the cause.
            return .unresolved(peer, [error.dnsAError, error.dnsAAAAError].compactMap { $0 })
        }
        if let failure = error as? NameFailure { return .unresolved(peer, [failure]) }
        if case .connectTimeout? = error as? ChannelError { return .connectTimeout(peer, during: "connecting") }
        if let error = error as? IOError { return Self.connecting(to: peer, errno: error.errnoCode) }
        return Self.handshaking(with: peer, error)
    }

    private static func connecting(to peer: Peer, errno number: CInt) -> TransportError {
        switch number {
        case EMFILE, ENFILE:
            return TransportError(
                .localResource,
                "no file descriptor is available for a connection to \(peer.place): raise the limit (ulimit -n)",
                setting: .concurrency
            )
        case ENOBUFS, ENOMEM, EADDRNOTAVAIL:
            return TransportError(.localResource, "cannot connect to \(peer.place): \(Self.text(number))")
        case ETIMEDOUT:
            return .connectTimeout(peer, during: "connecting")
        default:
            let code = Self.code(ofErrno: number) ?? .connect
            return TransportError(
                code,
                "cannot connect to \(peer.place): \(Self.text(number))",
                remedy: Self.remedy(for: code)
            )
        }
    }

    /// The error of a failed name resolution: permanent, or because no name server responded.
    private static func unresolved(_ peer: Peer, _ errors: [any Error]) -> TransportError {
        let kinds = errors.compactMap { ($0 as? NameFailure)?.kind }
        if kinds.contains(.localResource) {
            return TransportError(
                .localResource,
                "no file descriptor, memory or thread is available to resolve \(peer.nameOfHost): raise the limit (ulimit -n)",
                setting: .concurrency
            )
        }
        if !kinds.isEmpty, kinds.allSatisfy({ $0 == .unknownName }) {
            return TransportError(.unknownName, "cannot resolve \(peer.nameOfHost): check its spelling")
        }
        return TransportError(
            .nameResolution,
            "cannot resolve \(peer.nameOfHost) now: check the network and its name servers"
        )
    }

    /// The error of a host to whose addresses no connection is made.
    static func unusable(_ reason: UnusableAddress, for peer: Peer) -> TransportError {
        switch reason {
        case .noneOf(let family):
            let option = family == .ipv4 ? "--ipv4" : "--ipv6"
            return TransportError(
                .unknownName,
                "\(peer.place) has no \(family.rawValue) address, and \(option) permits no other"
            )
        case .denied(let address, let kind):
            let what = address == peer.origin.host ? "" : "\(address), "
            return TransportError(
                .addressDenied,
                "no request is sent to \(peer.place): it is at \(what)\(kind.rawValue)",
                setting: .addresses
            )
            .about(peer)
        }
    }

    /// The error of a timeout before the request could be sent.
    static func connectTimeout(_ peer: Peer, during step: String) -> TransportError {
        TransportError(
            .connectTimeout,
            "\(step) to \(peer.place) timed out",
            remedy: "check the network",
            setting: .connectTimeout
        )
        .about(peer)
    }

    /// Converts an error on an established connection.
    static func connection(to peer: Peer, broke error: any Error) -> TransportError {
        // In TLS 1.3, the server verifies the client's certificate after the client's handshake is complete.
        let reasons = BoringSSLReason.all(in: error)
        if reasons.contains(where: \.requiresClientCertificate) {
            return TransportError(
                .certificate,
                "\(peer.place) requires a client certificate",
                setting: .clientCertificate
            )
        }
        if reasons.contains(where: \.refusesClientCertificate) {
            return TransportError(
                .certificate,
                "\(peer.place) does not accept the client certificate",
                remedy: "use one that it trusts and that has not expired"
            )
        }
        guard let error = error as? IOError else {
            let cause = reasons.lazy.compactMap(\.explanation).first ?? String(describing: error)
            return TransportError(.broken, "the connection to \(peer.place) broke: \(cause)")
        }
        let code = Self.code(ofErrno: error.errnoCode) ?? .broken
        return TransportError(
            code,
            "the connection to \(peer.place) broke: \(Self.text(error.errnoCode))",
            remedy: Self.remedy(for: code)
        )
    }

    /// Converts an error of the parser.
    static func response(of peer: Peer, breaks rule: HTTP1Error) -> TransportError {
        let code: Code =
            switch rule {
            case .headTooLarge, .tooManyInterimResponses, .trailersTooLarge: .headTooLarge
            case .onlyHTTP2: .onlyHTTP2
            default: .malformed
            }
        let remedy = code == .onlyHTTP2 ? "use another address of the file, or a proxy that speaks HTTP/1.1" : ""
        return TransportError(code, "\(peer.place): \(rule)", remedy: remedy)
    }

    /// The error of a connection that was closed too early.
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

    /// The error of an exchange that was cancelled by this side.
    static func cancelled(_ peer: Peer) -> TransportError {
        TransportError(.cancelled, "the request to \(peer.place) was cancelled")
    }
}
