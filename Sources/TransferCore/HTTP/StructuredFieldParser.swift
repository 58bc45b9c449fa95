// SPDX-License-Identifier: Apache-2.0
/// Parses structured fields.
///
/// A field that does not follow the grammar is rejected as a whole, because RFC 9651 requires it to be ignored then.
///
/// - Source: RFC 9651 §4.2.
package struct StructuredFieldParser {
    private let bytes: [UInt8]
    private var index = 0

    private init(_ field: String) { self.bytes = Array(field.utf8) }

    /// Parses an item, or returns `nil` if the field is malformed.
    package static func item(_ field: String) -> StructuredItem? {
        Self.parse(field) { $0.item() }
    }

    /// Parses a list; an empty field is an empty list.
    ///
    /// - Parameter field: All lines of the field, joined with commas.
    /// - Returns: The members in the field's order, or `nil` if the field is malformed.
    package static func list(_ field: String) -> [StructuredMember]? {
        Self.parse(field) { parser in
            var members: [StructuredMember] = []
            while let hasNext = parser.hasMember(isFirst: members.isEmpty) {
                guard hasNext else { return members }
                guard let member = parser.member() else { return nil }
                members.append(member)
            }
            return nil
        }
    }

    /// Parses a dictionary; an empty field is an empty dictionary.
    ///
    /// - Parameter field: All lines of the field, joined with commas.
    /// - Returns: The members in the field's order, or `nil` if the field is malformed; of two with the same name, the
    ///   last value in the first one's place.
    package static func dictionary(_ field: String) -> [(name: String, value: StructuredMember)]? {
        Self.parse(field) { parser in
            var members: [(name: String, value: StructuredMember)] = []
            while let hasNext = parser.hasMember(isFirst: members.isEmpty) {
                guard hasNext else { return members }
                guard let name = parser.key(), let member = parser.keyed() else { return nil }
                if let known = members.firstIndex(where: { $0.name == name }) {
                    members[known].value = member
                } else {
                    members.append((name, member))
                }
            }
            return nil
        }
    }

    private static func parse<Value>(_ field: String, _ body: (inout Self) -> Value?) -> Value? {
        var parser = Self(field)
        parser.skipSpaces()
        guard let value = body(&parser) else { return nil }
        parser.skipSpaces()
        return parser.index == parser.bytes.count ? value : nil
    }

    // MARK: Bytes

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard self.byte == byte else { return false }
        self.index += 1
        return true
    }

    private mutating func take(while isTaken: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = self.index
        while let byte = self.byte, isTaken(byte) { self.index += 1 }
        return self.bytes[start..<self.index]
    }

    private mutating func skipSpaces() { _ = self.take { $0 == Byte.space } }

    private mutating func skipBlanks() { _ = self.take(while: Byte.isBlank) }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private static func isLowercase(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }

    private static func isLetter(_ byte: UInt8) -> Bool { Self.isLowercase(byte | 0x20) }

    // MARK: Containers

    /// Whether a member follows; `nil` if the separator is malformed (§4.2.1, §4.2.2).
    private mutating func hasMember(isFirst: Bool) -> Bool? {
        if isFirst { return self.byte != nil }
        self.skipBlanks()
        guard self.byte != nil else { return false }
        guard self.take(Byte.comma) else { return nil }
        self.skipBlanks()
        return self.byte == nil ? nil : true
    }

    private mutating func member() -> StructuredMember? {
        guard self.take(0x28) else { return self.item().map { .item($0) } }
        var items: [StructuredItem] = []
        while self.byte != nil {
            self.skipSpaces()
            if self.take(0x29) { return self.parameters().map { .innerList(items, parameters: $0) } }
            guard let item = self.item(), self.byte == Byte.space || self.byte == 0x29 else { return nil }
            items.append(item)
        }
        return nil
    }

    /// Parses the part after a dictionary's key: a member, or parameters alone, which mean true.
    private mutating func keyed() -> StructuredMember? {
        if self.take(0x3D) { return self.member() }
        return self.parameters().map { .item(StructuredItem(value: .boolean(true), parameters: $0)) }
    }

    private mutating func key() -> String? {
        guard let first = self.byte, Self.isLowercase(first) || first == 0x2A else { return nil }
        let name = self.take { Self.isLowercase($0) || Self.isDigit($0) || [0x5F, 0x2D, 0x2E, 0x2A].contains($0) }
        return String(decoding: name, as: UTF8.self)
    }

    private mutating func parameters() -> [String: BareItem]? {
        var parameters: [String: BareItem] = [:]
        while self.take(Byte.semicolon) {
            self.skipSpaces()
            guard let name = self.key() else { return nil }
            guard self.take(0x3D) else {
                parameters[name] = .boolean(true)
                continue
            }
            guard let value = self.bareItem() else { return nil }
            parameters[name] = value
        }
        return parameters
    }

    private mutating func item() -> StructuredItem? {
        guard let value = self.bareItem(), let parameters = self.parameters() else { return nil }
        return StructuredItem(value: value, parameters: parameters)
    }

    // MARK: Bare items

    private mutating func bareItem() -> BareItem? {
        guard let byte = self.byte else { return nil }
        switch byte {
        case 0x22: return self.string()
        case 0x3A: return self.byteSequence()
        case 0x3F: return self.boolean()
        case 0x40: return self.date()
        case 0x25: return self.displayString()
        case 0x2D: return self.number()
        case _ where Self.isDigit(byte): return self.number()
        case _ where Self.isLetter(byte) || byte == 0x2A: return self.token()
        default: return nil
        }
    }

    private mutating func number() -> BareItem? {
        let sign: Int64 = self.take(0x2D) ? -1 : 1
        let whole = self.take(while: Self.isDigit)
        guard (1...15).contains(whole.count), let value = DecimalNumber.parse(whole) else { return nil }
        guard self.take(0x2E) else { return .integer(sign * value) }
        let fraction = self.take(while: Self.isDigit)
        guard whole.count <= 12, (1...3).contains(fraction.count),
            let thousandths = DecimalNumber.parse(fraction + Array(repeating: Byte.zero, count: 3 - fraction.count))
        else { return nil }
        return .decimal(thousandths: sign * (value * 1000 + thousandths))
    }

    private mutating func date() -> BareItem? {
        self.index += 1
        guard case .integer(let seconds)? = self.number() else { return nil }
        return .date(seconds)
    }

    private mutating func boolean() -> BareItem? {
        self.index += 1
        if self.take(0x31) { return .boolean(true) }
        return self.take(0x30) ? .boolean(false) : nil
    }

    private mutating func token() -> BareItem? {
        let text = self.take { Byte.isTokenCharacter($0) || $0 == Byte.colon || $0 == 0x2F }
        return .token(String(decoding: text, as: UTF8.self))
    }

    private mutating func string() -> BareItem? {
        self.index += 1
        var text: [UInt8] = []
        while let byte = self.byte {
            self.index += 1
            switch byte {
            case 0x22: return .string(String(decoding: text, as: UTF8.self))
            case 0x5C:
                guard let escaped = self.byte, escaped == 0x22 || escaped == 0x5C else { return nil }
                self.index += 1
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func byteSequence() -> BareItem? {
        self.index += 1
        // Only the standard alphabet; padding may be missing (§4.2.7).
        let text = self.take { Self.isLetter($0) || Self.isDigit($0) || [0x2B, 0x2F, 0x3D].contains($0) }
        guard self.take(Byte.colon) else { return nil }
        return Base64.decode(text).map { .bytes($0) }
    }

    private mutating func displayString() -> BareItem? {
        self.index += 1
        guard self.take(0x22) else { return nil }
        var text: [UInt8] = []
        while let byte = self.byte {
            self.index += 1
            switch byte {
            case 0x22:
                return String(validating: text, as: UTF8.self).map { .displayString($0) }
            case 0x25:
                let digits = self.bytes.dropFirst(self.index).prefix(2)
                guard digits.count == 2, digits.allSatisfy({ Self.isDigit($0) || (0x61...0x66).contains($0) }),
                    let decoded = Hexadecimal.decode(digits)?.first
                else { return nil }
                self.index += 2
                text.append(decoded)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }
}
