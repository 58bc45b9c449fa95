// SPDX-License-Identifier: Apache-2.0
extension Cookie {
    /// Parses the cookie of a Set-Cookie field; `nil` if it is to be ignored.
    ///
    /// Ignored are control characters, names and values that are too long, domains that do not include the host, public
    /// suffixes, `Secure` cookies not sent over https, and violated name prefixes. A cookie that has already expired is
    /// returned; it deletes the one it replaces.
    ///
    /// - Parameters:
    ///   - field: The field's value.
    ///   - url: The URL of the request that received the response.
    ///   - now: The current time in seconds since 1970.
    ///   - publicSuffixes: The domains for which no cookie is accepted; by default those of the minimal built-in list.
    /// - Source: RFC 6265bis §5.6, §5.7.
    public init?(
        setCookie field: String,
        from url: HTTPURL,
        now: Int64,
        publicSuffixes: PublicSuffixes = .builtIn
    ) {
        guard let field = SetCookieField(field, now: now) else { return nil }
        let host = url.host
        var domain = field.domain ?? ""
        if domain == host, CookieDomain.isAddress(host) || publicSuffixes.isPublicSuffix(host) { domain = "" }
        if !domain.isEmpty {
            guard !publicSuffixes.isPublicSuffix(domain), CookieDomain.matches(host, domain: domain) else { return nil }
        }
        guard !field.isSecure || url.scheme == .https else { return nil }
        let path = field.path.flatMap { $0.isEmpty ? nil : $0 } ?? CookieDomain.defaultPath(url.path)
        self.init(
            unchecked: field.name,
            value: field.value,
            domain: domain.isEmpty ? host : domain,
            isHostOnly: domain.isEmpty,
            path: path,
            expires: field.expires,
            isSecure: field.isSecure,
            isHTTPOnly: field.isHTTPOnly,
            sameSite: field.sameSite,
            created: now
        )
        guard self.keepsPrefix, !CookieText.begins(self.name, "__host-") || field.path != nil else { return nil }
    }
}
