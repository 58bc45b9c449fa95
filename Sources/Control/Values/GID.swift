// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A transfer's identifier in the daemon, as in aria2: 64 bits, written as 16 hexadecimal digits; never zero.
public struct GID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt64

    /// Creates an identifier from its number.
    ///
    /// - Returns: `nil` for zero.
    public init?(rawValue: UInt64) {
        guard rawValue != 0 else { return nil }
        self.rawValue = rawValue
    }

    /// Parses 16 hexadecimal digits, of either case.
    ///
    /// - Returns: `nil` for anything else.
    public init?(_ text: some StringProtocol) {
        var text = String(text)
        let value = text.withUTF8 { digits in
            digits.count == 16 ? digits.reduce(into: UInt64?.some(0)) { $0 = Self.appending($1, to: $0) } : nil
        }
        guard let value else { return nil }
        self.init(rawValue: value)
    }

    private static func appending(_ digit: UInt8, to number: UInt64?) -> UInt64? {
        guard let number else { return nil }
        switch digit {
        case 0x30...0x39: return number << 4 | UInt64(digit - 0x30)
        case 0x41...0x46, 0x61...0x66: return number << 4 | UInt64((digit | 0x20) - 0x61 + 10)
        default: return nil
        }
    }

    /// A random identifier.
    public static func random() -> GID {
        var random = SystemRandom()
        return GID(number: UInt64.random(in: 1...UInt64.max, using: &random))
    }

    private init(number: UInt64) { self.rawValue = number }

    /// Sixteen hexadecimal digits in lower case.
    public var description: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            // Bounds: the capacity is 16.
            var rest = self.rawValue
            for index in (0..<16).reversed() {
                let digit = UInt8(truncatingIfNeeded: rest & 0xF)
                digits[index] = digit < 10 ? 0x30 + digit : 0x61 + digit - 10
                rest >>= 4
            }
            return 16
        }
    }

    /// Compares the numbers.
    public static func < (left: GID, right: GID) -> Bool { left.rawValue < right.rawValue }
}
