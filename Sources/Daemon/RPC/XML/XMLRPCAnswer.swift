// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The response to an XML-RPC message.
///
/// Pure value.
///
/// - Source: the XML-RPC specification (xmlrpc.com/spec.md); `i8` and `nil` are common extensions.
struct XMLRPCAnswer: Sendable {
    /// UTF-8 XML.
    private(set) var bytes: [UInt8]

    /// Writes a result or a fault.
    init(_ result: Result<JSON, RPCFailure>) {
        self.bytes = Array(#"<?xml version="1.0"?><methodResponse>"#.utf8)
        switch result {
        case .success(let value):
            self.append("<params><param>")
            self.write(value)
            self.append("</param></params>")
        case .failure(let failure):
            self.append("<fault>")
            self.write(failure.json(.xml, withData: false))
            self.append("</fault>")
        }
        self.append("</methodResponse>")
    }

    private mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

    private mutating func write(_ value: JSON) {
        self.append("<value>")
        switch value {
        case .null: self.append("<nil/>")
        case .bool(let flag): self.append("<boolean>\(flag ? 1 : 0)</boolean>")
        case .integer(let number):
            self.append(Int32(exactly: number) == nil ? "<i8>\(number)</i8>" : "<int>\(number)</int>")
        case .number(let number): self.append("<double>\(number)</double>")
        case .literal(let text): self.append("<double>\(text)</double>")
        case .string(let text):
            self.append("<string>")
            self.write(text)
            self.append("</string>")
        case .array(let elements):
            self.append("<array><data>")
            for element in elements { self.write(element) }
            self.append("</data></array>")
        case .object(let members):
            self.append("<struct>")
            for member in members {
                self.append("<member><name>")
                self.write(member.name)
                self.append("</name>")
                self.write(member.value)
                self.append("</member>")
            }
            self.append("</struct>")
        }
        self.append("</value>")
    }

    /// Writes character data; characters that XML does not have become U+FFFD.
    private mutating func write(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: self.append("&amp;")
            case 0x3C: self.append("&lt;")
            case 0x3E: self.append("&gt;")
            // A parser would make it a line feed.
            case 0x0D: self.append("&#13;")
            case 0x09, 0x0A, 0x20...0x7F: self.bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            case ..<0x20, 0xFFFE, 0xFFFF: self.append("\u{FFFD}")
            default: self.bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }
}
