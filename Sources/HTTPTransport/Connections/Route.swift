internal import TransferCore

/// The way of a request to its origin: what a pooled connection belongs to.
enum Route: Hashable, Sendable {
    /// Straight to the origin.
    case direct(Origin)
    /// By a proxy that reads the request: one connection serves every `http` origin.
    indirect case forwarded(ProxyServer)
    /// Through a tunnel that a proxy makes to the origin, with TLS inside it.
    indirect case tunnelled(Origin, ProxyServer)

    /// Where the connection goes to.
    var firstHop: Peer {
        switch self {
        case .direct(let origin): Peer(origin)
        case .forwarded(let proxy), .tunnelled(_, let proxy): Peer(proxy)
        }
    }

    /// Who answers the requests.
    var responder: Peer {
        switch self {
        case .direct(let origin), .tunnelled(let origin, _): Peer(origin)
        case .forwarded(let proxy): Peer(proxy)
        }
    }

    /// Whether TLS is spoken somewhere on the way.
    var hasTLS: Bool {
        switch self {
        case .direct(let origin): origin.scheme == .https
        case .forwarded(let proxy): proxy.origin.scheme == .https
        case .tunnelled: true
        }
    }
}
