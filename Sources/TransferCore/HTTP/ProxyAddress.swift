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
        if let four = Self.ipv4(text) {
            self.bytes = four
            self.writtenBitCount = 32
        } else if let sixteen = Self.ipv6(text) {
            let isMapped = sixteen[..<10].allSatisfy { $0 == 0 } && sixteen[10] == 0xFF && sixteen[11] == 0xFF
            self.bytes = isMapped ? Array(sixteen[12...]) : sixteen
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

    private static func ipv4(_ text: some Collection<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                let byte = UInt8(exactly: part.reduce(0) { $0 * 10 + Int($1 - 0x30) })
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func ipv6(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard HostName.isIPv6(text) else { return nil }
        var head: [UInt8] = []
        var tail: [UInt8] = []
        var isBehindGap = false
        for group in text.split(separator: 0x3A, omittingEmptySubsequences: false) {
            var bytes: [UInt8] = []
            if group.isEmpty {
                isBehindGap = true
            } else if group.contains(0x2E) {
                bytes = Self.ipv4(group) ?? []
            } else {
                let value = group.reduce(UInt16(0)) { $0 << 4 | UInt16(PercentEncoding.value($1) ?? 0) }
                bytes = [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
            }
            if isBehindGap { tail += bytes } else { head += bytes }
        }
        let gap = 16 - head.count - tail.count
        return gap >= 0 ? head + [UInt8](repeating: 0, count: gap) + tail : nil
    }
}
