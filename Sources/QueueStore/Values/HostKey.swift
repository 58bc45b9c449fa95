// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A number for the scheme, host and port of a transfer's first URL, by which transfers are held and limited.
///
/// A 64-bit hash that is the same in each process. In a collision two origins share their holds and limits, which is
/// harmless.
package struct HostKey: Hashable, Sendable {
    /// The number in the database.
    package let rawValue: Int64

    /// The key of transfers without a valid URL.
    package static let none = HostKey(rawValue: 0)

    /// Creates a key from its number in the database.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package init(_ origin: Origin) {
        var hash = Hash()
        hash.add(origin.scheme.rawValue)
        for byte in origin.host.utf8 { hash.add(byte) }
        hash.add(port: origin.port)
        self.rawValue = hash.value
    }

    /// Creates the key of a transfer's first URL.
    package init(_ urls: [String]) {
        guard var text = urls.first else {
            self = .none
            return
        }
        if let known = text.withUTF8({ Self.quick($0) }) {
            self = known
        } else if let url = try? HTTPURL(text) {
            self = HostKey(url.origin)
        } else {
            self = .none
        }
    }

    // Fast path: most URLs are in normal form up to their path; others are parsed.
    private static func quick(_ text: UnsafeBufferPointer<UInt8>) -> HostKey? {
        var rest = text[...]
        guard rest.starts(with: "http".utf8) else { return nil }
        rest = rest.dropFirst(4)
        var hash = Hash()
        let scheme: Scheme
        if rest.starts(with: "://".utf8) {
            scheme = .http
            rest = rest.dropFirst(3)
        } else if rest.starts(with: "s://".utf8) {
            scheme = .https
            rest = rest.dropFirst(4)
        } else {
            return nil
        }
        hash.add(scheme.rawValue)
        let host = rest.prefix { Self.isLetter($0) || Self.isDigit($0) || $0 == 0x2D || $0 == 0x2E }
        guard Self.isNormal(host) else { return nil }
        for byte in host { hash.add(byte) }
        rest = rest.dropFirst(host.count)
        var port = scheme.defaultPort
        if rest.first == 0x3A {
            let digits = rest.dropFirst().prefix(6).prefix { Self.isDigit($0) }
            port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
            guard let first = digits.first, first != 0x30, port <= 65_535 else { return nil }
            rest = rest.dropFirst(1 + digits.count)
        }
        guard rest.first == 0x2F else { return nil }
        hash.add(port: port)
        return HostKey(rawValue: hash.value)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Whether a host of letters, digits, hyphens and dots is in normal form: a name, or an IPv4 address of four numbers.
    private static func isNormal(_ host: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let first = host.first, first != 0x2E, first != 0x2D, host.count <= 63,
            !host.starts(with: "xn--".utf8)
        else { return false }
        let label = host.lastIndex(of: 0x2E).map { host[($0 + 1)...] } ?? host
        guard let initial = label.first else { return false }
        if Self.isLetter(initial) { return true }
        // A host whose last label begins with a digit may be an IPv4 address in another form.
        var (dots, digits, value) = (0, 0, 0)
        for byte in host {
            if byte == 0x2E {
                guard digits > 0 else { return false }
                (dots, digits, value) = (dots + 1, 0, 0)
            } else {
                guard Self.isDigit(byte), digits == 0 || value > 0 else { return false }
                (digits, value) = (digits + 1, value * 10 + Int(byte - 0x30))
                guard value <= 255 else { return false }
            }
        }
        return dots == 3 && digits > 0
    }

    /// FNV-1a with the finalizer of SplitMix64.
    private struct Hash {
        private var state: UInt64 = 0xCBF2_9CE4_8422_2325

        mutating func add(_ byte: UInt8) { self.state = (self.state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

        mutating func add(port: Int) {
            self.add(0)
            self.add(UInt8(truncatingIfNeeded: port >> 8))
            self.add(UInt8(truncatingIfNeeded: port))
        }

        var value: Int64 {
            var value = self.state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            value ^= value >> 31
            return Int64(bitPattern: value == 0 ? 1 : value)
        }
    }
}

extension StoredTransfer {
    /// The key by which the transfer is held and limited.
    package var host: HostKey { HostKey(self.urls) }
}
