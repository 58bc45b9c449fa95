/// One cookie, as a user agent keeps it.
///
/// Pure value. Every cookie holds to the rules of its name's prefix, and holds no character that would break a header
/// field or a line of a cookie file. Its description leaves the value out: it is often a credential.
///
/// - Source: RFC 6265bis §5.7.
public struct Cookie: Hashable, Sendable {
    /// What a server said about requests from other sites.
    ///
    /// It is kept and not enforced: a file transfer begins at the user's word and has no site that it comes from.
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
    /// Whether it is sent to exactly `domain`, not to the hosts below it.
    public let isHostOnly: Bool
    /// The path to which, and below which, it is sent; begins with `/`.
    public let path: String
    /// When it ends, in seconds since 1970; `nil` for a cookie of this session.
    public let expires: Int64?
    /// Whether it is sent by https only.
    public let isSecure: Bool
    /// Whether scripts are kept from it; kept for cookie files, for there are no scripts here.
    public let isHTTPOnly: Bool
    /// What the server said about requests from other sites, or `nil` where it said nothing.
    public let sameSite: SameSite?
    /// When it was first stored, in seconds since 1970.
    public internal(set) var created: Int64

    /// Creates a cookie from its parts, as a person or a cookie file gives them.
    ///
    /// Refused is what a user agent must refuse; the narrower grammar that servers should keep to is not asked for,
    /// because cookies in use do not keep to it.
    ///
    /// - Parameters:
    ///   - name: The name; may be empty where the value is not.
    ///   - value: The value.
    ///   - domain: The host; with a leading dot the hosts below it too. An address never has hosts below it.
    ///   - path: The path to which, and below which, the cookie is sent.
    ///   - expires: Seconds since 1970, or `nil` for a cookie of this session.
    ///   - isSecure: Whether it is sent by https only.
    ///   - isHTTPOnly: Whether scripts are kept from it.
    ///   - sameSite: What is said about requests from other sites.
    ///   - created: When it was made, in seconds since 1970.
    /// - Throws: ``CookieError`` with a message for the person who wrote the cookie; it never shows the value.
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
    ) throws(CookieError) {
        try CookieText.check(name: name, value: value)
        try CookieText.check(path: path)
        let isDotted = domain.utf8.first == 0x2E
        guard let host = CookieDomain.canonical(domain.utf8.dropFirst(isDotted ? 1 : 0)) else {
            throw CookieError(.badDomain, "the cookie's domain is no host's name; write it as example.com")
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
            throw CookieError(
                .badPrefix,
                "a cookie whose name begins with __Secure- must be secure, and one with __Host- must also be for one "
                    + "host and have the path /; mend that or choose another name"
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

    /// Whether it has ended.
    public func isExpired(at now: Int64) -> Bool { self.expires.map { $0 <= now } ?? false }

    /// The cookie as it stands in a Cookie field.
    var pair: String { self.name.isEmpty ? self.value : "\(self.name)=\(self.value)" }

    /// Whether the other cookie takes this one's place.
    ///
    /// - Source: RFC 6265bis §5.7, step 23.
    func isReplaced(by other: Cookie) -> Bool {
        self.name == other.name && self.domain == other.domain && self.isHostOnly == other.isHostOnly
            && self.path == other.path
    }

    /// Whether the promise of the name's prefix is kept; a nameless cookie's value must not look like one.
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

    /// Shows what is no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["name": self.name, "domain": self.domain, "path": self.path], displayStyle: .struct)
    }
}
