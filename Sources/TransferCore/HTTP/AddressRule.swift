// SPDX-License-Identifier: Apache-2.0
/// The addresses to which requests must not be sent.
///
/// Somebody else often chooses a URL: the author of a table, a server that redirects, a client of the daemon. With it they
/// could make this machine send requests to services that only it can reach.
package struct AddressRule: Sendable, Hashable {
    /// The addresses that are refused.
    package enum Refused: String, Sendable, Hashable, CaseIterable {
        case none
        /// Link-local addresses, and those at which clouds have the credentials of their machines.
        case metadata
        /// All addresses except globally reachable ones: also loopback and private ones.
        case `private`

        /// The stricter one of two.
        package static func stricter(_ one: Refused, _ other: Refused) -> Refused {
            if one == .private || other == .private { return .private }
            return one == .none ? other : one
        }
    }

    /// The addresses that are refused.
    package var refused: Refused
    /// Addresses, networks and names that are allowed nevertheless.
    package var allowed: ProxyExceptions
    /// Whether a proxy is judged as a server is, because the same party has chosen it.
    package var judgesProxies = false

    package init(refusing refused: Refused = .none, allowing allowed: ProxyExceptions = ProxyExceptions()) {
        self.refused = refused
        self.allowed = allowed
    }

    /// Judges the address of a connection.
    ///
    /// - Parameters:
    ///   - address: The address, without brackets.
    ///   - host: The host of the URL, in lower case.
    ///   - port: The port.
    /// - Returns: The kind of the address if it is refused, otherwise `nil`.
    package func refusal(of address: String, host: String, port: Int) -> AddressKind? {
        guard self.refused != .none, let parsed = NetworkAddress(address.utf8) else { return nil }
        return self.judge(AddressKind(parsed), address: address, host: host, port: port)
    }

    /// Judges the host of a URL that is requested through a proxy, which resolves names itself.
    ///
    /// - Parameters:
    ///   - host: The host in lower case: an address in any notation, or a name, of which only `localhost` is judged.
    ///   - port: The port.
    /// - Returns: The kind of the address if it is refused, otherwise `nil`.
    package func refusal(ofHost host: String, port: Int) -> AddressKind? {
        guard self.refused != .none else { return nil }
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        if name == "localhost" || name.hasSuffix(".localhost") {
            return self.judge(.loopback, address: "127.0.0.1", host: host, port: port)
        }
        // `012.0.0.1` is 12.0.0.1 for some programs, and 10.0.0.1 for others.
        for reading in [NetworkAddress(name.utf8), NetworkAddress(shortIPv4: name.utf8)].compactMap({ $0 }) {
            let kind = self.judge(AddressKind(reading), address: String(name), host: host, port: port)
            if let kind { return kind }
        }
        return nil
    }

    private func judge(_ kind: AddressKind?, address: String, host: String, port: Int) -> AddressKind? {
        guard let kind, self.refused == .private || kind == .linkLocal || kind == .metadata else { return nil }
        if self.allowed.cover(host: address, port: port) || self.allowed.cover(host: host, port: port) { return nil }
        return kind
    }
}

/// The kind of an address outside the globally reachable ones.
///
/// - Source: RFC 6890 with the registries it defines, as of November 2026; the documentation of AWS, Azure, Google Cloud,
///   Alibaba Cloud and Oracle Cloud for metadata.
package enum AddressKind: String, Sendable, Hashable, CaseIterable {
    case loopback = "a loopback address"
    case linkLocal = "a link-local address"
    case metadata = "the address of a cloud's metadata"
    case `private` = "a private address"
    case shared = "an address of a carrier's network"
    case documentation = "an address for documentation"
    case multicast = "a multicast address"
    case reserved = "a reserved address"

    /// Returns the kind of an address; `nil` if it is reachable from everywhere.
    init?(_ address: NetworkAddress) {
        if let found = (address.bitCount == 32 ? Self.four : Self.six).first(where: { $0.covers(address) }) {
            self = found.kind
            return
        }
        guard address.bitCount == 128 else { return nil }
        // Addresses that stand for an IPv4 address: NAT64 (RFC 6052) and 6to4 (RFC 3056).
        for (network, offset) in Self.translated where network.covers(address) {
            guard let inner = NetworkAddress(four: Array(address.bytes[offset..<(offset + 4)])) else { break }
            guard let kind = AddressKind(inner) else { return nil }
            self = kind
            return
        }
        // Only this part of the address space is assigned to hosts (RFC 4291 §2.4).
        guard address.bytes[0] & 0xE0 != 0x20 else { return nil }
        self = .reserved
    }

    private struct Network: Sendable {
        var base: NetworkAddress?
        var bits: Int
        var kind: AddressKind

        init(_ text: String, _ bits: Int, _ kind: AddressKind) {
            self.base = NetworkAddress(text.utf8)
            self.bits = bits
            self.kind = kind
        }

        func covers(_ address: NetworkAddress) -> Bool {
            self.base.map { address.isWithin($0, bits: self.bits) } ?? false
        }
    }

    /// The first that contains an address decides.
    private static let four = [
        Network("169.254.169.254", 32, .metadata), Network("169.254.170.2", 32, .metadata),
        Network("100.100.100.200", 32, .metadata), Network("168.63.129.16", 32, .metadata),
        Network("192.0.0.192", 32, .metadata),
        // A connection to 0.0.0.0 reaches this machine.
        Network("0.0.0.0", 8, .loopback), Network("127.0.0.0", 8, .loopback), Network("169.254.0.0", 16, .linkLocal),
        Network("10.0.0.0", 8, .private), Network("172.16.0.0", 12, .private), Network("192.168.0.0", 16, .private),
        Network("100.64.0.0", 10, .shared), Network("192.0.0.0", 24, .reserved),
        Network("192.0.2.0", 24, .documentation), Network("198.51.100.0", 24, .documentation),
        Network("203.0.113.0", 24, .documentation), Network("192.88.99.0", 24, .reserved),
        Network("198.18.0.0", 15, .reserved), Network("224.0.0.0", 4, .multicast), Network("240.0.0.0", 4, .reserved),
    ]

    private static let six = [
        Network("fd00:ec2::254", 128, .metadata), Network("fd20:ce::254", 128, .metadata),
        Network("::1", 128, .loopback), Network("::", 128, .loopback), Network("fe80::", 10, .linkLocal),
        Network("fc00::", 7, .private), Network("fec0::", 10, .private), Network("64:ff9b:1::", 48, .private),
        Network("2001::", 23, .reserved), Network("2001:db8::", 32, .documentation),
        Network("3fff::", 20, .documentation), Network("ff00::", 8, .multicast),
    ]

    private static let translated = [
        (Network("64:ff9b::", 96, .reserved), 12), (Network("2002::", 16, .reserved), 2),
    ]
}
