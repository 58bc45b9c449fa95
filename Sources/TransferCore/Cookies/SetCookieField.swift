// SPDX-License-Identifier: Apache-2.0
/// The value of a Set-Cookie field, split into its parts but not yet compared with the request.
///
/// - Source: RFC 6265bis §5.6.
struct SetCookieField {
    /// The maximum lifetime of a cookie, in seconds: 400 days.
    static let longestAge: Int64 = 400 * 86400

    let name: String
    let value: String
    /// The expiry time; `nil` for a session cookie.
    private(set) var expires: Int64?
    /// The domain in lower case without its leading dot; `nil` or empty if the field has none.
    private(set) var domain: String?
    /// The path; `nil` if the field has no such attribute, empty if its value is not a path.
    private(set) var path: String?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: Cookie.SameSite?

    /// Parses a value; `nil` if it contains no cookie.
    init?(_ field: String, now: Int64) {
        let bytes = Array(field.utf8)
        guard bytes.allSatisfy({ $0 == Byte.tab || !CookieText.isControl($0) }) else { return nil }
        var parts = bytes.split(separator: Byte.semicolon, omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst() else { return nil }
        let (name, value) = Self.split(first)
        // Without an equals sign, the whole text is the value of a nameless cookie.
        self.name = value == nil ? "" : String(decoding: name, as: UTF8.self)
        self.value = String(decoding: value ?? name, as: UTF8.self)
        guard !self.name.isEmpty || !self.value.isEmpty,
            self.name.utf8.count + self.value.utf8.count <= CookieText.longestPair,
            !self.name.utf8.contains(Byte.tab), !self.value.utf8.contains(Byte.tab)
        else { return nil }
        var maxAge: Int64?
        for part in parts {
            let (name, value) = Self.split(part)
            guard (value?.count ?? 0) <= CookieText.longestAttribute else { continue }
            if String(decoding: name.map(ASCII.lowercase), as: UTF8.self) == "max-age" {
                maxAge = Self.end(maxAge: value ?? [], now: now) ?? maxAge
            } else {
                self.take(name, value ?? [])
            }
        }
        guard self.path?.utf8.contains(Byte.tab) != true else { return nil }
        let (limit, overflow) = now.addingReportingOverflow(Self.longestAge)
        self.expires = (maxAge ?? self.expires).map { min($0, overflow ? .max : limit) }
    }

    private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
        switch String(decoding: name.map(ASCII.lowercase), as: UTF8.self) {
        case "expires": self.expires = CookieDate.parse(value) ?? self.expires
        case "domain":
            let domain = value.first == 0x2E ? value.dropFirst() : value
            self.domain = String(decoding: domain.map(ASCII.lowercase), as: UTF8.self)
        case "path": self.path = value.first == 0x2F ? String(decoding: value, as: UTF8.self) : ""
        case "secure": self.isSecure = true
        case "httponly": self.isHTTPOnly = true
        case "samesite":
            self.sameSite = Cookie.SameSite(rawValue: String(decoding: value.map(ASCII.lowercase), as: UTF8.self))
        default: break
        }
    }

    /// The expiry time of a Max-Age: the distant past for zero and less, `nil` if it is malformed.
    private static func end(maxAge value: ArraySlice<UInt8>, now: Int64) -> Int64? {
        let isNegative = value.first == 0x2D
        let digits = isNegative ? value.dropFirst() : value
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let seconds = DecimalNumber.parse(digits) ?? .max
        guard !isNegative, seconds > 0 else { return .min }
        let (end, overflow) = now.addingReportingOverflow(seconds)
        return overflow ? .max : end
    }

    private static func split(_ part: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?) {
        guard let equals = part.firstIndex(of: 0x3D) else { return (CookieText.trimmed(part), nil) }
        return (CookieText.trimmed(part[..<equals]), CookieText.trimmed(part[(equals + 1)...]))
    }
}
