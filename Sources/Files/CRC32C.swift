// SPDX-License-Identifier: Apache-2.0
/// CRC-32C (Castagnoli), as in RFC 3720 appendix B.4.
package enum CRC32C {
    private static let table: [UInt32] = (0..<256)
        .map { index -> UInt32 in
            (0..<8)
                .reduce(UInt32(index)) { value, _ in
                    value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1
                }
        }

    /// Computes the checksum of bytes.
    package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var value = UInt32.max
        for byte in bytes { value = (value >> 8) ^ Self.table[Int((value ^ UInt32(byte)) & 0xFF)] }
        return ~value
    }
}
