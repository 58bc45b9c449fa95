// SPDX-License-Identifier: Apache-2.0
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
    /// The host in lower case; an IPv6 address in its canonical form (RFC 5952), without brackets.
    public let host: String
    /// The port, or the scheme's default.
    public let port: Int

    /// Creates an origin.
    ///
    /// - Parameters:
    ///   - scheme: The scheme.
    ///   - host: The host in any notation: a name in any case, or an address, an IPv6 one with or without brackets.
    ///   - port: The port.
    public init(scheme: Scheme, host: String, port: Int) {
        self.init(scheme: scheme, canonicalHost: CookieDomain.canonical(host.utf8) ?? host, port: port)
    }

    /// Takes the host as ``HTTPURL/host`` returns it.
    init(scheme: Scheme, canonicalHost: String, port: Int) {
        self.scheme = scheme
        self.host = canonicalHost
        self.port = port
    }
}
