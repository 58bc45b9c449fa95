// SPDX-License-Identifier: Apache-2.0
import TransferCore
/// Splits an XML document into tags and texts.
///
/// Pure value. It accepts the part of XML that XML-RPC needs: elements, comments, CDATA sections, the five predefined
/// entities and character references. A document type declaration is an error, so that no entity can be defined, and
/// processing instructions are too. Attributes are checked and skipped.
///
/// - Source: XML 1.0 (fifth edition).
struct XMLScanner {
    /// A part of the document.
    enum Token: Sendable, Hashable {
        /// A start tag.
        case start(String)
        /// An end tag; an empty-element tag is a start tag and an end tag.
        case end(String)
        /// Character data between two tags, with references resolved and line ends normalized; never empty.
        case text(String)
    }

    /// The maximum length of a name in bytes.
    static let longestName = 64

    private let input: ArraySlice<UInt8>
    private let first: Int
    private var position: Int
    /// The end tag of an empty-element tag that was returned as a start tag.
    private var pending: String?

    /// Creates a scanner at the beginning of a document in UTF-8.
    ///
    /// - Throws: ``SyntaxError`` if the XML declaration is malformed or names another encoding.
    init(_ bytes: [UInt8]) throws(SyntaxError) {
        self.input = bytes[...]
        self.first = bytes.startIndex
        self.position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        try self.skipDeclaration()
    }

    /// Returns the next part, or `nil` at the end of the document.
    mutating func next() throws(SyntaxError) -> Token? {
        if let name = self.pending.take() { return .end(name) }
        var text: [UInt8] = []
        while self.position < self.input.endIndex {
            guard self.input[self.position] == 0x3C else {
                try self.scanText(into: &text)
                continue
            }
            if self.take("<!--") {
                try self.skipComment()
            } else if self.take("<![CDATA[") {
                try self.scanSection(into: &text)
            } else if text.isEmpty {
                return try self.tag()
            } else {
                break
            }
        }
        return text.isEmpty ? nil : .text(try self.string(text[...]))
    }

    /// Creates an error at the current position.
    func problem(_ message: String) -> SyntaxError {
        SyntaxError(message, offset: self.position - self.first)
    }

    // MARK: Tags

    private mutating func tag() throws(SyntaxError) -> Token {
        if self.take("</") {
            let name = try self.name()
            self.skipSpace()
            guard self.take(">") else { throw self.problem("an end tag is not closed") }
            return .end(name)
        }
        guard !self.take("<!") else { throw self.problem("declarations are not allowed") }
        guard !self.take("<?") else { throw self.problem("processing instructions are not allowed") }
        self.position += 1
        let name = try self.name()
        while true {
            let hasSpace = self.skipSpace()
            if self.take("/>") {
                self.pending = name
                return .start(name)
            }
            if self.take(">") { return .start(name) }
            guard hasSpace else { throw self.problem("a start tag is not closed") }
            _ = try self.attribute()
        }
    }

    /// Parses an attribute and returns its name and value; references in the value are not resolved.
    private mutating func attribute() throws(SyntaxError) -> (name: String, value: String) {
        let name = try self.name()
        self.skipSpace()
        guard self.take("=") else { throw self.problem("an attribute has no value") }
        self.skipSpace()
        guard let quote = self.current, quote == 0x22 || quote == 0x27 else {
            throw self.problem("an attribute's value is not quoted")
        }
        self.position += 1
        let start = self.position
        while let byte = self.current, byte != quote {
            guard byte != 0x3C, Self.isAllowed(byte) else { throw self.problem("an attribute is malformed") }
            self.position += 1
        }
        guard self.current == quote else { throw self.problem("an attribute is not closed") }
        defer { self.position += 1 }
        return (name, try self.string(self.input[start..<self.position]))
    }

    private mutating func name() throws(SyntaxError) -> String {
        let start = self.position
        while let byte = self.current, Self.isName(byte, isFirst: self.position == start) { self.position += 1 }
        guard (1...Self.longestName).contains(self.position - start) else { throw self.problem("a name is malformed") }
        return String(decoding: self.input[start..<self.position], as: UTF8.self)
    }

    private static func isName(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case 0x41...0x5A, 0x61...0x7A, 0x5F, 0x3A: true
        case 0x30...0x39, 0x2D, 0x2E: !isFirst
        default: false
        }
    }

    private mutating func skipDeclaration() throws(SyntaxError) {
        guard self.take("<?xml") else { return }
        while true {
            let hasSpace = self.skipSpace()
            if self.take("?>") { return }
            guard hasSpace else { throw self.problem("the XML declaration is malformed") }
            let attribute = try self.attribute()
            guard attribute.name == "encoding" else { continue }
            guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(attribute.value.lowercased()) else {
                throw self.problem("the encoding is not UTF-8")
            }
        }
    }

    // MARK: Character data

    private mutating func scanText(into text: inout [UInt8]) throws(SyntaxError) {
        while let byte = self.current, byte != 0x3C {
            switch byte {
            case 0x26: try self.scanReference(into: &text)
            case 0x5D where self.input[self.position...].starts(with: "]]>".utf8):
                throw self.problem("text contains ']]>'")
            default: try self.scanCharacter(into: &text)
            }
        }
    }

    /// Appends one byte; a line end becomes a line feed.
    private mutating func scanCharacter(into text: inout [UInt8]) throws(SyntaxError) {
        guard let byte = self.current, Self.isAllowed(byte) else {
            throw self.problem("text contains a control character")
        }
        self.position += 1
        guard byte == 0x0D else { return text.append(byte) }
        if self.current != 0x0A { text.append(0x0A) }
    }

    private mutating func scanReference(into text: inout [UInt8]) throws(SyntaxError) {
        let start = self.position + 1
        // The longest one is &#x10FFFF; without leading zeros.
        let end = self.input[start...].prefix(16).firstIndex(of: 0x3B)
        guard let end else { throw self.problem("a reference is not terminated") }
        let name = String(decoding: self.input[start..<end], as: UTF8.self)
        switch name {
        case "lt": text.append(0x3C)
        case "gt": text.append(0x3E)
        case "amp": text.append(0x26)
        case "quot": text.append(0x22)
        case "apos": text.append(0x27)
        default:
            guard let scalar = Self.scalar(name) else { throw self.problem("a reference does not name a character") }
            text.append(contentsOf: String(Character(scalar)).utf8)
        }
        self.position = end + 1
    }

    /// Returns the character of `#…` or `#x…`.
    private static func scalar(_ reference: String) -> Unicode.Scalar? {
        let isHexadecimal = reference.hasPrefix("#x")
        guard isHexadecimal || reference.hasPrefix("#") else { return nil }
        let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
        guard let first = digits.utf8.first, first != 0x2B, first != 0x2D,
            let value = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(value)
        else { return nil }
        switch value {
        case 0x09, 0x0A, 0x0D, 0x20...0xFFFD, 0x10000...0x10FFFF: return scalar
        default: return nil
        }
    }

    private mutating func scanSection(into text: inout [UInt8]) throws(SyntaxError) {
        while !self.take("]]>") {
            guard self.current != nil else { throw self.problem("a CDATA section is not closed") }
            try self.scanCharacter(into: &text)
        }
    }

    private mutating func skipComment() throws(SyntaxError) {
        while !self.take("--") {
            guard let byte = self.current, Self.isAllowed(byte) else { throw self.problem("a comment is not closed") }
            self.position += 1
        }
        guard self.take(">") else { throw self.problem("a comment contains '--'") }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte >= 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    // MARK: Bytes

    private var current: UInt8? { self.position < self.input.endIndex ? self.input[self.position] : nil }

    private mutating func take(_ text: StaticString) -> Bool {
        let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard self.input[self.position...].starts(with: bytes) else { return false }
        self.position += bytes.count
        return true
    }

    /// Skips white space, and returns whether there was any.
    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = self.position
        while let byte = self.current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            self.position += 1
        }
        return self.position > start
    }

    private func string(_ bytes: ArraySlice<UInt8>) throws(SyntaxError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw self.problem("the text is not UTF-8") }
        return text
    }
}
