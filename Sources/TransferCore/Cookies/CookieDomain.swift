// SPDX-License-Identifier: Apache-2.0
/// Compares the hosts and paths of requests with those of cookies.
///
/// - Source: RFC 6265bis §5.1.3, §5.1.4.
enum CookieDomain {
    /// The host name or address in the normalized form of URLs, or `nil` if it is neither.
    static func canonical(_ text: some Sequence<UInt8>) -> String? {
        var bytes = text.map(ASCII.lowercase)
        if bytes.first == 0x5B, bytes.last == 0x5D, bytes.count > 2 { bytes = Array(bytes[1..<(bytes.count - 1)]) }
        if bytes.contains(0x3A) { return IPv6Address(bytes)?.description }
        if bytes.contains(where: { $0 >= 0x80 }) {
            guard let encoded = HostName.toASCII(bytes) else { return nil }
            bytes = encoded
        }
        // A host name never starts with a dot.
        guard bytes.first != 0x2E, HostName.isRegisteredName(bytes[...]) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the host, in lower case, is an address, in any notation that a resolver accepts.
    ///
    /// No top-level domain is a number, so a numeric last label means IPv4 (the WHATWG URL standard's "ends in a
    /// number" check).
    static func isAddress(_ host: String) -> Bool {
        var bytes = host.utf8[...]
        if bytes.contains(0x3A) { return true }
        if bytes.last == 0x2E { bytes.removeLast() }
        let start = bytes.lastIndex(of: 0x2E).map { bytes.index(after: $0) } ?? bytes.startIndex
        let label = bytes[start...]
        guard !label.isEmpty else { return false }
        if label.starts(with: "0x".utf8) { return label.dropFirst(2).allSatisfy { PercentEncoding.value($0) != nil } }
        return label.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }

    /// Whether a host is a domain or its subdomain; an address matches only itself.
    static func matches(_ host: String, domain: String) -> Bool {
        if host == domain { return true }
        let utf8 = host.utf8
        let rest = utf8.count - domain.utf8.count
        return rest > 1 && !domain.isEmpty && utf8.dropFirst(rest).elementsEqual(domain.utf8)
            && utf8.dropFirst(rest - 1).first == 0x2E && !self.isAddress(host)
    }

    /// The parent domains of a host, the nearest first; none for an address.
    static func parents(of host: String) -> [String] {
        guard !self.isAddress(host) else { return [] }
        var parents: [String] = []
        var rest = host[...]
        while let dot = rest.utf8.firstIndex(of: 0x2E) {
            rest = rest[rest.utf8.index(after: dot)...]
            if !rest.isEmpty { parents.append(String(rest)) }
        }
        return parents
    }

    /// Whether a request's path is a cookie's path or below it.
    static func pathMatches(_ path: String, cookiePath: String) -> Bool {
        let (path, prefix) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: prefix) else { return false }
        return path.count == prefix.count || prefix.last == 0x2F || path.dropFirst(prefix.count).first == 0x2F
    }

    /// The default path of a cookie: the request's path up to its last slash.
    static func defaultPath(_ path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: 0x2F), slash != path.utf8.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
