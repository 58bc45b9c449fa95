// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Structured fields")
struct StructuredFieldTests {
    @Test(
        "Items of every type are parsed",
        arguments: [
            ("5", BareItem.integer(5)), (" -0  ", .integer(0)), ("-999999999999999", .integer(-999_999_999_999_999)),
            ("4.5", .decimal(thousandths: 4500)), ("-0.001", .decimal(thousandths: -1)),
            ("123456789012.123", .decimal(thousandths: 123_456_789_012_123)), ("\"a\\\"\\\\ b\"", .string("a\"\\ b")),
            ("\"\"", .string("")), ("*foo/b:ar", .token("*foo/b:ar")), ("aB#'+", .token("aB#'+")),
            (":aGk=:", .bytes([0x68, 0x69])), (":aGk:", .bytes([0x68, 0x69])), ("::", .bytes([])),
            ("?1", .boolean(true)), ("?0", .boolean(false)), ("@1659578233", .date(1_659_578_233)),
            ("@-5", .date(-5)), ("%\"f%c3%bc r\"", .displayString("fü r")),
        ]
    )
    func items(_ field: String, _ value: BareItem) {
        #expect(StructuredItem(field) == StructuredItem(value: value, parameters: [:]))
    }

    @Test(
        "A malformed item is rejected as a whole",
        arguments: [
            "", " ", "1 2", "? 1", "?2", "?", "? 0", "1,2", "1,", "1234567890123456", "1.", "1.1234", ".5", "--1",
            "- 1",
            "1234567890123.1", "+5", "\t5", "5\t", "\"a", "\"a\\x\"", "\"é\"", ":a:", ":a-_b:", ":aGk=", "aGk=:", "a b",
            "a=b", "(1 2)", "@1.5", "@", "%\"%C3%BC\"", "%\"%c3\"", "%\"%4\"", "%a", "5;", "5;A", "5;a=", "5 ;a",
            "5;=1",
            "é", "5\u{0}",
        ]
    )
    func malformedItems(_ field: String) { #expect(StructuredItem(field) == nil) }

    @Test("Parameters are parsed; the last of two counts, and a name alone means true")
    func parameters() {
        let item = StructuredItem("5;a;  b=tok;*c-d_e.f=\"x\";a=?0")
        #expect(item?.value == .integer(5))
        #expect(item?.parameters == ["a": .boolean(false), "b": .token("tok"), "*c-d_e.f": .string("x")])
    }

    @Test("An offset of two numbers is not one number, and a Boolean has no space in it")
    func conveniences() {
        #expect(StructuredItem.integer("1 2") == nil && StructuredItem.integer("12;a=1") == 12)
        #expect(StructuredItem.integer("-1") == nil && StructuredItem.integer("1.0") == nil)
        #expect(StructuredItem.integer(nil) == nil && StructuredItem.integer("5, 5") == nil)
        #expect(StructuredItem.boolean("? 1") == nil && StructuredItem.boolean("1") == nil)
        #expect(StructuredItem.boolean("?1;x") == true && StructuredItem.boolean(" ?0 ") == false)
    }

    @Test("Lists have items and inner lists, with optional white space around commas")
    func lists() {
        let item = { (value: BareItem) in StructuredItem(value: value, parameters: [:]) }
        #expect(StructuredFieldParser.list("") == [] && StructuredFieldParser.list("   ") == [])
        #expect(
            StructuredFieldParser.list("a \t,\t 1 , ( b  ?1 );p=2, ()") == [
                .item(item(.token("a"))), .item(item(.integer(1))),
                .innerList([item(.token("b")), item(.boolean(true))], parameters: ["p": .integer(2)]),
                .innerList([], parameters: [:]),
            ]
        )
        for field in ["a,", ",a", "a,,b", "a b", "(a", "(a,b)", "(a\"b\")", "a;", "(a b", "a,\t"] {
            #expect(StructuredFieldParser.list(field) == nil, "\(field)")
        }
    }

    @Test("Dictionaries keep the order of their members; the last value of a name counts")
    func dictionaries() throws {
        let members = try #require(StructuredFieldParser.dictionary("a=1, b , c;x=?0,  a=(2 3),*d=:AA==:"))
        #expect(members.map(\.name) == ["a", "b", "c", "*d"])
        #expect(members.map(\.value.value) == [nil, .boolean(true), .boolean(true), .bytes([0])])
        #expect(StructuredFieldParser.dictionary("")?.isEmpty == true)
        for field in ["A=1", "a =1", "a= 1", "a=", "a=1,", "=1", "1=1", "a=1 b=2", "a==1", "sha-256=:AA==:, B=1"] {
            #expect(StructuredFieldParser.dictionary(field) == nil, "\(field)")
        }
    }

    @Test("No text traps, and whatever follows an accepted item makes it malformed")
    func randomTexts() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("?10;=,()\"\\:%@ab*- \t.é/+".unicodeScalars)
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<12, using: &generator) {
                text.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            let field = String(text)
            _ = StructuredFieldParser.list(field)
            _ = StructuredFieldParser.dictionary(field)
            if StructuredItem(field) != nil { #expect(StructuredItem(field + " x") == nil, "\(field)") }
        }
    }
}
