// SPDX-License-Identifier: Apache-2.0
/// The hosts that are contacted without a proxy, in the format of `no_proxy`.
///
/// A list with commas or spaces between its entries. An entry is `*` for every host; a name, optionally after a dot or
/// `*.`, for the host of that name and its subdomains; an IPv4 or IPv6 address; or a network such as `10.0.0.0/8` or
/// `fd00::/8`. If a port follows a name or an address, the entry applies to that port only. Any other entry matches
/// nothing.
///
/// - Source: curl 7.86, `lib/noproxy.c`; RFC 4632 for networks.
public struct ProxyExceptions: Hashable, Sendable {
    private enum Hosts: Hashable, Sendable {
        case all
        case named(String)
        case network(NetworkAddress, bits: Int)
    }

    private struct Entry: Hashable, Sendable {
        var hosts: Hosts
        var port: Int?
    }

    private var entries: [Entry]

    /// The list as parsed.
    package let text: String

    /// Parses a list; an empty one has no exceptions.
    public init(_ text: String = "") {
        self.text = text
        self.entries = text.utf8.split { $0 == 0x2C || $0 == 0x20 || ($0 >= 0x09 && $0 <= 0x0D) }
            .compactMap { Self.entry($0.map(ASCII.lowercase)) }
    }

    /// The first entry of a list that would match nothing, or `nil` if there is none.
    package static func invalidEntry(of text: String) -> String? {
        text.utf8.split { $0 == 0x2C || $0 == 0x20 || ($0 >= 0x09 && $0 <= 0x0D) }
            .first { Self.entry($0.map(ASCII.lowercase)) == nil }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the list is empty.
    public var isEmpty: Bool { self.entries.isEmpty }

    /// Whether a host is contacted without a proxy.
    ///
    /// - Parameters:
    ///   - host: The host in lower case, as in ``HTTPURL/host``.
    ///   - port: The port, or the scheme's default.
    /// - Returns: Whether an entry matches it.
    public func cover(host: String, port: Int) -> Bool {
        guard !self.entries.isEmpty else { return false }
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        let address = NetworkAddress(host.utf8)
        return self.entries.contains { entry in
            guard entry.port == nil || entry.port == port else { return false }
            switch entry.hosts {
            case .all: return true
            case .named(let name): return address == nil && (host == name || host.hasSuffix("." + name))
            case .network(let network, let bits): return address?.isWithin(network, bits: bits) ?? false
            }
        }
    }

    private static func entry(_ bytes: [UInt8]) -> Entry? {
        var host = bytes[...]
        if host.elementsEqual([0x2A]) { return Entry(hosts: .all) }
        if let slash = host.firstIndex(of: 0x2F) {
            guard let network = NetworkAddress(Self.unbracketed(host[..<slash])),
                let bits = Self.number(host[(slash + 1)...], upTo: network.writtenBitCount)
            else { return nil }
            return Entry(hosts: .network(network, bits: bits - network.writtenBitCount + network.bitCount))
        }
        var port: Int?
        if let colon = host.lastIndex(of: 0x3A), IPv6Address(host) == nil {
            let isBracketed = host.first == 0x5B
            if !isBracketed || host[..<colon].last == 0x5D {
                guard let number = Self.number(host[(colon + 1)...], upTo: 65535) else { return nil }
                port = number
                host = host[..<colon]
            }
        }
        if let address = NetworkAddress(Self.unbracketed(host)) {
            return Entry(hosts: .network(address, bits: address.bitCount), port: port)
        }
        if host.starts(with: "*.".utf8) { host = host.dropFirst() }
        if host.first == 0x2E { host = host.dropFirst() }
        if host.last == 0x2E { host = host.dropLast() }
        guard !host.isEmpty, !host.contains(0x3A) else { return nil }
        return Entry(hosts: .named(String(decoding: host, as: UTF8.self)), port: port)
    }

    private static func unbracketed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.first == 0x5B && bytes.last == 0x5D && bytes.count >= 2 ? bytes.dropFirst().dropLast() : bytes
    }

    private static func number(_ bytes: ArraySlice<UInt8>, upTo most: Int) -> Int? {
        guard (1...5).contains(bytes.count), bytes.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let value = bytes.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return value <= most ? value : nil
    }
}
