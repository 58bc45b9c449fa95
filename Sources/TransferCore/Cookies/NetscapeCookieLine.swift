// SPDX-License-Identifier: Apache-2.0
/// One line of a cookie file: domain, subdomains included, path, https only, expiry time, name, value.
///
/// - Source: https://curl.se/docs/http-cookies.html (the format, and `#HttpOnly_`).
enum NetscapeCookieLine {
    private static let httpOnlyPrefix = "#HttpOnly_"

    /// Parses a line without its line feed; `nil` for a comment, an empty line and an expired cookie.
    ///
    /// - Throws: ``SyntaxError`` if the line is malformed.
    static func parse(_ line: ArraySlice<UInt8>, now: Int64) throws(SyntaxError) -> Cookie? {
        var line = line.last == Byte.cr ? line.dropLast() : line
        let isHTTPOnly = line.starts(with: self.httpOnlyPrefix.utf8)
        if isHTTPOnly { line = line.dropFirst(self.httpOnlyPrefix.utf8.count) }
        guard line.first != 0x23, !line.allSatisfy(Byte.isBlank) else { return nil }
        let text = String(decoding: line, as: UTF8.self)
        guard text.utf8.elementsEqual(line) else { throw SyntaxError(.badLine, "the line is not UTF-8; correct it") }
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // Some programs omit the tab before an empty value.
        guard fields.count == 7 || fields.count == 6 else {
            throw SyntaxError(.badLine, "the line has \(fields.count) fields instead of 7, separated by tabs; fix it")
        }
        let includesSubdomains = try self.flag(fields[1], "second")
        let isSecure = try self.flag(fields[3], "fourth")
        let expires = try self.expires(fields[4])
        // The second field decides, not the leading dot, which only some programs write.
        let domain = Self.withoutPort(fields[0].utf8.drop { $0 == 0x2E })
        let cookie = try Cookie(
            name: fields[5],
            value: fields.count == 7 ? fields[6] : "",
            domain: (includesSubdomains ? "." : "") + String(Substring(domain)),
            path: fields[2],
            expires: expires,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            created: now
        )
        return cookie.isExpired(at: now) ? nil : cookie
    }

    /// Formats a line without its line feed.
    static func format(_ cookie: Cookie) -> String {
        // 0 would mean no expiry time.
        let expires = cookie.expires.map { max(1, $0) } ?? 0
        return [
            (cookie.isHTTPOnly ? self.httpOnlyPrefix : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
            cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE", String(expires),
            cookie.name, cookie.value,
        ]
        .joined(separator: "\t")
    }

    /// The domain without the port that wget appends: a cookie is sent to every port of its host.
    private static func withoutPort(_ domain: Substring.UTF8View) -> Substring.UTF8View {
        guard let colon = domain.lastIndex(of: Byte.colon), domain.firstIndex(of: Byte.colon) == colon else {
            return domain
        }
        let digits = domain[domain.index(after: colon)...]
        let isPort = !digits.isEmpty && digits.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
        return isPort ? domain[..<colon] : domain
    }

    private static func flag(_ field: String, _ position: String) throws(SyntaxError) -> Bool {
        switch String(decoding: field.utf8.map(ASCII.lowercase), as: UTF8.self) {
        case "true": return true
        case "false": return false
        default: throw SyntaxError(.badLine, "the \(position) field is neither TRUE nor FALSE; correct it")
        }
    }

    /// The expiry time; some programs write fractions of a second, or nothing for a session cookie.
    private static func expires(_ field: String) throws(SyntaxError) -> Int64? {
        let whole = field.utf8.prefix { $0 != 0x2E }
        if field.isEmpty { return nil }
        guard let seconds = DecimalNumber.parse(whole),
            field.utf8.dropFirst(whole.count + 1).allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else {
            throw SyntaxError(.badLine, "the fifth field is not a number of seconds since 1970; correct it, or write 0")
        }
        return seconds == 0 ? nil : seconds
    }
}
