// SPDX-License-Identifier: Apache-2.0
/// The directives of the `Cache-Control` fields of a message.
///
/// Unknown directives are kept and ignored. A malformed element is skipped up to the next comma.
///
/// - Source: RFC 9111 §5.2.
package struct CacheControl: Sendable {
    /// The argument of a directive that takes seconds.
    package enum Seconds: Equatable, Sendable {
        /// The directive is missing.
        case absent
        /// The directive has no argument.
        case none
        /// The argument, at most 2³¹.
        case value(Int64)
        /// The argument is not a number, or the directive is repeated: RFC 9111 §4.2.1 wants a stale response then.
        case invalid
    }

    private enum Argument: Equatable {
        case none
        case text(String)
        /// A quoted string without an end.
        case malformed
    }

    private var directives: [(name: String, argument: Argument)] = []

    /// Parses the fields of a message; a request without `Cache-Control` may have `Pragma: no-cache` instead (§5.4).
    package init(_ fields: HeaderFields) {
        if let text = fields.joined("Cache-Control") {
            self.init(text: text)
        } else {
            let pragma = fields.joined("Pragma").map { CacheControl(text: $0) }
            self.init(text: pragma?.has("no-cache") == true ? "no-cache" : "")
        }
    }

    init(text: String) {
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            while index < bytes.count, Byte.isBlank(bytes[index]) || bytes[index] == Byte.comma { index += 1 }
            let start = index
            while index < bytes.count, Byte.isTokenCharacter(bytes[index]) { index += 1 }
            let name = String(decoding: bytes[start..<index].map(ASCII.lowercase), as: UTF8.self)
            while index < bytes.count, Byte.isBlank(bytes[index]) { index += 1 }
            var argument = Argument.none
            if index < bytes.count, bytes[index] == 0x3D {
                index += 1
                while index < bytes.count, Byte.isBlank(bytes[index]) { index += 1 }
                argument = Self.argument(bytes, &index)
            }
            let end = Self.skip(bytes, &index)
            if !end, argument != .none { argument = .malformed }
            if !name.isEmpty { self.directives.append((name, argument)) }
        }
    }

    private static func argument(_ bytes: [UInt8], _ index: inout Int) -> Argument {
        guard index < bytes.count, bytes[index] == 0x22 else {
            let start = index
            while index < bytes.count, Byte.isTokenCharacter(bytes[index]) { index += 1 }
            return .text(String(decoding: bytes[start..<index], as: UTF8.self))
        }
        index += 1
        var text: [UInt8] = []
        while index < bytes.count, bytes[index] != 0x22 {
            if bytes[index] == 0x5C, index + 1 < bytes.count { index += 1 }
            text.append(bytes[index])
            index += 1
        }
        guard index < bytes.count else { return .malformed }
        index += 1
        return .text(String(decoding: text, as: UTF8.self))
    }

    /// Skips to the next comma outside a quoted string; returns whether only blanks were skipped.
    private static func skip(_ bytes: [UInt8], _ index: inout Int) -> Bool {
        var isBlank = true
        while index < bytes.count, bytes[index] != Byte.comma {
            if !Byte.isBlank(bytes[index]) { isBlank = false }
            if bytes[index] == 0x22 { _ = Self.argument(bytes, &index) } else { index += 1 }
        }
        return isBlank
    }

    /// Whether a directive is present, with or without an argument.
    package func has(_ name: String) -> Bool { self.directives.contains { $0.name == name } }

    /// Whether a directive is present without field names, so that it applies to the whole response.
    package func hasUnqualified(_ name: String) -> Bool {
        self.directives.contains { $0.name == name && Self.fieldNames($0.argument).isEmpty }
    }

    /// The field names in a directive's argument, as in `no-cache="Set-Cookie"`.
    package func fieldNames(_ name: String) -> [String] {
        self.directives.filter { $0.name == name }.flatMap { Self.fieldNames($0.argument) }
    }

    private static func fieldNames(_ argument: Argument) -> [String] {
        guard case .text(let text) = argument else { return [] }
        return text.utf8.split { $0 == Byte.comma || Byte.isBlank($0) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The argument of a directive that takes seconds (RFC 9111 §1.2.2).
    package func seconds(_ name: String) -> Seconds {
        let found = self.directives.filter { $0.name == name }
        guard let first = found.first else { return .absent }
        guard found.count == 1 else { return .invalid }
        switch first.argument {
        case .none: return .none
        case .malformed: return .invalid
        case .text(let text): return DeltaSeconds.parse(text).map { .value($0) } ?? .invalid
        }
    }
}

/// A number of seconds in a header field.
///
/// - Source: RFC 9111 §1.2.2.
package enum DeltaSeconds {
    /// The largest value, which larger ones are replaced by.
    package static let maximum: Int64 = 1 << 31

    /// Parses digits; `nil` for anything else.
    package static func parse(_ text: String) -> Int64? {
        let digits = text.utf8
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(DecimalNumber.parse(digits) ?? Self.maximum, Self.maximum)
    }
}
