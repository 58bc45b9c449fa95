// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite struct HTTPDateTests {
    /// RFC 9110 §5.6.7.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("sun, 06 nov 1994 08:49:37 gmt", 784_111_777), ("Wednesday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Mon, 01 Jan 1900 00:00:00 GMT", -2_208_988_800),
        ] as [(String, Int64)]
    )
    func allThreeFormsAreRead(_ text: String, _ seconds: Int64) { #expect(HTTPDate.parse(text) == seconds) }

    @Test(arguments: [
        "", "0", "-1", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Tue, 29 Feb 2001 12:00:00 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Xyz 1994 08:49:37 GMT",
        "Sunday, 06-Nov-994 08:49:37 GMT", "Sun, 06 Nov 1994 ::: GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
    ])
    func malformedDatesAreNone(_ text: String) { #expect(HTTPDate.parse(text) == nil) }

    @Test func whatIsWrittenIsReadAgain() {
        #expect(HTTPDate.format(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(-1) == "Wed, 31 Dec 1969 23:59:59 GMT")
        #expect(HTTPDate.format(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.format(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator)
            #expect(HTTPDate.parse(HTTPDate.format(seconds)) == seconds)
        }
    }
}

@Suite struct ContentRangeTests {
    @Test func inclusiveRangesBecomeHalfOpen() throws {
        let full = try #require(ContentRange("bytes 0-499/1234"))
        #expect(full.range == 0..<500 && full.total == 1234)
        let unknown = try #require(ContentRange("Bytes 42-1233/*"))
        #expect(unknown.range == 42..<1234 && unknown.total == nil)
        let unsatisfied = try #require(ContentRange("bytes */1234"))
        #expect(unsatisfied.range == nil && unsatisfied.total == 1234)
        #expect(ContentRange("  bytes  0 - 0 / 1 ")?.range == 0..<1)
        #expect(ContentRange("bytes 0-9223372036854775806/*")?.range == 0..<Int64.max)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes=0-1/2", "bytes 0-1", "bytes 0-1/", "bytes -1/5", "bytes 0-/5", "bytes 5-4/10",
        "bytes 0-10/10", "bytes 0-1/2/3", "bytes */*", "bytes 0-1-2/9", "items 0-1/2", "bytes 0x0-1/2", "bytes -1-1/2",
        "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*", "bytes 0-1/99999999999999999999",
        "bytes +0-1/2", "bytes 0-1,4-5/9", "bytes0-1/2", "bytes 0-1/-5",
    ])
    func malformedRangesAreNone(_ text: String) { #expect(ContentRange(text) == nil) }

    @Test func requestsNameTheLastByte() {
        #expect(RangeField.bytes(0..<500) == "bytes=0-499")
        #expect(RangeField.bytes(500..<501) == "bytes=500-500")
        #expect(RangeField.bytes(from: 7) == "bytes=7-")
        #expect(RangeField.bytes(7..<7) == "bytes=7-7")
    }
}

@Suite struct EntityTagTests {
    @Test func entityTagsHaveTheirSyntax() {
        for tag in ["\"\"", "\"xyzzy\"", "W/\"x\"", "W/\"\"", "\"a,b\"", "\"é\""] { #expect(EntityTag.isValid(tag)) }
        for tag in ["", "\"", "W/", "x", "w/\"x\"", "\"a\"b\"", "\"a\nb\"", "W/\"", "\"a\u{7F}\""] {
            #expect(!EntityTag.isValid(tag))
        }
    }
}

@Suite struct RetryAfterTests {
    @Test(
        arguments: [
            ("120", 120), (" 0 ", 0), ("99999999999999999999999", .max), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("-5", nil), ("", nil), ("soon", nil), ("1.5", nil),
        ] as [(String, Int64?)]
    )
    func secondsAndDatesAreReadAndNeverNegative(_ field: String, _ seconds: Int64?) {
        #expect(RetryAfter.seconds(field, now: 784_111_740) == seconds)
    }

    @Test func extremeClocksDoNotOverflow() {
        #expect(RetryAfter.seconds("Sun, 06 Nov 1994 08:49:37 GMT", now: .min) == .max)
        #expect(RetryAfter.seconds("Mon, 01 Jan 1900 00:00:00 GMT", now: .max) == 0)
    }
}

@Suite struct ContentDispositionTests {
    @Test(
        arguments: [
            ("attachment; filename=example.html", "example.html"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
            ("Attachment; FileName = \"x\" ; foo=bar", "x"), ("inline;filename=\"a\\\"b\\\\c\"", "a\"b\\c"),
            ("attachment; filename*= UTF-8''%e2%82%ac%20rates", "€ rates"),
            ("attachment; filename=\"EURO rates\"; filename*=utf-8''%e2%82%ac%20rates", "€ rates"),
            ("attachment; filename*=utf-8'en'a; filename=b", "a"), ("attachment; filename*=iso-8859-1''%A3", "£"),
            ("attachment; filename*=koi8-r''%A3; filename=b", "b"),
            ("attachment; filename*=utf-8''%ff; filename=b", "b"),
            ("attachment; filename*=nonsense; filename=b", "b"), ("attachment; filename*=utf-8''; filename=b", "b"),
            ("filename=plain.txt", "plain.txt"), ("attachment; filename=a b c.txt ; x", "a b c.txt"),
            ("attachment; filename=\"unfinished", "unfinished"),
            ("attachment; filename=\"naïve 例.txt\"", "naïve 例.txt"),
            ("attachment; filename=\"C:\\dir\\f.txt\"", "C:\\dir\\f.txt"), ("attachment; filename=a; filename=b", "a"),
            ("attachment; xfilename=a; filename=\"x;y=z\"", "x;y=z"),
            ("attachment; filename=\"foo-%41.html\"", "foo-%41.html"),
            (";;;filename=q", "q"), ("attachment; filename=\"a\" junk; filename=b", "a"),
            ("attachment; filename*=\"utf-8''a%20b\"", "a b"), ("attachment; filename=\"x\\", "x\\"),
            ("attachment", nil), ("", nil), ("attachment; filename=", nil), ("attachment; filename=\"\"", nil),
            ("attachment; filename", nil), ("=;=;\"", nil),
        ] as [(String, String?)]
    )
    func namesAreReadAsFarAsTheirMeaningIsPlain(_ field: String, _ name: String?) {
        #expect(ContentDisposition(field).fileName == name)
    }

    @Test func theTypeIsLowerCase() {
        #expect(ContentDisposition("ATTACHMENT ; filename=x").type == "attachment")
        #expect(ContentDisposition("filename=x").type == "")
    }
}

@Suite struct ReasonPhraseTests {
    @Test func everyStatusHasAPhrase() {
        #expect(ReasonPhrase.of(206) == "Partial Content")
        #expect(ReasonPhrase.of(416) == "Range Not Satisfiable")
        #expect(ReasonPhrase.of(599) == "Server Error")
        #expect(ReasonPhrase.of(-1) == "Unknown Status")
    }
}

@Suite struct HeaderFieldsTests {
    private func block(_ fields: HeaderFields) -> String? {
        fields.withSendableBlock { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Fields that were only appended are sent as one block; others are not")
    func sendable() {
        var fields: HeaderFields = ["Accept": "*/*", "X": ""]
        #expect(self.block(fields) == "Accept: */*\r\nX: \r\n")
        fields["x"] = nil
        #expect(self.block(fields) == nil && fields["Accept"] == "*/*" && fields.count == 1)
        var replaced: HeaderFields = ["A": "1", "B": "2"]
        replaced["A"] = "3"
        #expect(self.block(replaced) == nil && replaced.map(\.value) == ["3", "2"])
        for (name, value) in [("", "x"), ("A B", "x"), ("A", "x\ny"), ("A", "x\ry"), ("A", "x\0y"), ("A:", "x")] {
            #expect(self.block(["Accept": "*/*", name: value]) == nil)
        }
        #expect(self.block(["A": "tab\tand ä"]) == "A: tab\tand ä\r\n")
        #expect(self.block([:]) == "")
    }

    @Test func namesCompareWithoutCaseAndKeepTheirOrder() {
        var fields: HeaderFields = ["A": "1", "b": "2", "a": "3"]
        #expect(fields["a"] == "1")
        #expect(fields.values("A") == ["1", "3"])
        #expect(fields.joined("A") == "1, 3")
        #expect(fields.contains("B") && !fields.contains("c"))
        fields.remove("a")
        #expect(fields.count == 1 && fields["A"] == nil && fields["B"] == "2")
        #expect(fields.joined("a") == nil)
    }

    @Test("A name that is known only at run time gets, sets and removes fields, whatever the case of its letters")
    func runtimeNames() {
        var fields: HeaderFields = ["X-A": "1", "X-B": "2", "x-a": "3"]
        let name = ["x", "A"].joined(separator: "-")
        #expect(fields[name] == "1")
        fields[name] = "4"
        #expect(fields.map(\.name) == [name, "X-B"] && fields.map(\.value) == ["4", "2"])
        fields["New"] = "5"
        #expect(fields.map(\.name) == [name, "X-B", "New"])
        fields[name] = nil
        #expect(!fields.contains("X-A") && fields.count == 2)
        fields["missing"] = nil
        #expect(fields.count == 2)
    }

    @Test("Fields are a sequence in their order, and equal whatever the case of their names")
    func sequenceAndEquality() {
        let fields: HeaderFields = ["B": "1", "a": "2", "b": "1"]
        #expect(fields.map { "\($0.name): \($0.value)" } == ["B: 1", "a: 2", "b: 1"])
        #expect(fields.first { $0.name == "a" }?.value == "2")
        #expect(fields == ["b": "1", "A": "2", "B": "1"])
        #expect(Set([fields, ["b": "1", "A": "2", "B": "1"]]).count == 1)
        #expect(fields != ["a": "2", "B": "1", "b": "1"], "the order counts")
        #expect(fields != ["B": "1", "a": "3", "b": "1"] && fields != ["B": "1", "a": "2"])
        // Equal after changes that leave other bytes behind.
        var changed: HeaderFields = ["B": "x", "a": "2"]
        changed["B"] = "1"
        #expect(changed == ["B": "1", "a": "2"])
        #expect(HeaderFields() == [:] && HeaderFields().isEmpty)
    }

    @Test("A value that is no UTF-8 is read as ISO 8859-1, so that no byte is lost")
    func latin1() {
        var fields = HeaderFields()
        for value in [[0x63, 0x61, 0x66, 0xE9], [0x63, 0x61, 0x66, 0xC3, 0xA9], [0xFF, 0x80, 0xC3]] as [[UInt8]] {
            Array("X".utf8).withUnsafeBytes { name in value.withUnsafeBytes { fields.append(name: name, value: $0) } }
        }
        #expect(fields.values("x") == ["café", "café", "\u{FF}\u{80}\u{C3}"])
        #expect(fields["x"] == "café" && fields.map(\.value).count == 3)
        var bytes: [[UInt8]] = []
        fields.forEachLine { bytes.append(Array($1)) }
        #expect(bytes[0] == [0x63, 0x61, 0x66, 0xE9])
    }
}
