// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Parses a header field given by the user.
///
/// - Source: RFC 9110 §5.1, §5.5.
enum HeaderField {
    /// Parses `Name: value`.
    ///
    /// - Throws: ``BadValue`` if the colon is missing, the name is not a token, or the value has a control character.
    static func parse(_ text: String) throws(BadValue) -> (String, String) {
        let shown = DisplayText.clean(text)
        guard let colon = text.utf8.firstIndex(of: 0x3A) else {
            throw BadValue("\"\(shown)\" is not a header field: it has no colon; write 'Name: value'")
        }
        let name = text[..<colon]
        guard self.isName(name) else {
            throw BadValue(
                "\"\(shown)\" is not a header field: its name must be letters, digits and hyphens; write 'Name: value'"
            )
        }
        guard !self.framing.contains(name.lowercased()) else {
            throw BadValue("\"\(shown)\": martlet sets this field itself; leave it out")
        }
        let value = text[text.utf8.index(after: colon)...]
        return (String(name), try self.value(String(value), of: String(name)))
    }

    /// Whether a text is a valid field name or cookie name (RFC 6265 §4.1.1).
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { Byte.isTokenCharacter($0) }
    }

    /// Validates a field value and trims its white space.
    ///
    /// - Throws: ``BadValue`` if it contains a line break or another control character.
    static func value(_ text: String, of name: String) throws(BadValue) -> String {
        guard text.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
            throw BadValue(
                "the value of \(DisplayText.clean(name)) contains a line break or a control character; remove it"
            )
        }
        return text.trimmingBlanks
    }

    /// Fields that martlet sets itself: they control message framing, ranges, codings and the connection.
    private static let framing: Set<String> = [
        "content-length", "transfer-encoding", "connection", "range", "if-range", "accept-encoding", "te", "upgrade",
        "expect",
    ]
}

extension StringProtocol {
    /// The text without leading and trailing spaces and tabs.
    var trimmingBlanks: String {
        var text = Substring(self)
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
