// SPDX-License-Identifier: Apache-2.0
/// The valid characters and lengths of cookies.
///
/// - Source: RFC 6265bis §5.6, §5.7.
enum CookieText {
    /// The maximum length of a name and a value together, in bytes.
    static let longestPair = 4096
    /// The maximum length of an attribute's value, in bytes.
    static let longestAttribute = 1024

    /// Whether the byte is a control character, including a tab.
    ///
    /// RFC 6265bis allows a tab within a value; a cookie file cannot represent one, so it is refused here, as in curl.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Throws if the name and the value are not valid for a cookie.
    static func check(name: String, value: String) throws(SyntaxError) {
        guard !name.isEmpty || !value.isEmpty else {
            throw SyntaxError(.badName, "the cookie has neither a name nor a value; write it as name=value")
        }
        guard self.isPlain(name.utf8), !name.utf8.contains(0x3D) else {
            throw SyntaxError(
                .badName,
                "the cookie's name contains a control character, a semicolon, an equals sign or a space at an end; "
                    + "remove it"
            )
        }
        guard self.isPlain(value.utf8) else {
            throw SyntaxError(
                .badValue,
                "the cookie's value contains a control character, a semicolon or a space at an end; remove it"
            )
        }
        guard name.utf8.count + value.utf8.count <= self.longestPair else {
            throw SyntaxError(
                .tooLong,
                "the cookie's name and value are longer than \(self.longestPair) bytes together; shorten them"
            )
        }
    }

    /// Throws if the path is not valid for a cookie.
    static func check(path: String) throws(SyntaxError) {
        guard path.utf8.first == 0x2F, self.isPlain(path.utf8) else {
            throw SyntaxError(
                .badPath,
                "the cookie's path does not start with / or contains a control character, semicolon or space at its "
                    + "end; correct it"
            )
        }
        guard path.utf8.count <= self.longestAttribute else {
            throw SyntaxError(.tooLong, "the cookie's path is longer than \(self.longestAttribute) bytes; shorten it")
        }
    }

    /// Whether a text starts with a lower-case prefix, ignoring ASCII case.
    static func begins(_ text: String, _ prefix: String) -> Bool {
        text.utf8.lazy.map(ASCII.lowercase).starts(with: prefix.utf8)
    }

    /// The bytes without leading and trailing blanks.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: Byte.isBlank)
        while let last = bytes.last, Byte.isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func isPlain(_ bytes: String.UTF8View) -> Bool {
        bytes.first != 0x20 && bytes.last != 0x20 && bytes.allSatisfy { !self.isControl($0) && $0 != 0x3B }
    }
}
