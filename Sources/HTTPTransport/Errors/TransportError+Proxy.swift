// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// The error for status 407 of a proxy, to a request or to CONNECT.
    static func proxyAuthentication(_ proxy: ProxyServer) -> TransportError {
        let place = Peer(proxy).place
        return TransportError(
            .proxyAuthentication,
            proxy.authorization == nil
                ? "\(place) requires a user name and a password: set them in its URL, as http://name:password@host:port"
                : "\(place) refuses the user name and the password (407): correct them in its URL"
        )
    }

    /// The error for a proxy's refusal of a tunnel.
    static func tunnelRefused(to origin: Origin, by proxy: ProxyServer, status: Int) -> TransportError {
        if status == 407 { return .proxyAuthentication(proxy) }
        return TransportError(
            .proxyRefused,
            "\(Peer(proxy).place) did not connect to \(Peer(origin).place): \(status) \(ReasonPhrase.of(status))"
        )
    }

    /// The error for bytes in a tunnel before this side has sent any.
    static func tunnelSpokeFirst(_ proxy: ProxyServer) -> TransportError {
        TransportError(.malformed, "\(Peer(proxy).place): bytes after the response to CONNECT, before TLS")
    }
}
