// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting

@testable import Receiver

/// The parts of a form, found by splitting the whole of it: what a reader would write who need not care for pieces.
struct ReferenceForm: Equatable {
    var contents: [[UInt8]] = []
    var isWhole = false

    /// Reads a form whose boundary is `XX` as far as it is well-formed.
    init(_ form: [UInt8]) {
        let delimiter = Array("\r\n--XX".utf8)
        var pieces: [ArraySlice<UInt8>] = []
        let bytes = Array("\r\n".utf8) + form
        var start = 0
        var index = 0
        while index + delimiter.count <= bytes.count {
            if bytes[index..<index + delimiter.count].elementsEqual(delimiter) {
                pieces.append(bytes[start..<index])
                index += delimiter.count
                start = index
            } else {
                index += 1
            }
        }
        for piece in pieces.dropFirst() + [bytes[start...]] {
            let isLast = piece.endIndex == bytes.endIndex
            guard !piece.starts(with: "--".utf8) else {
                self.isWhole = true
                return
            }
            // The line of the delimiter, the fields, a blank line.
            let blank = piece.indices.first { piece[$0...].starts(with: "\r\n\r\n".utf8) }
            guard let blank else {
                // The blank line's end may be the delimiter's.
                guard !isLast, piece.suffix(2).elementsEqual("\r\n".utf8) else { return }
                self.contents.append([])
                continue
            }
            guard !isLast else { return }
            self.contents.append(Array(piece[(blank + 4)...]))
        }
    }
}

@Suite("A form parser agrees with splitting")
struct FormDifferentialTests {
    private static let part = "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
    private static let seeds = [
        "\(part)\r\nabc\r\n--XX--\r\n", "\(part)Content-Type: text/plain\r\n\r\n\r\n--X\r\n\(part)\r\nx\r\n--XX--",
        "preamble\r\n\(part)\r\n\r\n--XX--epilogue", "\(part)\r\n--XX--",
    ]
    private static let snippets = ["\r\n", "\r", "\n", "--XX", "--", "\r\n--XX", "\r\n--X", "\r\n\r\n", "X", " ", part]

    /// The parser's result; `nil` if it refuses.
    private static func parse(_ bytes: [UInt8], _ cuts: [Int]) -> (contents: [[UInt8]], isWhole: Bool)? {
        var parser = FormParser(boundary: Array("XX".utf8))
        var contents: [[UInt8]] = []
        var current: [UInt8] = []
        var start = 0
        for end in cuts + [bytes.count] {
            let piece = Array(bytes[start..<end])
            start = end
            let result = piece.withUnsafeBytes { input in
                Result { () throws(UploadRefusal) in
                    try parser.take(input) { (event) throws(UploadRefusal) in
                        switch event {
                        case .part: current = []
                        case .content(let more): current += more
                        case .partEnd: contents.append(current)
                        case .end: break
                        }
                    }
                }
            }
            guard case .success = result else { return nil }
        }
        return (contents, parser.isAtEnd)
    }

    @Test("what it takes has the parts that splitting finds, however the bytes are cut")
    func differential() {
        let rounds = getenv("MARTLET_FUZZ_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 4000
        var random = SeededGenerator(seed: 20_261_123)
        var agreed = 0
        for round in 0..<rounds {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1 where bytes.count > 1: bytes.remove(at: place)
                default:
                    let snippet = Self.snippets[Int.random(in: 0..<Self.snippets.count, using: &random)]
                    bytes.insert(contentsOf: snippet.utf8, at: place)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self).debugDescription
            let whole = Self.parse(bytes, [])
            let cuts = (0..<Int.random(in: 1...4, using: &random))
                .map { _ in Int.random(in: 0...bytes.count, using: &random) }
                .sorted()
            let cut = Self.parse(bytes, cuts)
            #expect(whole?.contents == cut?.contents, "cut at \(cuts): \(text)")
            #expect(whole?.isWhole == cut?.isWhole, "cut at \(cuts): \(text)")
            guard let whole else { continue }
            agreed += 1
            let reference = ReferenceForm(bytes)
            #expect(whole.contents == reference.contents, "\(text)")
            #expect(whole.isWhole == reference.isWhole, "\(text)")
        }
        #expect(agreed > rounds / 4)
    }
}
