// SPDX-License-Identifier: Apache-2.0
/// One cookie, as stored by a user agent.
///
/// Pure value. Every cookie obeys the rules of its name's prefix, and contains no character that would break a header
/// field or a line of a cookie file. Its description omits the value, which is often a credential.
///
/// - Source: RFC 6265bis §5.7.
public struct Cookie: Hashable, Sendable {
    /// The server's rule for requests from other sites.
    ///
    /// It is stored but not enforced: a file transfer is started by the user and does not originate from a site.
    public enum SameSite: String, Hashable, Sendable {
        /// Sent with every request.
        case none
        /// Sent with requests of the same site and with navigation.
        case lax
        /// Sent with requests of the same site only.
        case strict
    }

    /// The name; empty for a nameless cookie.
    public let name: String
    /// The value.
    public let value: String
    /// The domain in lower case, without a leading dot.
    public let domain: String
    /// Whether it is sent only to `domain` itself, not to its subdomains.
    public let isHostOnly: Bool
    /// The path to which, and below which, it is sent; starts with `/`.
    public let path: String
    /// The expiry time in seconds since 1970; `nil` for a session cookie.
    public let expires: Int64?
    /// Whether it is sent over https only.
    public let isSecure: Bool
    /// Whether it is hidden from scripts; stored only for cookie files, because Martlet runs no scripts.
    public let isHTTPOnly: Bool
    /// The server's rule for requests from other sites, or `nil` if it sent none.
    public let sameSite: SameSite?
    /// When it was first stored, in seconds since 1970.
    public internal(set) var created: Int64

    /// Creates a cookie from its parts, as given by a user or a cookie file.
    ///
    /// Rejects values that a user agent must reject; the stricter grammar for servers is not enforced, because cookies
    /// in use violate it.
    ///
    /// - Parameters:
    ///   - name: The name; may be empty if the value is not.
    ///   - value: The value.
    ///   - domain: The host; with a leading dot, its subdomains as well. An address has no subdomains.
    ///   - path: The path to which, and below which, the cookie is sent.
    ///   - expires: Seconds since 1970, or `nil` for a session cookie.
    ///   - isSecure: Whether it is sent over https only.
    ///   - isHTTPOnly: Whether it is hidden from scripts.
    ///   - sameSite: The rule for requests from other sites.
    ///   - created: The time of creation, in seconds since 1970.
    /// - Throws: ``SyntaxError`` with a message for the author of the cookie; it never contains the value.
    public init(
        name: String,
        value: String,
        domain: String,
        path: String = "/",
        expires: Int64? = nil,
        isSecure: Bool = false,
        isHTTPOnly: Bool = false,
        sameSite: SameSite? = nil,
        created: Int64
    ) throws(SyntaxError) {
        try CookieText.check(name: name, value: value)
        try CookieText.check(path: path)
        let isDotted = domain.utf8.first == 0x2E
        guard let host = CookieDomain.canonical(domain.utf8.dropFirst(isDotted ? 1 : 0)) else {
            throw SyntaxError(.badDomain, "the cookie's domain is not a host name; write it as example.com")
        }
        self.init(
            unchecked: name,
            value: value,
            domain: host,
            isHostOnly: !isDotted || CookieDomain.isAddress(host),
            path: path,
            expires: expires,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: sameSite,
            created: created
        )
        guard self.keepsPrefix else {
            throw SyntaxError(
                .badPrefix,
                "a cookie whose name starts with __Secure- must be secure, and one with __Host- must also be for one "
                    + "host and have the path /; fix that or choose another name"
            )
        }
    }

    init(
        unchecked name: String,
        value: String,
        domain: String,
        isHostOnly: Bool,
        path: String,
        expires: Int64?,
        isSecure: Bool,
        isHTTPOnly: Bool,
        sameSite: SameSite?,
        created: Int64
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.created = created
    }

    /// Whether it has expired.
    public func isExpired(at now: Int64) -> Bool { self.expires.map { $0 <= now } ?? false }

    /// The cookie in the format of a Cookie field.
    var pair: String { self.name.isEmpty ? self.value : "\(self.name)=\(self.value)" }

    /// Whether another cookie replaces this one.
    ///
    /// - Source: RFC 6265bis §5.7, step 23.
    func isReplaced(by other: Cookie) -> Bool {
        self.name == other.name && self.domain == other.domain && self.isHostOnly == other.isHostOnly
            && self.path == other.path
    }

    /// Whether the rules of the name's prefix are met; a nameless cookie's value must not start with a prefix.
    ///
    /// - Source: RFC 6265bis §4.1.3 and §5.7, steps 20 to 22.
    var keepsPrefix: Bool {
        if self.name.isEmpty {
            return !CookieText.begins(self.value, "__secure-") && !CookieText.begins(self.value, "__host-")
        }
        if CookieText.begins(self.name, "__secure-") { return self.isSecure }
        if CookieText.begins(self.name, "__host-") { return self.isSecure && self.isHostOnly && self.path == "/" }
        return true
    }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, the domain and the path; never the value.
    public var description: String {
        "\(self.name)=… (\(self.isHostOnly ? "" : ".")\(self.domain)\(self.path))"
    }

    /// The name, the domain and the path; never the value.
    public var debugDescription: String { self.description }

    /// The name, the domain and the path; never the value.
    public var customMirror: Mirror {
        Mirror(self, children: ["name": self.name, "domain": self.domain, "path": self.path], displayStyle: .struct)
    }
}
