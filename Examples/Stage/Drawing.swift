// SPDX-License-Identifier: Apache-2.0
/// Draws pictures, so that the examples have some: a swift over a sky, other in each picture.
enum Drawing {
    /// Makes a picture in the format PNG, without compression.
    ///
    /// - Parameters:
    ///   - number: Chooses the sky's colour and the bird's place.
    ///   - width: In pixels.
    ///   - height: In pixels.
    /// - Returns: The file's content.
    /// - Source: the PNG specification, https://www.w3.org/TR/png-3/.
    static func png(_ number: Int, width: Int = 160, height: Int = 120) -> [UInt8] {
        var rows: [UInt8] = []
        for y in 0..<height {
            rows.append(0)
            for x in 0..<width { rows += Self.pixel(number, Double(x) / Double(width), Double(y) / Double(height)) }
        }
        // Stored blocks of at most 65,535 bytes between the header and the checksum of zlib's format (RFC 1950, RFC 1951).
        var stream: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: rows.count, by: 65535) {
            let block = rows[start..<min(start + 65535, rows.count)]
            let count = UInt16(block.count)
            stream.append(start + block.count == rows.count ? 1 : 0)
            stream += [UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)] + block
        }
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in rows {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        stream += Self.bytes(high << 16 | low)
        let head = Self.bytes(UInt32(width)) + Self.bytes(UInt32(height)) + [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", head) + Self.chunk("IDAT", stream)
            + Self.chunk("IEND", [])
    }

    /// The colour at a place from 0 to 1 in both directions.
    private static func pixel(_ number: Int, _ x: Double, _ y: Double) -> [UInt8] {
        let (left, top) = (0.3 + 0.4 * Double(number * 7 % 10) / 10, 0.3 + 0.4 * Double(number * 3 % 10) / 10)
        let (across, down) = (abs(x - left), y - top)
        // Two sickle-shaped wings and a body.
        let isWing =
            across < 0.28 && down > across * across * 3 - 0.05 && down < across * across * 2 + 0.02 - across * 0.05
        let isBody = across < 0.025 && down > -0.08 && down < 0.16
        if isWing || isBody { return [40, 36, 44] }
        let light = 1 - 0.45 * y
        let (red, green) = (Double(90 + number * 37 % 120), Double(120 + number * 23 % 90))
        return [UInt8(red * light), UInt8(green * light), UInt8(235 * light)]
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let bytes = Array(name.utf8) + content
        return Self.bytes(UInt32(content.count)) + bytes + Self.bytes(Self.checksum(bytes))
    }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - $0 * 8)) }
    }

    /// CRC-32.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var checksum = ~UInt32(0)
        for byte in bytes {
            checksum ^= UInt32(byte)
            for _ in 0..<8 { checksum = checksum & 1 == 1 ? checksum >> 1 ^ 0xEDB8_8320 : checksum >> 1 }
        }
        return ~checksum
    }
}
