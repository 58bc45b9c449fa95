// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The reports of proxies about their clients, in `Forwarded`, or in `X-Forwarded-For`, `-Proto` and `-Host`.
///
/// Pure value. Each proxy appends to the lists, so the last element is from the proxy that connected to this server.
///
/// - Source: RFC 7239 §4.
enum ForwardedFields {
    /// The report of one proxy.
    struct Hop: Hashable, Sendable {
        /// The numeric address of the proxy's client; `nil` if it is hidden or malformed.
        var client: String?
        /// The scheme that the client used.
        var isSecure: Bool?
        /// The host, with an optional port, that the client addressed.
        var host: String?
    }

    /// The hops in `Forwarded`; empty if the field is missing or malformed.
    static func standard(_ fields: HeaderFields) -> [Hop] {
        guard let text = fields.joined("Forwarded") else { return [] }
        var hops: [Hop] = []
        var reader = PairReader(text.utf8[...])
        while true {
            var hop = Hop()
            while true {
                reader.skip([0x20, 0x09, 0x3B])
                if reader.isAtElementEnd { break }
                guard let (name, value) = reader.pair() else { return [] }
                switch name {
                case "for": hop.client = Self.address(value)
                case "proto": hop.isSecure = Self.scheme(value)
                case "host": hop.host = Self.host(value)
                default: break
                }
            }
            hops.append(hop)
            guard reader.skipComma() else { return hops }
        }
    }

    /// Reads `name=value` pairs.
    private struct PairReader {
        private var rest: Substring.UTF8View

        init(_ text: Substring.UTF8View) { self.rest = text }

        var isAtElementEnd: Bool { self.rest.first == 0x2C || self.rest.isEmpty }

        mutating func skip(_ bytes: [UInt8]) { self.rest = self.rest.drop { bytes.contains($0) } }

        mutating func skipComma() -> Bool { self.rest.popFirst() != nil }

        mutating func pair() -> (name: String, value: String)? {
            let name = self.rest.prefix { $0 != 0x3D && $0 != 0x3B && $0 != 0x2C }
            self.rest = self.rest.dropFirst(name.count)
            guard self.rest.popFirst() == 0x3D, !name.isEmpty else { return nil }
            var value: [UInt8] = []
            if self.rest.first == 0x22 {
                self.rest.removeFirst()
                while true {
                    guard var byte = self.rest.popFirst() else { return nil }
                    if byte == 0x22 { break }
                    if byte == 0x5C {
                        guard let escaped = self.rest.popFirst() else { return nil }
                        byte = escaped
                    }
                    value.append(byte)
                }
                self.skip([0x20, 0x09])
                guard self.isAtElementEnd || self.rest.first == 0x3B else { return nil }
            } else {
                let token = self.rest.prefix { $0 != 0x3B && $0 != 0x2C }
                self.rest = self.rest.dropFirst(token.count)
                value = Array(token)
                while value.last == 0x20 || value.last == 0x09 { value.removeLast() }
            }
            return (String(decoding: name, as: UTF8.self).lowercased(), String(decoding: value, as: UTF8.self))
        }
    }

    /// The hops in the `X-Forwarded-` fields; empty if all are missing.
    ///
    /// Proxies append to `-For`, but many replace the two others: lists of different lengths do not belong together,
    /// and their last elements are used.
    static func common(_ fields: HeaderFields) -> [Hop] {
        let clients = Self.list(fields.joined("X-Forwarded-For"))
        let schemes = Self.list(fields.joined("X-Forwarded-Proto"))
        let hosts = Self.list(fields.joined("X-Forwarded-Host"))
        guard !clients.isEmpty || !schemes.isEmpty || !hosts.isEmpty else { return [] }
        return (0..<max(1, clients.count))
            .map { index in
                func element(_ list: [String]) -> String? {
                    list.count == clients.count && index < list.count ? list[index] : list.last
                }
                return Hop(
                    client: clients.isEmpty ? nil : Self.address(clients[index]),
                    isSecure: element(schemes).flatMap(Self.scheme),
                    host: element(hosts).flatMap(Self.host)
                )
            }
    }

    private static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",")
            .map { element in
                var element = element
                while element.first == " " || element.first == "\t" { element.removeFirst() }
                while element.last == " " || element.last == "\t" { element.removeLast() }
                return String(element)
            }
    }

    /// The numeric address in `ADDRESS`, `IPV4:PORT`, `[IPV6]` or `[IPV6]:PORT`; `nil` for `unknown` and hidden ones.
    static func address(_ text: String) -> String? {
        var address = text
        if text.hasPrefix("[") || text.count(where: { $0 == ":" }) == 1 {
            guard let name = RequestPolicy.name(text) else { return nil }
            address = name
        }
        guard NetworkAddress(address.utf8) != nil else { return nil }
        return address
    }

    /// Whether a scheme is `https`; `nil` for a scheme other than `http`.
    static func scheme(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "https": true
        case "http": false
        default: nil
        }
    }

    /// A host with an optional port, or `nil` if it is malformed.
    static func host(_ text: String) -> String? {
        guard RequestPolicy.name(text) != nil, text.utf8.allSatisfy(self.isHostByte) else { return nil }
        return text
    }

    /// Whether a byte may be in a host with a port.
    static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5B, 0x5D, 0x5F: true
        default: false
        }
    }
}
