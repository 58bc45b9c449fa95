/// The scheme of a URL that Martlet transfers.
public enum Scheme: UInt8, Hashable, Sendable {
    /// HTTP over TCP.
    case http
    /// HTTP over TLS.
    case https

    /// The default port, if the URL has none.
    public var defaultPort: Int { self == .http ? 80 : 443 }

    /// The name as in a URL.
    public var name: String { self == .http ? "http" : "https" }
}

/// Scheme, host and port: the scope of a limit per host, a pooled connection and a credential.
///
/// - Source: RFC 9110 §4.3.1.
public struct Origin: Hashable, Sendable {
    /// The scheme.
    public let scheme: Scheme
    /// The host in lower case; an IPv6 address has no brackets.
    public let host: String
    /// The port, or the scheme's default.
    public let port: Int

    /// Creates an origin.
    public init(scheme: Scheme, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }
}
