internal import TransferCore

/// What a request is about: the path and the query of its target.
///
/// - Source: RFC 9112 §3.2.
struct RequestTarget: Sendable, Hashable {
    /// The path before any decoding; it begins with `/`, or is `*`.
    var path: Substring
    /// What stands behind the first `?`.
    var query: Substring?

    /// Splits a target; `nil` where it is none for a server.
    ///
    /// The absolute form is taken, for servers must (RFC 9112 §3.2.2); what host it names is for `Host` to say.
    init?(_ target: String) {
        var rest = target[...]
        if !rest.hasPrefix("/"), rest != "*" {
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
