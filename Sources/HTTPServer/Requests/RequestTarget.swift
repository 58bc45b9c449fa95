// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The path and query of a request target.
///
/// - Source: RFC 9112 §3.2.
package struct RequestTarget: Sendable, Hashable {
    /// The path before percent-decoding; starts with `/`, or is `*`.
    package var path: Substring
    /// The part after the first `?`.
    package var query: Substring?

    /// Parses a target; `nil` if its form is not one for an origin server.
    ///
    /// A server must accept the absolute form (RFC 9112 §3.2.2). Its host is ignored: only `Host` is evaluated.
    package init?(_ target: String) {
        var rest = target[...]
        if target.utf8.first != 0x2F, target != "*" {
            let lowercase = rest.prefix(8).lowercased()
            guard lowercase.hasPrefix("http://") || lowercase.hasPrefix("https://") else { return nil }
            rest = rest.dropFirst(lowercase.hasPrefix("https://") ? 8 : 7)
            rest = rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
            if rest.hasPrefix("?") { rest = "/" + rest }
        }
        if let mark = rest.utf8.firstIndex(of: 0x3F) {
            self.path = rest[..<mark]
            self.query = rest[rest.utf8.index(after: mark)...]
        } else {
            self.path = rest
        }
    }
}
