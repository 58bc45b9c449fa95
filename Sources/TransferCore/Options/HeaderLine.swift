// SPDX-License-Identifier: Apache-2.0
/// A header field given by the user.
package struct HeaderLine: Sendable, Hashable {
    /// The name, a token.
    package let name: String
    /// The value, without white space around it.
    package let value: String

    /// Fields that Martlet sets itself: they control message framing, ranges, codings and the connection.
    private static let framing: Set<String> = [
        "content-length", "transfer-encoding", "connection", "range", "if-range", "accept-encoding", "te", "upgrade",
        "expect",
    ]

    /// Creates a field of valid parts.
    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses `Name: value`.
    ///
    /// - Throws: ``SyntaxError`` if the colon is missing, the name is not a token or is of a field that Martlet sets, or
    ///   the value has a control character.
    /// - Source: RFC 9110 §5.1, §5.5.
    package init(parsing text: String) throws(SyntaxError) {
        guard let colon = text.utf8.firstIndex(of: 0x3A) else {
            throw SyntaxError.option("is not a header field: it has no colon", write: "'Name: value'")
        }
        let name = text[..<colon]
        guard Self.isName(name) else {
            throw SyntaxError.option(
                "is not a header field: its name must be letters, digits and hyphens",
                write: "'Name: value'"
            )
        }
        guard !Self.framing.contains(name.lowercased()) else {
            throw SyntaxError.option("is a field that martlet sets itself; leave it out")
        }
        self.name = String(name)
        self.value = try Self.value(String(text[text.utf8.index(after: colon)...]), of: self.name)
    }

    /// Whether a text is a valid name of a field or a cookie (RFC 6265 §4.1.1).
    package static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { Byte.isTokenCharacter($0) }
    }

    /// Validates a field's value and removes the white space around it.
    ///
    /// - Throws: ``SyntaxError`` if it contains a line break or another control character.
    package static func value(_ text: String, of name: String) throws(SyntaxError) -> String {
        guard text.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
            throw SyntaxError("the value of \(name) contains a line break or a control character; remove it")
        }
        return text.trimmingBlanks
    }

    /// The fields that ask caches on the way for a fresh response, except for those that the caller has set.
    ///
    /// - Parameter fields: The caller's fields.
    /// - Returns: Further fields.
    /// - Source: RFC 9111 §5.2.1.4, §5.4.
    package static func noCache(besides fields: [(String, String)]) -> [(String, String)] {
        [("Cache-Control", "no-cache"), ("Pragma", "no-cache")]
            .filter { wanted in !fields.contains { $0.0.lowercased() == wanted.0.lowercased() } }
    }
}

extension OptionSyntax<HeaderLine> {
    /// A header field, `Name: value`.
    package static var field: Self {
        Self("field") { text throws(SyntaxError) in
            try HeaderLine(parsing: text)
        } write: {
            "\($0.name): \($0.value)"
        }
    }
}

extension OptionSyntax<String> {
    /// The value of a header field.
    package static func value(of name: String, _ valueName: String) -> Self {
        Self(valueName) { text throws(SyntaxError) in try HeaderLine.value(text, of: name) }
    }
}

extension StringProtocol {
    /// The text without the spaces and tabs around it.
    package var trimmingBlanks: String {
        var text = Substring(self)
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
