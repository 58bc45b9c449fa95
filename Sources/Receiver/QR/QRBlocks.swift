// SPDX-License-Identifier: Apache-2.0
/// The blocks of codewords of a version at level M.
///
/// - Source: ISO/IEC 18004:2015, tables 7 and 9, §7.4 to §7.6.
struct QRBlocks {
    /// The version, 1 to 40.
    let version: Int
    /// The number of codewords.
    let total: Int
    let count: Int
    /// The number of error correction codewords of a block.
    let correction: Int

    private static let corrections = [
        10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    ]
    private static let counts = [
        1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29, 31,
        33,
        35, 37, 38, 40, 43, 45, 47, 49,
    ]

    /// - Precondition: The version is 1 to 40.
    init(_ version: Int) {
        self.version = version
        self.total = Self.modules(version) / 8
        self.count = Self.counts[version - 1]
        self.correction = Self.corrections[version - 1]
    }

    /// The number of modules for codewords.
    private static func modules(_ version: Int) -> Int {
        let all = (16 * version + 128) * version + 64
        guard version >= 2 else { return all }
        let patterns = version / 7 + 2
        return all - ((25 * patterns - 10) * patterns - 55) - (version >= 7 ? 36 : 0)
    }

    /// The number of data codewords.
    var data: Int { self.total - self.count * self.correction }

    /// The number of bits of the length in byte mode.
    var lengthBits: Int { self.version < 10 ? 8 : 16 }

    /// The maximum number of bytes in byte mode.
    var capacity: Int { (self.data * 8 - 4 - self.lengthBits) / 8 }

    /// The data codewords of bytes in byte mode, with padding.
    func codewords(of bytes: [UInt8]) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for shift in (0..<count).reversed() { bits.append((value >> shift) & 1 == 1) }
        }
        append(0b0100, 4)
        append(bytes.count, self.lengthBits)
        for byte in bytes { append(Int(byte), 8) }
        append(0, min(4, self.data * 8 - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var codewords = stride(from: 0, to: bits.count, by: 8)
            .map { begin in
                bits[begin..<begin + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
            }
        for padding in 0..<(self.data - codewords.count) { codewords.append(padding % 2 == 0 ? 0xEC : 0x11) }
        return codewords
    }

    /// The numbers of data codewords of the blocks: the last blocks have one more.
    var dataCounts: [Int] {
        let (short, long) = self.data.quotientAndRemainder(dividingBy: self.count)
        return (0..<self.count).map { short + ($0 < self.count - long ? 0 : 1) }
    }

    /// All codewords in the order in which they are placed.
    func interleaved(_ data: [UInt8]) -> [UInt8] {
        let generator = QRField.generator(self.correction)
        var blocks: [(data: [UInt8], correction: [UInt8])] = []
        var rest = data[...]
        for count in self.dataCounts {
            let block = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            blocks.append((block, QRField.remainder(block, generator)))
        }
        var codewords: [UInt8] = []
        for index in 0..<(blocks.last?.data.count ?? 0) {
            for block in blocks where index < block.data.count { codewords.append(block.data[index]) }
        }
        for index in 0..<self.correction {
            for block in blocks { codewords.append(block.correction[index]) }
        }
        return codewords
    }
}

/// Reed-Solomon codes over GF(256) with the polynomial 0x11D.
///
/// - Source: ISO/IEC 18004:2015 §7.5.2.
enum QRField {
    /// The product of two elements.
    static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product = 0
        for shift in (0..<8).reversed() {
            product = (product << 1) ^ ((product >> 7) * 0x11D)
            if (right >> UInt8(shift)) & 1 == 1 { product ^= Int(left) }
        }
        return UInt8(product)
    }

    /// The coefficients of the generator polynomial of a degree, without the leading 1.
    static func generator(_ degree: Int) -> [UInt8] {
        var coefficients = [UInt8](repeating: 0, count: degree)
        coefficients[degree - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                coefficients[index] = self.product(coefficients[index], root)
                if index + 1 < degree { coefficients[index] ^= coefficients[index + 1] }
            }
            root = self.product(root, 2)
        }
        return coefficients
    }

    /// The error correction codewords of a block.
    static func remainder(_ data: [UInt8], _ generator: [UInt8]) -> [UInt8] {
        var remainder = [UInt8](repeating: 0, count: generator.count)
        for byte in data {
            let factor = byte ^ remainder.removeFirst()
            remainder.append(0)
            for index in remainder.indices { remainder[index] ^= self.product(generator[index], factor) }
        }
        return remainder
    }
}
