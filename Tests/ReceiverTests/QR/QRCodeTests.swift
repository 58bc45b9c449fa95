// SPDX-License-Identifier: Apache-2.0
import Files
import Testing
import TransferCore

@testable import Receiver

@Suite("QR codes")
struct QRCodeTests {
    private func rows(_ code: QRCode) -> String {
        (0..<code.size).map { row in (0..<code.size).map { code.isDark(row, $0) ? "1" : "0" }.joined() }
            .joined(separator: "\n")
    }

    @Test("are those of another encoder")
    func vectors() throws {
        // The first bytes of the SHA-256 of the rows, by python-qrcode 8.2 with the same mask.
        let vectors: [(String, Int, Int, String)] = [
            ("HELLO", 1, 0, "b664c5ebcc2451fb"),
            (
                "http://192.168.1.10:8080/.martlet-share/141ab8effef94aa33841cd353d3b9505/my%20file.txt", 6, 2,
                "5561f8c32a82385f"
            ),
            (String(repeating: "x", count: 122), 7, 3, "1f82c14a8ce9e010"),
            (String(repeating: "y", count: 300), 13, 5, "b6eb0b534da1406d"),
            (String(repeating: "z", count: 1000), 26, 6, "7bb371e1ac8451e2"),
            (String(repeating: "ä", count: 1165), 40, 7, "3a65da109c917706"),
            (String(repeating: "q", count: 213), 10, 0, "b041aa0dc4899871"),
            (String(repeating: "q", count: 214), 11, 1, "de1fb0f2d39f3d6e"),
            (String(repeating: "w", count: 14), 1, 2, "f5d4ce5784741ac8"),
            (String(repeating: "w", count: 15), 2, 4, "4dca6f4516308370"),
        ]
        for (text, version, mask, digest) in vectors {
            let code = try #require(QRCode(text, masks: [mask]))
            #expect(code.version == version)
            var running = RunningDigest(.sha256)
            Array(self.rows(code).utf8).withUnsafeBytes { running.update($0) }
            #expect(Hexadecimal.encode(running.finalized().prefix(8)) == digest, "version \(version)")
        }
    }

    @Test(
        "are read back, with correct error correction, in versions of every form",
        arguments: [1, 2, 6, 7, 9, 10, 14, 21, 32]
    )
    func decoding(version: Int) throws {
        let text = String((0..<QRBlocks(version).capacity).map { Character(Unicode.Scalar(UInt8(33 + $0 * 7 % 90))) })
        let code = try #require(QRCode(text, masks: [version % 8]))
        #expect(code.version == version)
        let reader = QRReader(code)
        #expect(reader.format == (level: 0, mask: code.mask))
        let blocks = reader.blocks
        #expect(blocks.allSatisfy { QRReader.isCodeword($0.all) })
        let data = blocks.flatMap { $0.data }
        #expect(QRReader.text(data, lengthBits: version < 10 ? 8 : 16) == text)
    }

    @Test("exist for up to 2331 bytes")
    func limits() {
        #expect(QRCode("")?.version == 1)
        #expect(QRCode(String(repeating: "a", count: 2331), masks: [0])?.version == 40)
        #expect(QRCode(String(repeating: "a", count: 2332)) == nil)
    }

    @Test("are drawn with a quiet zone, in SVG and in lines")
    func drawing() throws {
        let code = try #require(QRCode("HELLO"))
        #expect(code.svg.contains("viewBox=\"0 0 29 29\""))
        #expect(code.svg.contains("M4 4h7v1h-7z"))
        let lines = code.lines
        #expect(lines.count == 15)
        #expect(lines.allSatisfy { $0.count == 29 })
        #expect(lines[2].hasPrefix("████ ▄▄▄▄▄ "))
    }
}

/// Reads the codewords of a code, independently of the encoder.
private struct QRReader {
    let code: QRCode

    init(_ code: QRCode) { self.code = code }

    var version: Int { (self.code.size - 17) / 4 }

    /// The level's bits and the mask, from the copy at the upper left.
    var format: (level: Int, mask: Int) {
        let places =
            (0..<6).map { (8, $0) } + [(8, 7), (8, 8), (7, 8)] + (0..<6).reversed().map { ($0, 8) }
        let bits = places.reduce(0) { $0 << 1 | (self.code.isDark($1.0, $1.1) ? 1 : 0) } ^ 0b101_0100_0001_0010
        return (bits >> 13, (bits >> 10) & 7)
    }

    private func isFunction(_ row: Int, _ column: Int) -> Bool {
        let size = self.code.size
        if row == 6 || column == 6 { return true }
        if row < 9 && column < 9 || row < 9 && column >= size - 8 || row >= size - 8 && column < 9 { return true }
        if self.version >= 7, row < 6 && column >= size - 11 || column < 6 && row >= size - 11 { return true }
        let centres = Self.centres[self.version - 1]
        let last = centres.last ?? 0
        for y in centres {
            for x in centres where !(y == 6 && x == 6 || y == 6 && x == last || y == last && x == 6) {
                if abs(row - y) <= 2, abs(column - x) <= 2 { return true }
            }
        }
        return false
    }

    private func isInverted(_ row: Int, _ column: Int) -> Bool {
        let product = row * column
        return switch self.format.mask {
        case 0: (row + column).isMultiple(of: 2)
        case 1: row.isMultiple(of: 2)
        case 2: column.isMultiple(of: 3)
        case 3: (row + column).isMultiple(of: 3)
        case 4: (row / 2 + column / 3).isMultiple(of: 2)
        case 5: product.isMultiple(of: 6)
        case 6: (product % 2 + product % 3).isMultiple(of: 2)
        default: ((row + column) % 2 + product % 3).isMultiple(of: 2)
        }
    }

    private var codewords: [UInt8] {
        var bits: [Bool] = []
        let size = self.code.size
        let columns = Array(stride(from: size - 1, to: 6, by: -2)) + Array(stride(from: 5, to: 0, by: -2))
        for (index, right) in columns.enumerated() {
            for step in 0..<size {
                let row = index.isMultiple(of: 2) ? size - 1 - step : step
                for column in [right, right - 1] where !self.isFunction(row, column) {
                    bits.append(self.code.isDark(row, column) != self.isInverted(row, column))
                }
            }
        }
        return stride(from: 0, to: bits.count - 7, by: 8)
            .map { begin in bits[begin..<begin + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) } }
    }

    /// The blocks: their data, and these with the error correction codewords.
    var blocks: [(data: [UInt8], all: [UInt8])] {
        let blocks = QRBlocks(self.version)
        let codewords = self.codewords
        var data = [[UInt8]](repeating: [], count: blocks.count)
        var next = 0
        for index in 0..<(blocks.dataCounts.max() ?? 0) {
            for block in data.indices where index < blocks.dataCounts[block] {
                data[block].append(codewords[next])
                next += 1
            }
        }
        var all = data
        for _ in 0..<blocks.correction {
            for block in all.indices {
                all[block].append(codewords[next])
                next += 1
            }
        }
        return zip(data, all).map { ($0, $1) }
    }

    /// Whether the polynomial of the codewords has all roots of the generator.
    static func isCodeword(_ bytes: [UInt8]) -> Bool {
        var powers: [Int] = [1]
        for _ in 1..<255 {
            let doubled = (powers.last ?? 0) * 2
            powers.append(doubled > 255 ? doubled ^ 0x11D : doubled)
        }
        var logarithms = [Int](repeating: 0, count: 256)
        for (index, power) in powers.enumerated() { logarithms[power] = index }
        // Every level M block has at least ten codewords for error correction.
        return (0..<10)
            .allSatisfy { root in
                bytes.reduce(0) { sum, byte in
                    (sum == 0 ? 0 : powers[(logarithms[sum] + root) % 255]) ^ Int(byte)
                } == 0
            }
    }

    static func text(_ data: [UInt8], lengthBits: Int) -> String? {
        let bits = data.flatMap { byte in (0..<8).map { (byte >> UInt8(7 - $0)) & 1 } }
        func number(_ begin: Int, _ count: Int) -> Int { bits[begin..<begin + count].reduce(0) { $0 << 1 | Int($1) } }
        guard number(0, 4) == 4 else { return nil }
        let count = number(4, lengthBits)
        return String(decoding: (0..<count).map { UInt8(number(4 + lengthBits + 8 * $0, 8)) }, as: UTF8.self)
    }

    /// The centres of the alignment patterns, copied from annex E of the standard.
    private static let centres: [[Int]] = [
        [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50],
        [6, 30, 54],
        [6, 32, 58], [6, 34, 62], [6, 26, 46, 66], [6, 26, 48, 70], [6, 26, 50, 74], [6, 30, 54, 78], [6, 30, 56, 82],
        [6, 30, 58, 86], [6, 34, 62, 90], [6, 28, 50, 72, 94], [6, 26, 50, 74, 98], [6, 30, 54, 78, 102],
        [6, 28, 54, 80, 106], [6, 32, 58, 84, 110], [6, 30, 58, 86, 114], [6, 34, 62, 90, 118],
        [6, 26, 50, 74, 98, 122], [6, 30, 54, 78, 102, 126], [6, 26, 52, 78, 104, 130], [6, 30, 56, 82, 108, 134],
        [6, 34, 60, 86, 112, 138], [6, 30, 58, 86, 114, 142], [6, 34, 62, 90, 118, 146],
        [6, 30, 54, 78, 102, 126, 150],
        [6, 24, 50, 76, 102, 128, 154], [6, 28, 54, 80, 106, 132, 158], [6, 32, 58, 84, 110, 136, 162],
        [6, 26, 54, 82, 110, 138, 166], [6, 30, 58, 86, 114, 142, 170],
    ]
}
