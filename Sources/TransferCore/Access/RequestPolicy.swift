// SPDX-License-Identifier: Apache-2.0
/// Decides which requests are accepted over TCP: a foreign web page must not use its visitor's access to the server.
///
/// Pure value.
package struct RequestPolicy: Sendable, Hashable {
    /// The address of the listener, in lower case.
    private let listenHost: String
    /// Additional names accepted in `Host`.
    package var allowedHosts: [String]
    /// Foreign origins that may call.
    package var allowedOrigins: [String]
    /// The prefix of the options that extend the policy, for messages.
    package var optionPrefix: String
    /// Whether any `Host` is accepted: on an address that is open to the network, only credentials protect the server.
    package var hearsAnyHost: Bool
    /// Whether the origins of browser extensions are allowed, which users have installed; calls require a credential.
    package var hearsExtensions: Bool

    /// Whether every origin is allowed, also `null`: only if each call requires a token that browsers do not send by
    /// themselves.
    package var hearsAnyOrigin: Bool

    package init(
        listenHost: String,
        allowedHosts: [String] = [],
        allowedOrigins: [String] = [],
        optionPrefix: String = "--allow",
        hearsAnyHost: Bool = false,
        hearsExtensions: Bool = false,
        hearsAnyOrigin: Bool = false
    ) {
        self.listenHost = listenHost.lowercased()
        self.allowedHosts = allowedHosts
        self.allowedOrigins = allowedOrigins
        self.optionPrefix = optionPrefix
        self.hearsAnyHost = hearsAnyHost
        self.hearsExtensions = hearsExtensions
        self.hearsAnyOrigin = hearsAnyOrigin
    }

    /// The decision about a request.
    package enum Verdict: Sendable, Hashable {
        /// Accepted; the origin may read the response, if one is given.
        case heard(origin: String?)
        /// Refused, with the reason.
        case refused(String)
    }

    /// Decides about a request.
    ///
    /// - Parameters:
    ///   - hosts: The values of `Host`; there must be exactly one, or none if it is not required.
    ///   - origins: The values of `Origin`.
    ///   - localAddress: The local address of the connection.
    ///   - requiresHost: Whether `Host` is required; HTTP/1.0, which no browser sends, does not require it.
    /// - Returns: Whether the request is accepted.
    package func verdict(hosts: [String], origins: [String], localAddress: String?, requiresHost: Bool = true)
        -> Verdict
    {
        if !hosts.isEmpty || requiresHost {
            guard hosts.count == 1, let host = Self.name(hosts[0]) else {
                return .refused("exactly one Host field is required")
            }
            guard self.hearsAnyHost || self.isOurs(host, localAddress) else {
                return .refused("the Host field names another host; allow it with \(self.optionPrefix)-host")
            }
        }
        guard origins.count <= 1 else { return .refused("more than one Origin field") }
        guard let origin = origins.first else { return .heard(origin: nil) }
        if let host = hosts.first, Self.isSame(origin, as: host) { return .heard(origin: origin) }
        if self.isAllowed(origin) || self.hearsExtensions && Self.isExtension(origin) { return .heard(origin: origin) }
        return .refused("the page's origin is not allowed; allow it with \(self.optionPrefix)-origin")
    }

    private func isOurs(_ host: String, _ localAddress: String?) -> Bool {
        if host == "localhost" || host == self.listenHost { return true }
        // A literal address is not resolved, so it cannot have been rebound.
        if Self.isAddress(host), host == localAddress?.lowercased() || host == "127.0.0.1" || host == "::1" {
            return true
        }
        return self.allowedHosts.contains { $0.lowercased() == host }
    }

    /// Whether an origin is allowed.
    ///
    /// An entry is a complete origin, `scheme://host[:port]`; `*` represents a whole port (`http://localhost:*`) or a
    /// whole host (`chrome-extension://*`), never part of one.
    package func isAllowed(_ origin: String) -> Bool {
        if self.hearsAnyOrigin { return true }
        let origin = Self.normalized(origin)
        return self.allowedOrigins.contains { entry in
            let entry = Self.normalized(entry)
            if entry == origin { return true }
            if entry.hasSuffix("://*") {
                return origin.hasPrefix(entry.dropLast()) && origin.utf8.count >= entry.utf8.count
            }
            guard entry.hasSuffix(":*"), origin.hasPrefix(entry.dropLast(2)) else { return false }
            let port = origin.dropFirst(entry.count - 2)
            return port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
        }
    }

    /// Whether an origin is that of a browser extension; web pages cannot have such an origin.
    private static func isExtension(_ origin: String) -> Bool {
        ["chrome-extension://", "moz-extension://", "safari-web-extension://"]
            .contains {
                origin.hasPrefix($0) && origin.utf8.count > $0.utf8.count
            }
    }

    /// Whether an entry of the allowed origins can match an origin.
    package static func isOriginPattern(_ entry: String) -> Bool {
        let entry = self.normalized(entry)
        guard let mark = entry.firstRange(of: "://"), mark.lowerBound > entry.startIndex else { return false }
        let authority = entry[mark.upperBound...]
        if authority == "*" { return true }
        let host = authority.hasSuffix(":*") ? authority.dropLast(2) : authority
        guard !host.contains("*"), !host.contains("@") else { return false }
        return self.name(String(host)) != nil && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }
    }

    /// The origin in lower case, without a trailing slash and the default port, as browsers send it.
    private static func normalized(_ origin: String) -> String {
        var origin = origin.lowercased()
        if origin.hasSuffix("/") { origin.removeLast() }
        for (scheme, port) in [("http://", ":80"), ("https://", ":443")]
        where origin.hasPrefix(scheme) && origin.hasSuffix(port) {
            origin.removeLast(port.count)
        }
        return origin
    }

    /// Whether an origin is that of the `Host` field of its request.
    package static func isSame(_ origin: String, as host: String) -> Bool {
        let origin = origin.lowercased()
        return origin == "http://\(host.lowercased())" || origin == "https://\(host.lowercased())"
    }

    /// The name or address in `NAME`, `NAME:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`, in lower case.
    package static func name(_ host: String) -> String? {
        // In place, because each request passes here. Bounds: `rest` is compared with the count first.
        var host = host
        return host.withUTF8 { bytes in
            let start: Int
            let end: Int
            let rest: Int
            if bytes.first == 0x5B {
                guard let bracket = bytes.firstIndex(of: 0x5D) else { return nil }
                (start, end, rest) = (1, bracket, bracket + 1)
            } else {
                end = bytes.firstIndex(of: 0x3A) ?? bytes.count
                (start, rest) = (0, end)
            }
            guard start < end, end - start <= 255 else { return nil }
            if rest < bytes.count {
                let digits = bytes.part(rest + 1..<bytes.count)
                guard bytes[rest] == 0x3A, let port = DecimalNumber.parse(digits), port <= 65_535 else { return nil }
            }
            let name = String(decoding: bytes.part(start..<end), as: UTF8.self)
            return bytes.contains { $0 >= 0x80 || $0 >= 0x41 && $0 <= 0x5A } ? name.lowercased() : name
        }
    }

    /// Whether a name is an IPv4 or IPv6 address.
    package static func isAddress(_ name: String) -> Bool {
        name.contains(":") || name.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E }
    }
}
