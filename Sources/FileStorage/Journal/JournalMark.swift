// SPDX-License-Identifier: Apache-2.0
/// A number in the journal with its own checksum, so that one 8-byte store updates both.
///
/// The low 48 bits are the value, the high 16 bits its CRC-16 (CCITT), initialized with a salt for the slot and the
/// field. This detects damaged bytes as well as pages in the wrong place.
enum JournalMark {
    /// The maximum value: 256 TiB less one byte.
    static let maximum: Int64 = (1 << 48) - 1

    private static let table: [UInt16] = (0..<256)
        .map { index -> UInt16 in
            (0..<8)
                .reduce(UInt16(index) << 8) { value, _ in
                    value & 0x8000 != 0 ? (value << 1) ^ 0x1021 : value << 1
                }
        }

    /// Encodes a value in `0...maximum`.
    static func encode(_ value: Int64, salt: UInt16) -> UInt64 {
        let low = UInt64(bitPattern: value) & UInt64(Self.maximum)
        return low | UInt64(Self.check(low, salt)) << 48
    }

    /// Decodes a word; `nil` if the checksum is wrong.
    static func decode(_ word: UInt64, salt: UInt16) -> Int64? {
        let low = word & UInt64(Self.maximum)
        return UInt16(word >> 48) == Self.check(low, salt) ? Int64(low) : nil
    }

    private static func check(_ low: UInt64, _ salt: UInt16) -> UInt16 {
        var value = ~salt
        // Bounds: the table has 256 elements, and the index is a byte.
        Self.table.withUnsafeBufferPointer { table in
            for shift in stride(from: 0, to: 48, by: 8) {
                let byte = UInt8(truncatingIfNeeded: low >> UInt64(shift))
                value = (value << 8) ^ table[Int(UInt8(value >> 8) ^ byte)]
            }
        }
        return value
    }
}
