// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Hexadecimal digits and Base64")
struct EncodingTests {
    @Test("the examples of RFC 4648 §10")
    func examples() {
        let examples = [
            ("", "", ""), ("f", "Zg==", "66"), ("fo", "Zm8=", "666f"), ("foo", "Zm9v", "666f6f"),
            ("foob", "Zm9vYg==", "666f6f62"), ("fooba", "Zm9vYmE=", "666f6f6261"),
            ("foobar", "Zm9vYmFy", "666f6f626172"),
        ]
        for (text, base64, digits) in examples {
            let bytes = Array(text.utf8)
            #expect(Base64.encode(bytes) == base64)
            #expect(Base64.decode(base64.utf8) == bytes)
            #expect(Hexadecimal.encode(bytes) == digits)
            #expect(Hexadecimal.decode(digits.utf8) == bytes)
        }
    }

    @Test("every byte, and of any sequence")
    func everyByte() {
        let bytes = Array(UInt8.min ... .max)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes).utf8) == bytes)
        #expect(Hexadecimal.decode(Hexadecimal.encode(bytes).uppercased().utf8) == bytes)
        #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
        #expect(Hexadecimal.encode(bytes.reversed()).hasPrefix("fffefdfc"))
    }

    @Test("other texts are refused", arguments: ["0", "0g", "g0", " 0", "00 "])
    func refused(text: String) { #expect(Hexadecimal.decode(text.utf8) == nil) }

    @Test("malformed Base64 is refused", arguments: ["A", "AA=", "AAA==", "A A=", "AA==A", "===="])
    func refusedBase64(text: String) { #expect(Base64.decode(text.utf8) == nil) }
}
