// SPDX-License-Identifier: Apache-2.0
/// An IPv4 or IPv6 address as bytes, for comparing with networks.
///
/// An IPv4 address written as an IPv6 address (`::ffff:192.0.2.1`) is the IPv4 address.
struct ProxyAddress: Hashable, Sendable {
    /// Four bytes or sixteen.
    let bytes: [UInt8]
    /// The number of bits of the form in which the address was written: 32 or 128.
    let writtenBitCount: Int

    /// The number of bits of the address: 32 or 128.
    var bitCount: Int { self.bytes.count * 8 }

    /// Parses an address without brackets, or returns `nil` if the text is not an address.
    init?(_ text: some Collection<UInt8>) {
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

    /// Whether the first bits are those of the network; false if one is IPv4 and the other IPv6.
    ///
    /// - Parameters:
    ///   - network: Any address of the network.
    ///   - bits: The number of significant bits; zero or less means every address of the family.
    /// - Returns: Whether the address belongs to the network.
    func isWithin(_ network: ProxyAddress, bits: Int) -> Bool {
        guard self.bytes.count == network.bytes.count else { return false }
        let whole = min(max(0, bits), self.bitCount) / 8
        guard self.bytes[..<whole].elementsEqual(network.bytes[..<whole]) else { return false }
        let rest = min(max(0, bits), self.bitCount) % 8
        return rest == 0 || (self.bytes[whole] ^ network.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}
