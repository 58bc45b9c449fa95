// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

extension TransportError {
    /// The error for status 407 of a proxy, to a request or to CONNECT.
    static func proxyAuthentication(_ proxy: ProxyServer, _ fields: HeaderFields) -> TransportError {
        let place = Peer(proxy).place
        let refusal = AuthenticationRefusal(
            fields.values("Proxy-Authenticate"),
            hasCredentials: proxy.authorization != nil
        )
        // A user name and a password are sent by Basic only.
        let others = refusal.schemes.filter { $0.lowercased() != "basic" }
        if !refusal.schemes.isEmpty, others.count == refusal.schemes.count {
            return TransportError(
                .proxyAuthentication,
                "\(place) requires credentials by \(others.joined(separator: " or ")), which is not supported (407): "
                    + "use a proxy that accepts Basic"
            )
        }
        return TransportError(
            .proxyAuthentication,
            proxy.authorization == nil
                ? "\(place) requires a user name and a password: set them in its URL, as http://name:password@host:port"
                : "\(place) refuses the user name and the password (407): correct them in its URL"
        )
    }

    /// The error for a proxy's refusal of a tunnel.
    static func tunnelRefused(to origin: Origin, by proxy: ProxyServer, _ head: ResponseHead) -> TransportError {
        if head.status == 407 { return .proxyAuthentication(proxy, head.fields) }
        let (place, status) = (Peer(proxy).place, "\(head.status) \(ReasonPhrase.of(head.status))")
        return TransportError(
            .proxyRefused,
            "\(place) did not connect to \(Peer(origin).place): \(status)"
        )
    }

    /// The error for bytes in a tunnel before this side has sent any.
    static func tunnelSpokeFirst(_ proxy: ProxyServer) -> TransportError {
        TransportError(.malformed, "\(Peer(proxy).place): bytes after the response to CONNECT, before TLS")
    }
}
