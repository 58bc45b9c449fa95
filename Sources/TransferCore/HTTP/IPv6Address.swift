// SPDX-License-Identifier: Apache-2.0
/// An IPv6 address.
///
/// Its description is canonical: equal addresses have equal texts, so that they are one origin.
///
/// - Source: RFC 4291 §2.2 (the notations that are read), RFC 5952 (the one that is written).
struct IPv6Address: Hashable, Sendable, CustomStringConvertible {
    /// The eight groups of 16 bits.
    let groups: [UInt16]

    /// Parses an address without brackets and zone, or returns `nil` if the text is not one.
    init?(_ text: some Collection<UInt8>) {
        guard (2...45).contains(text.count) else { return nil }
        var bytes = Array(text)
        if bytes.contains(0x2E) {
            guard let colon = bytes.lastIndex(of: Byte.colon), let four = Self.ipv4(bytes[(colon + 1)...]) else {
                return nil
            }
            let groups = [four[0...1], four[2...3]].map { String($0.reduce(0) { $0 << 8 | Int($1) }, radix: 16) }
            bytes.replaceSubrange((colon + 1)..., with: groups.joined(separator: ":").utf8)
        }
        var parts = bytes.split(separator: Byte.colon, omittingEmptySubsequences: false)
        // The gap is an empty part; at either end of the text it leaves two.
        for isAtEnd in [false, true] {
            guard (isAtEnd ? parts.last : parts.first)?.isEmpty == true else { continue }
            if isAtEnd { parts.removeLast() } else { parts.removeFirst() }
            guard (isAtEnd ? parts.last : parts.first)?.isEmpty == true else { return nil }
        }
        let gap = parts.firstIndex { $0.isEmpty }
        let head = parts[..<(gap ?? parts.count)]
        let tail = parts[(gap.map { $0 + 1 } ?? parts.count)...]
        let missing = 8 - head.count - tail.count
        guard gap == nil ? missing == 0 : missing > 0 else { return nil }
        var groups: [UInt16] = []
        for part in head + tail {
            guard (1...4).contains(part.count), part.allSatisfy({ Byte.hexValue($0) != nil }) else { return nil }
            groups.append(part.reduce(0) { $0 << 4 | UInt16(Byte.hexValue($1) ?? 0) })
        }
        groups.insert(contentsOf: repeatElement(0, count: missing), at: head.count)
        self.groups = groups
    }

    /// The sixteen bytes in network order.
    var bytes: [UInt8] { self.groups.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } }

    /// The four bytes of an IPv4-mapped address, `::ffff:0:0/96`, or `nil`.
    var mappedIPv4: [UInt8]? {
        self.groups[..<5].allSatisfy { $0 == 0 } && self.groups[5] == 0xFFFF ? Array(self.bytes[12...]) : nil
    }

    /// The canonical text (RFC 5952 §4); an IPv4-mapped address ends in dotted decimal (§5).
    var description: String {
        if let mapped = self.mappedIPv4 { return "::ffff:" + mapped.map { String($0) }.joined(separator: ".") }
        let gap = self.longestGap
        let hexadecimal = { (range: Range<Int>) in
            self.groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard !gap.isEmpty else { return hexadecimal(0..<8) }
        return hexadecimal(0..<gap.lowerBound) + "::" + hexadecimal(gap.upperBound..<8)
    }

    /// The first of the longest runs of two or more zero groups, or an empty range.
    private var longestGap: Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || self.groups[index] != 0 {
            if index - start > max(1, longest.count) { longest = start..<index }
            start = index + 1
        }
        return longest
    }

    /// Parses a dotted decimal IPv4 address, or returns `nil`.
    static func ipv4(_ text: some Collection<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard part.count <= 3, let value = DecimalNumber.parse(part), let byte = UInt8(exactly: value) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
