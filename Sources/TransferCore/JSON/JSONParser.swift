// SPDX-License-Identifier: Apache-2.0
extension JSON {
    /// The default limit of nesting.
    public static let defaultDepth = 64

    /// Parses one JSON text.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8; invalid UTF-8 inside strings becomes U+FFFD.
    ///   - depth: The maximum nesting of arrays and objects.
    /// - Throws: ``SyntaxError`` if it is not a JSON text, nests deeper, or has an infinite number.
    /// - Source: RFC 8259.
    public init(parsing bytes: some Collection<UInt8>, depth: Int = Self.defaultDepth) throws(SyntaxError) {
        let result: Result<JSON, SyntaxError>? = bytes.withContiguousStorageIfAvailable { buffer in
            Self.parse(buffer, depth)
        }
        self = try (result ?? Array(bytes).withUnsafeBufferPointer { Self.parse($0, depth) }).get()
    }

    /// Parses one JSON text.
    ///
    /// - Throws: ``SyntaxError``; see ``init(parsing:depth:)-(Collection<UInt8>,_)``.
    public init(parsing text: String, depth: Int = Self.defaultDepth) throws(SyntaxError) {
        try self.init(parsing: Array(text.utf8), depth: depth)
    }

    private static func parse(_ input: UnsafeBufferPointer<UInt8>, _ depth: Int) -> Result<JSON, SyntaxError> {
        var parser = JSONParser(input: input)
        do throws(SyntaxError) {
            let value = try parser.value(depth)
            parser.skipSpace()
            guard parser.isAtEnd else { throw parser.error("there is text after the value") }
            return .success(value)
        } catch {
            return .failure(error)
        }
    }
}

/// A recursive descent parser with a limited depth.
private struct JSONParser {
    // Bounds: the position starts at 0 and is advanced past a byte that `current` returned, or past bytes whose number was
    // compared with what remains, so it is at most the count. Slices lie between two positions.
    let input: UnsafeBufferPointer<UInt8>
    var position = 0

    init(input: UnsafeBufferPointer<UInt8>) { self.input = input }

    var isAtEnd: Bool { self.position == self.input.count }

    func error(_ message: String) -> SyntaxError { SyntaxError(message, offset: self.position) }

    private var current: UInt8? { self.isAtEnd ? nil : self.input[self.position] }

    mutating func skipSpace() {
        while let byte = self.current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            self.position += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.current == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func literal(_ text: StaticString, _ value: JSON) throws(SyntaxError) -> JSON {
        let count = text.utf8CodeUnitCount
        guard self.input.count - self.position >= count,
            (0..<count).allSatisfy({ self.input[self.position + $0] == text.utf8Start[$0] })
        else { throw self.error("this is not a JSON value") }
        self.position += count
        return value
    }

    mutating func value(_ depth: Int) throws(SyntaxError) -> JSON {
        self.skipSpace()
        switch self.current {
        case nil: throw self.error("the text ends before a value")
        case 0x7B: return try self.object(depth)
        case 0x5B: return try self.array(depth)
        case 0x22: return .string(try self.string())
        case 0x74: return try self.literal("true", .bool(true))
        case 0x66: return try self.literal("false", .bool(false))
        case 0x6E: return try self.literal("null", .null)
        default: return try self.number()
        }
    }

    private mutating func array(_ depth: Int) throws(SyntaxError) -> JSON {
        guard depth > 0 else { throw self.error("the value is nested too deeply") }
        self.position += 1
        var elements: [JSON] = []
        self.skipSpace()
        if self.take(0x5D) { return .array(elements) }
        while true {
            elements.append(try self.value(depth - 1))
            self.skipSpace()
            if self.take(0x5D) { return .array(elements) }
            guard self.take(0x2C) else { throw self.error("',' or ']' is missing") }
        }
    }

    private mutating func object(_ depth: Int) throws(SyntaxError) -> JSON {
        guard depth > 0 else { throw self.error("the value is nested too deeply") }
        self.position += 1
        var members: [JSON.Member] = []
        self.skipSpace()
        if self.take(0x7D) { return .object(members) }
        while true {
            self.skipSpace()
            guard self.current == 0x22 else { throw self.error("a member's name is missing") }
            let name = try self.string()
            self.skipSpace()
            guard self.take(0x3A) else { throw self.error("':' is missing") }
            members.append(JSON.Member(name, try self.value(depth - 1)))
            self.skipSpace()
            if self.take(0x7D) { return .object(members) }
            guard self.take(0x2C) else { throw self.error("',' or '}' is missing") }
        }
    }

    private mutating func number() throws(SyntaxError) -> JSON {
        let start = self.position
        _ = self.take(0x2D)
        let isZero = self.current == 0x30
        guard self.digits() > 0 else { throw self.error("this is not a JSON value") }
        if isZero, self.position - start > (self.input[start] == 0x2D ? 2 : 1) {
            throw self.error("a number starts with 0")
        }
        var isInteger = true
        if self.take(0x2E) {
            isInteger = false
            guard self.digits() > 0 else { throw self.error("digits are missing") }
        }
        if self.take(0x65) || self.take(0x45) {
            isInteger = false
            if !self.take(0x2B) { _ = self.take(0x2D) }
            guard self.digits() > 0 else { throw self.error("digits are missing") }
        }
        guard self.position - start <= 400 else { throw self.error("the number is too long") }
        let text = String(decoding: self.input[start..<self.position], as: UTF8.self)
        if isInteger, text != "-0", let value = Int64(text) { return .integer(value) }
        guard let value = Double(text), value.isFinite else { throw self.error("the number is too large") }
        return "\(value)" == text && !isInteger ? .number(value) : .literal(text)
    }

    private mutating func digits() -> Int {
        let start = self.position
        while let byte = self.current, byte >= 0x30, byte <= 0x39 { self.position += 1 }
        return self.position - start
    }

    private mutating func string() throws(SyntaxError) -> String {
        self.position += 1
        let start = self.position
        while let byte = self.current, byte != 0x22, byte != 0x5C, byte >= 0x20 { self.position += 1 }
        if self.current == 0x22 {
            defer { self.position += 1 }
            return String(decoding: self.input[start..<self.position], as: UTF8.self)
        }
        var bytes = Array(self.input[start..<self.position])
        while let byte = self.current {
            self.position += 1
            switch byte {
            case 0x22: return String(decoding: bytes, as: UTF8.self)
            case 0x5C: try self.escape(into: &bytes)
            case 0..<0x20: throw self.error("a string contains a control character")
            default: bytes.append(byte)
            }
        }
        throw self.error("a string is not terminated")
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(SyntaxError) {
        guard let byte = self.current else { throw self.error("a string is not terminated") }
        self.position += 1
        switch byte {
        case 0x22, 0x5C, 0x2F: bytes.append(byte)
        case 0x62: bytes.append(0x08)
        case 0x66: bytes.append(0x0C)
        case 0x6E: bytes.append(0x0A)
        case 0x72: bytes.append(0x0D)
        case 0x74: bytes.append(0x09)
        case 0x75:
            var unit = try self.hexadecimal()
            if unit >= 0xD800, unit < 0xDC00, self.input.count - self.position >= 6, self.input[self.position] == 0x5C,
                self.input[self.position + 1] == 0x75
            {
                let behind = self.position
                self.position += 2
                let low = try self.hexadecimal()
                if low >= 0xDC00, low < 0xE000 {
                    unit = 0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)
                } else {
                    self.position = behind
                }
            }
            // A lone surrogate is not a character.
            let scalar = Unicode.Scalar(unit) ?? "\u{FFFD}"
            bytes.append(contentsOf: String(Character(scalar)).utf8)
        default: throw self.error("invalid escape after '\\'")
        }
    }

    private mutating func hexadecimal() throws(SyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = self.current else { throw self.error("a string is not terminated") }
            switch byte {
            case 0x30...0x39: value = value << 4 + UInt32(byte - 0x30)
            case 0x41...0x46: value = value << 4 + UInt32(byte - 0x41 + 10)
            case 0x61...0x66: value = value << 4 + UInt32(byte - 0x61 + 10)
            default: throw self.error("four hexadecimal digits are missing")
            }
            self.position += 1
        }
        return value
    }
}
