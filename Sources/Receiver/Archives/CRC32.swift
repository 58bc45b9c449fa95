// SPDX-License-Identifier: Apache-2.0
/// The running CRC-32 of zip archives, eight bytes at a time.
///
/// - Source: ISO 3309, APPNOTE.TXT 6.3.10 §4.4.7; Kounavis and Berry 2005 for the tables.
struct CRC32: Sendable {
    private var register: UInt32 = 0xFFFF_FFFF

    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for index in 0..<2048 {
            guard index < 256 else {
                let previous = tables[index - 256]
                tables.append((previous >> 8) ^ tables[Int(previous & 0xFF)])
                continue
            }
            var value = UInt32(index)
            for _ in 0..<8 {
                let half = value >> 1
                value = value & 1 == 1 ? half ^ 0xEDB8_8320 : half
            }
            tables.append(value)
        }
        return tables
    }()

    /// The checksum of all bytes so far.
    var value: UInt32 { ~self.register }

    /// Adds bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var value = self.register
        Self.tables.withUnsafeBufferPointer { tables in
            // Bounds: the tables have 2,048 elements, and each index is below 256 more than a multiple of 256 up to 1,792.
            var index = 0
            while index + 8 <= bytes.count {
                let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)) ^ value
                let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self))
                let first = tables[1792 + Int(low & 0xFF)] ^ tables[1536 + Int((low >> 8) & 0xFF)]
                let second = tables[1280 + Int((low >> 16) & 0xFF)] ^ tables[1024 + Int(low >> 24)]
                let third = tables[768 + Int(high & 0xFF)] ^ tables[512 + Int((high >> 8) & 0xFF)]
                let fourth = tables[256 + Int((high >> 16) & 0xFF)] ^ tables[Int(high >> 24)]
                value = first ^ second ^ third ^ fourth
                index += 8
            }
            while index < bytes.count {
                let low = (value ^ UInt32(bytes[index])) & 0xFF
                value = (value >> 8) ^ tables[Int(low)]
                index += 1
            }
        }
        self.register = value
    }
}
