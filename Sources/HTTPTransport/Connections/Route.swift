// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The route to an origin; connections are pooled by route.
enum Route: Hashable, Sendable {
    /// Directly to the origin.
    case direct(Origin)
    /// Through a proxy that forwards requests: one connection serves all `http` origins.
    indirect case forwarded(ProxyServer)
    /// Through a tunnel that a proxy opens to the origin, with TLS inside.
    indirect case tunnelled(Origin, ProxyServer)

    /// The peer of the TCP connection.
    var firstHop: Peer {
        switch self {
        case .direct(let origin): Peer(origin)
        case .forwarded(let proxy), .tunnelled(_, let proxy): Peer(proxy)
        }
    }

    /// The peer that responds to requests.
    var responder: Peer {
        switch self {
        case .direct(let origin), .tunnelled(let origin, _): Peer(origin)
        case .forwarded(let proxy): Peer(proxy)
        }
    }

    /// The host at the other end; `nil` for a proxy that forwards requests to any host.
    var host: Origin? {
        switch self {
        case .direct(let origin), .tunnelled(let origin, _): origin
        case .forwarded: nil
        }
    }

    /// Whether any part of the route uses TLS.
    var hasTLS: Bool {
        switch self {
        case .direct(let origin): origin.scheme == .https
        case .forwarded(let proxy): proxy.origin.scheme == .https
        case .tunnelled: true
        }
    }
}
