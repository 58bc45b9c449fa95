// SPDX-License-Identifier: Apache-2.0
/// Decides which responses a private cache stores, and which of their fields.
///
/// - Source: RFC 9111 §3.
package enum StorageRule {
    /// Whether a response without an explicit lifetime may be stored and given one (RFC 9110 §15.1).
    static func allowsHeuristics(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether the cache implements the caching requirements of a status; 206 and 304 are parts of responses.
    private static func understands(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: self.allowsHeuristics(status)
        }
    }

    /// Whether the response to a request may be stored.
    ///
    /// - Parameters:
    ///   - head: The response.
    ///   - method: The request's method; only responses to `GET` are stored.
    ///   - request: The request's fields.
    /// - Returns: Whether it may be stored once its body is complete. A response without a declared end is not, because
    ///   a cut one cannot be distinguished from it; one with `Vary: *` is not, because it never matches a request.
    package static func isStorable(_ head: ResponseHead, method: String, request: HeaderFields) -> Bool {
        guard method == "GET", self.understands(head.status), head.framing != .untilClose,
            !CacheControl(request).has("no-store"), VaryRule.names(head.fields) != nil
        else { return false }
        let control = CacheControl(head.fields)
        // A cache that understands the status may ignore no-store next to must-understand (§5.2.2.3).
        if control.has("no-store"), !control.has("must-understand") { return false }
        return self.allowsHeuristics(head.status) || control.has("public") || control.has("private")
            || control.has("max-age") || head.fields.contains("Expires")
    }

    /// The fields to store: not those of the connection (§3.1), not those that need a validation (`no-cache="NAME"`,
    /// §5.2.2.4), and no cookies, because storing an old one again would replace a newer one.
    package static func storedFields(_ fields: HeaderFields) -> HeaderFields {
        var stored = fields
        for value in fields.values("Connection") {
            for name in value.split(separator: ",") { stored.remove(String(name.filter { $0 != " " && $0 != "\t" })) }
        }
        for name in CacheControl(fields).fieldNames("no-cache") { stored.remove(name) }
        for name in self.unstored { stored.remove(name) }
        return stored
    }

    private static let unstored = [
        "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info",
        "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Set-Cookie", "Set-Cookie2",
    ]
}
