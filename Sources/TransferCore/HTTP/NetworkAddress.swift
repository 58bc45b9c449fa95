// SPDX-License-Identifier: Apache-2.0
/// An IPv4 or IPv6 address as bytes, for comparing with networks.
///
/// An IPv4 address written as an IPv6 address (`::ffff:192.0.2.1`) is the IPv4 address.
package struct NetworkAddress: Hashable, Sendable {
    /// Four bytes or sixteen.
    package let bytes: [UInt8]
    /// The number of bits of the form in which the address was written: 32 or 128.
    package let writtenBitCount: Int

    /// The number of bits of the address: 32 or 128.
    package var bitCount: Int { self.bytes.count * 8 }

    /// Parses an address without brackets, or returns `nil` if the text is not an address.
    package init?(_ text: some Collection<UInt8>) {
        if let four = IPv6Address.ipv4(text) {
            self.bytes = four
            self.writtenBitCount = 32
        } else if let address = IPv6Address(text) {
            self.bytes = address.mappedIPv4 ?? address.bytes
            self.writtenBitCount = 128
        } else {
            return nil
        }
    }

    /// Creates an IPv4 address from its four bytes; `nil` from another number of bytes.
    init?(four bytes: [UInt8]) {
        guard bytes.count == 4 else { return nil }
        self.bytes = bytes
        self.writtenBitCount = 32
    }

    /// Parses the notations of IPv4 addresses that only resolvers accept, such as `127.1`, `0x7f000001` and `017700000001`.
    ///
    /// - Source: inet_aton(3).
    init?(shortIPv4 text: some Collection<UInt8>) {
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count) else { return nil }
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            let digits = String(decoding: part, as: UTF8.self)
            let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
            let radix = isHexadecimal ? 16 : digits.hasPrefix("0") && digits.count > 1 ? 8 : 10
            let figures = isHexadecimal ? digits.dropFirst(2) : digits[...]
            // A sign is not part of a number here.
            guard figures.first != "+", let number = UInt64(figures, radix: radix) else { return nil }
            // The last part fills the bytes that are left.
            let bits = index == parts.count - 1 ? UInt64(8 * (5 - parts.count)) : 8
            guard number < 1 << bits else { return nil }
            value = value << bits | number
        }
        self.init(four: (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt64(24 - 8 * $0)) })
    }

    /// Whether the first bits are those of the network; false if one is IPv4 and the other IPv6.
    ///
    /// - Parameters:
    ///   - network: Any address of the network.
    ///   - bits: The number of significant bits; zero or less means every address of the family.
    /// - Returns: Whether the address belongs to the network.
    func isWithin(_ network: NetworkAddress, bits: Int) -> Bool {
        guard self.bytes.count == network.bytes.count else { return false }
        let whole = min(max(0, bits), self.bitCount) / 8
        guard self.bytes[..<whole].elementsEqual(network.bytes[..<whole]) else { return false }
        let rest = min(max(0, bits), self.bitCount) % 8
        return rest == 0 || (self.bytes[whole] ^ network.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}
