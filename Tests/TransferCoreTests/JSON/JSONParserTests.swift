// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct JSONParserTests {
    private static let values: [(String, JSON)] = [
        ("null", JSON.null), (" true\n", true), ("\tfalse\r", false), ("0", 0), ("-0", .literal("-0")), ("12", 12),
        ("-7", -7),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .literal("9223372036854775808")), ("1.5", .number(1.5)), ("1e2", .literal("1e2")),
        ("1E+2", .literal("1E+2")), ("25e-1", .literal("25e-1")), ("-0.0", .number(-0.0)),
        ("1e-400", .literal("1e-400")),
        (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"), (#""\u00fcÜ""#, "üÜ"),
        (#""\ud83d\ude00😀""#, "😀😀"), (#""\uD83D""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"),
        (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\ud83dA""#, "\u{FFFD}A"), (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
        (#""\u0000""#, "\u{0}"), ("\"\u{7F}\"", "\u{7F}"), ("[]", []), ("[ ]", []), ("{}", .object([])),
        ("{ }", .object([])),
        ("[1, [2 ,[]],{}]", [1, [2, []], .object([])]),
        (#" { "b" : 1 , "a":[ null ] } "#, .object([.init("b", 1), .init("a", [.null])])),
    ]

    @Test(
        "a number is written as it was read, and has its value",
        arguments: ["1e2", "100.0", "1E+2", "1000e-1", "100"]
    )
    func numbersKeepTheirText(_ text: String) throws {
        let json = try JSON(parsing: text)
        #expect(json.text == text && json.integer == 100 && json.double == 100)
        #expect(try JSON(parsing: "[18446744073709551616]").text == "[18446744073709551616]")
        #expect(try JSON(parsing: "-0").integer == 0 && JSON(parsing: "2.5").integer == nil)
    }

    @Test(arguments: Self.values)
    func whatIsJSONIsRead(text: String, value: JSON) throws {
        #expect(try JSON(parsing: text) == value)
    }

    @Test(
        arguments: [
            "", " ", "nul", "nulll", "True", "tru e", "00", "01", "-01", "-", "+1", "1.", ".5", "1.e2", "1e", "1e+",
            "0x1",
            "1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1 2", "1,", "[", "]", "[1", "[1,", "[1,]", "[,1]",
            "[1 2]",
            "[1}", "{", "}", "{1:2}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}", "{\"a\" 1}", "{,}", "{a:1}",
            "'a'", "\"",
            "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"", "\"a\nb\"",
            "\"\u{0}\"",
            "\"\u{1F}\"", "\u{FEFF}1", "//\n1", "[1]]", "{}{}", "\u{A0}1",
        ]
    )
    func whatIsNoJSONIsAnError(text: String) {
        #expect(throws: SyntaxError.self) { try JSON(parsing: text) }
    }

    @Test func ofANameThatComesTwiceTheLastOneCounts() throws {
        let value = try JSON(parsing: #"{"a":1,"b":2,"a":3}"#)
        #expect(value["a"] == 3)
        #expect(value.object?.count == 3)
    }

    @Test func nestingIsBounded() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let nested = { (depth: Int) in
                String(repeating: open, count: depth) + (open == "[" ? "" : "1")
                    + String(repeating: close, count: depth)
            }
            #expect(throws: Never.self) { try JSON(parsing: nested(64)) }
            #expect(throws: SyntaxError.self) { try JSON(parsing: nested(65)) }
            #expect(throws: Never.self) { try JSON(parsing: nested(3), depth: 3) }
            #expect(throws: SyntaxError.self) { try JSON(parsing: nested(4), depth: 3) }
            // Far beyond what a stack could take, and without an end.
            #expect(throws: SyntaxError.self) { try JSON(parsing: String(repeating: open, count: 1_000_000)) }
        }
        #expect(try JSON(parsing: "1", depth: 0) == 1)
        #expect(throws: SyntaxError.self) { try JSON(parsing: "[]", depth: 0) }
    }

    @Test func aNumberIsBoundedInLength() {
        #expect(throws: SyntaxError.self) { try JSON(parsing: String(repeating: "1", count: 100_000)) }
        #expect(throws: SyntaxError.self) { try JSON(parsing: "0." + String(repeating: "1", count: 100_000)) }
    }

    @Test func anErrorTellsItsPlace() {
        let error = #expect(throws: SyntaxError.self) { try JSON(parsing: "[1, x]") }
        #expect(error?.offset == 4)
        #expect(error?.description.hasSuffix("at byte 4") == true)
    }

    @Test func bytesThatAreNotUTF8AreRepairedInsideStrings() throws {
        #expect(try JSON(parsing: [0x22, 0x61, 0xFF, 0x22]) == "a\u{FFFD}")
        // The slow path of strings, which an escape leads to, does the same.
        #expect(try JSON(parsing: [0x22, 0x5C, 0x6E, 0xFF, 0xC3, 0xA4, 0x22]) == "\n\u{FFFD}ä")
        #expect(throws: SyntaxError.self) { try JSON(parsing: [0xFF]) }
    }

    @Test func everyCollectionOfBytesIsRead() throws {
        let bytes = Array(#"xx{"a":[1,2]}yy"#.utf8)
        #expect(try JSON(parsing: bytes[2..<13]) == ["a": [1, 2]])
        #expect(try JSON(parsing: bytes[2..<13].lazy.map { $0 }) == ["a": [1, 2]])
        #expect(try JSON(parsing: #"{"a":1}"#.utf8) == ["a": 1])
    }

    @Test func accessAnswersNilWhereTheValueIsOfAnotherKind() {
        let value: JSON = ["a": [1, "x"], "n": .number(2.5)]
        #expect(value["a"]?[1] == "x" && value["a"]?[2] == nil && value["a"]?[-1] == nil && value[0] == nil)
        #expect(value["a"]?["a"] == nil && value["b"] == nil)
        #expect(value["n"]?.double == 2.5 && value["n"]?.integer == nil && value["a"]?[0]?.double == 1)
        #expect(value.string == nil && value.bool == nil && value.array == nil && !value.isNull && JSON.null.isNull)
        #expect(JSON.optional(String?.none) == .null && JSON.optional(Int64(3)) == 3)
    }
}
