// SPDX-License-Identifier: Apache-2.0
/// Paths of URLs and of rules in the form in which they are compared.
///
/// - Source: RFC 9309 §2.2.2.
enum RobotsPath {
    /// The path and the query of a URL, with every octet of another meaning percent-encoded.
    static func normalized(_ path: some Sequence<UInt8>) -> [UInt8] { self.normalize(Array(path), isPattern: false) }

    /// A rule's pattern; `*` and `$` keep their meaning.
    static func normalizedPattern(_ path: some Sequence<UInt8>) -> [UInt8] {
        self.normalize(Array(path), isPattern: true)
    }

    private static func normalize(_ path: [UInt8], isPattern: Bool) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            let byte = path[index]
            if byte == 0x25, index + 2 < path.count, let high = PercentEncoding.value(path[index + 1]),
                let low = PercentEncoding.value(path[index + 2])
            {
                let value = high << 4 | low
                if self.isUnreserved(value) { result.append(value) } else { self.encode(value, into: &result) }
                index += 3
                continue
            }
            // In a URL, a star and a dollar sign are ordinary characters.
            let isSpecial = byte == 0x2A || byte == 0x24
            if byte <= 0x20 || byte >= 0x7F || (isSpecial && !isPattern) {
                self.encode(byte, into: &result)
            } else {
                result.append(byte)
            }
            index += 1
        }
        return result
    }

    private static func encode(_ byte: UInt8, into result: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        result.append(0x25)
        result.append(digits[Int(byte >> 4)])
        result.append(digits[Int(byte & 15)])
    }

    /// RFC 3986 §2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    /// Whether a pattern matches the start of a path, or all of it if the pattern ends with `$`.
    ///
    /// - Parameters:
    ///   - pattern: The normalized pattern.
    ///   - path: The normalized path.
    ///   - steps: The permitted number of comparisons, which is reduced; 0 if they did not suffice.
    /// - Returns: Whether it matches.
    static func matches(_ pattern: [UInt8], _ path: [UInt8], steps: inout Int) -> Bool {
        var pattern = pattern[...]
        let isWhole = pattern.last == 0x24
        // A pattern that need not reach the end continues with anything.
        if isWhole { pattern.removeLast() }
        var (p, s) = (pattern.startIndex, 0)
        var star: (p: Int, s: Int)?
        while true {
            guard steps > 0 else { return false }
            steps -= 1
            if p == pattern.endIndex, !isWhole || s == path.count { return true }
            if p < pattern.endIndex, pattern[p] == 0x2A {
                star = (p + 1, s)
                p += 1
            } else if p < pattern.endIndex, s < path.count, pattern[p] == path[s] {
                (p, s) = (p + 1, s + 1)
            } else if let last = star, last.s < path.count {
                star = (last.p, last.s + 1)
                (p, s) = (last.p, last.s + 1)
            } else {
                return false
            }
        }
    }
}
