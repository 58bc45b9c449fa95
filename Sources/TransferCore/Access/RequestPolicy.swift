/// Decides whose requests are heard over TCP: a web page elsewhere must not speak to a server with its reader's hands.
///
/// Pure value.
package struct RequestPolicy: Sendable, Hashable {
    /// The address that is listened on.
    package var listenHost: String
    /// More names for `Host`.
    package var allowedHosts: [String]
    /// Origins that may call from elsewhere.
    package var allowedOrigins: [String]
    /// How the options that allow more begin, for messages.
    package var optionPrefix: String
    /// Whether `Host` may name anything: on an address that is open to the network only credentials protect.
    package var hearsAnyHost: Bool
    /// Whether the origins of browser extensions are allowed, whose users have installed them; calls need a credential.
    package var hearsExtensions: Bool

    /// Creates a policy.
    package init(
        listenHost: String,
        allowedHosts: [String] = [],
        allowedOrigins: [String] = [],
        optionPrefix: String = "--allow",
        hearsAnyHost: Bool = false,
        hearsExtensions: Bool = false
    ) {
        self.listenHost = listenHost
        self.allowedHosts = allowedHosts
        self.allowedOrigins = allowedOrigins
        self.optionPrefix = optionPrefix
        self.hearsAnyHost = hearsAnyHost
        self.hearsExtensions = hearsExtensions
    }

    /// What becomes of a request.
    package enum Verdict: Sendable, Hashable {
        /// It is heard; the origin may read the answer, where one is given.
        case heard(origin: String?)
        /// It is not, and why.
        case refused(String)
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - hosts: The values of `Host`; exactly one must be there, or none if it is not required.
    ///   - origins: The values of `Origin`.
    ///   - localAddress: The address that the connection came in on.
    ///   - requiresHost: Whether `Host` may not be missing: in HTTP/1.0, which no browser sends, it may.
    /// - Returns: Whether it is heard.
    package func verdict(hosts: [String], origins: [String], localAddress: String?, requiresHost: Bool = true)
        -> Verdict
    {
        if !hosts.isEmpty || requiresHost {
            guard hosts.count == 1, let host = Self.name(hosts[0]) else {
                return .refused("exactly one Host field is needed")
            }
            guard self.hearsAnyHost || self.isOurs(host, localAddress) else {
                return .refused("the Host field names another host; \(self.optionPrefix)-host allows it")
            }
        }
        guard origins.count <= 1 else { return .refused("more than one Origin field") }
        guard let origin = origins.first else { return .heard(origin: nil) }
        if let host = hosts.first, self.isSame(origin, as: host) { return .heard(origin: origin) }
        if self.isAllowed(origin) || self.hearsExtensions && Self.isExtension(origin) { return .heard(origin: origin) }
        return .refused("the page's origin is not allowed; \(self.optionPrefix)-origin allows it")
    }

    private func isOurs(_ host: String, _ localAddress: String?) -> Bool {
        if host == "localhost" || host == self.listenHost.lowercased() { return true }
        // No name was looked up for an address that is written out, so that none can have been rebound.
        if Self.isAddress(host), host == localAddress?.lowercased() || host == "127.0.0.1" || host == "::1" {
            return true
        }
        return self.allowedHosts.contains { $0.lowercased() == host }
    }

    /// Whether an origin is one of those that are allowed.
    ///
    /// An entry is a whole origin, `scheme://host[:port]`; `*` in it stands for a whole port (`http://localhost:*`) or a
    /// whole host (`chrome-extension://*`), never for a part of one.
    package func isAllowed(_ origin: String) -> Bool {
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

    /// Whether an origin is that of a browser extension: web pages cannot have such an origin.
    private static func isExtension(_ origin: String) -> Bool {
        ["chrome-extension://", "moz-extension://", "safari-web-extension://"]
            .contains {
                origin.hasPrefix($0) && origin.utf8.count > $0.utf8.count
            }
    }

    /// Whether an entry of the allowed origins can match one.
    package static func isOriginPattern(_ entry: String) -> Bool {
        let entry = self.normalized(entry)
        guard let mark = entry.firstRange(of: "://"), mark.lowerBound > entry.startIndex else { return false }
        let authority = entry[mark.upperBound...]
        if authority == "*" { return true }
        let host = authority.hasSuffix(":*") ? authority.dropLast(2) : authority
        guard !host.contains("*"), !host.contains("@") else { return false }
        return self.name(String(host)) != nil && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }
    }

    /// The origin in lower case, without a slash at the end and the default port, as browsers send it.
    private static func normalized(_ origin: String) -> String {
        var origin = origin.lowercased()
        if origin.hasSuffix("/") { origin.removeLast() }
        for (scheme, port) in [("http://", ":80"), ("https://", ":443")]
        where origin.hasPrefix(scheme) && origin.hasSuffix(port) {
            origin.removeLast(port.count)
        }
        return origin
    }

    private func isSame(_ origin: String, as host: String) -> Bool {
        let origin = origin.lowercased()
        return origin == "http://\(host.lowercased())" || origin == "https://\(host.lowercased())"
    }

    /// The name or address in `NAME`, `NAME:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`, in lower case.
    package static func name(_ host: String) -> String? {
        var rest = Substring(host.lowercased())
        let name: Substring
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            name = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            name = rest[..<end]
            rest = rest[end...]
        }
        guard !name.isEmpty, name.utf8.count <= 255 else { return nil }
        if rest.isEmpty { return String(name) }
        guard rest.first == ":", let port = Int(rest.dropFirst()), (0...65_535).contains(port) else { return nil }
        return String(name)
    }

    /// Whether a name is an IPv4 or IPv6 address.
    package static func isAddress(_ name: String) -> Bool {
        name.contains(":") || name.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E }
    }
}
