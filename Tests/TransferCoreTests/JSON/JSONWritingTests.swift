// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct JSONWritingTests {
    private static let values: [(JSON, String)] = [
        (JSON.null, "null"), (true, "true"), (.integer(.min), "-9223372036854775808"), (.number(1.5), "1.5"),
        (.number(.nan), "null"), (.number(-.infinity), "null"),
        ("a\"\\/\n\r\t\u{0}\u{1F}\u{7F}ü😀", #""a\"\\/\n\r\t\u0000\u001f\u007fü😀""#),
        ([1, [], .object([])], "[1,[],{}]"), (.object([.init("b", 1), .init("a", .null)]), #"{"b":1,"a":null}"#),
    ]

    @Test(arguments: Self.values)
    func valuesAreWrittenInOneLine(value: JSON, text: String) { #expect(value.text == text) }

    @Test(arguments: 0..<4) func whatIsWrittenIsReadAsTheSame(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let value = Self.value(&random, depth: 5)
            #expect(try JSON(parsing: value.bytes) == value)
        }
    }

    /// Random input is an error or a value, and a value survives being written.
    @Test(arguments: 0..<4) func mutatedTextNeverTraps(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &+ 100)
        let alphabet = Array(#"[]{}",:\u0123456789eE+-.ntfalsrd"#.utf8) + [0, 0x1F, 0x80, 0xC3, 0xED, 0xFF]
        for _ in 0..<3000 {
            var bytes = Self.value(&random, depth: 3).bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes.insert(alphabet[Int.random(in: 0..<alphabet.count, using: &random)], at: place)
                case 1: bytes.removeSubrange(place..<min(bytes.count, place + 3))
                default: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
                }
            }
            if let value = try? JSON(parsing: bytes) { #expect(try JSON(parsing: value.bytes) == value) }
        }
    }

    private static func value(_ random: inout SeededGenerator, depth: Int) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .integer(Int64(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random)))
        // A fraction, so that it is not read as an integer.
        case 3: .number(Double(Int.random(in: -1_000_000...1_000_000, using: &random)) + 0.25)
        case 4, 5: .string(Self.text(&random))
        case 6: .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in Self.value(&random, depth: depth - 1) })
        default:
            .object(
                (0..<Int.random(in: 0..<5, using: &random))
                    .map { _ in JSON.Member(Self.text(&random), Self.value(&random, depth: depth - 1)) }
            )
        }
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<8, using: &random) {
            let limit: UInt32 = Bool.random(using: &random) ? 0x80 : 0x110000
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }
}
