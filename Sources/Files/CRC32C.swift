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
    ///
    /// Not generic: other modules cannot specialize it, and would call functions of the sequence for each byte.
    package static func checksum(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { Self.checksum($0) } }

    /// Computes the checksum of a part of an array.
    package static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.withUnsafeBytes { Self.checksum($0) } }

    /// Computes the checksum of bytes in memory.
    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        Self.table.withUnsafeBufferPointer { table in
            var value = UInt32.max
            // Bounds: the index has eight bits, and the table 256 entries.
            for byte in bytes { value = (value >> 8) ^ table[Int((value ^ UInt32(byte)) & 0xFF)] }
            return ~value
        }
    }
}
