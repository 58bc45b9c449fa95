/// The characters and lengths that a cookie may have.
///
/// - Source: RFC 6265bis §5.6, §5.7.
enum CookieText {
    /// The most bytes of a name and a value together.
    static let longestPair = 4096
    /// The most bytes of an attribute's value.
    static let longestAttribute = 1024

    /// Whether the byte is a control character, a tab included.
    ///
    /// RFC 6265bis lets a tab stand within a value; a cookie file cannot hold one, so that it is refused here, as curl
    /// does.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }

    /// Throws where a name and a value cannot be a cookie's.
    static func check(name: String, value: String) throws(CookieError) {
        guard !name.isEmpty || !value.isEmpty else {
            throw CookieError(.badName, "the cookie has neither a name nor a value; write it as name=value")
        }
        guard self.isPlain(name.utf8), !name.utf8.contains(0x3D) else {
            throw CookieError(
                .badName,
                "the cookie's name holds a control character, a semicolon, an equals sign or a space at an end; "
                    + "remove it"
            )
        }
        guard self.isPlain(value.utf8) else {
            throw CookieError(
                .badValue,
                "the cookie's value holds a control character, a semicolon or a space at an end; remove it"
            )
        }
        guard name.utf8.count + value.utf8.count <= self.longestPair else {
            throw CookieError(
                .tooLong,
                "the cookie's name and value are longer than \(self.longestPair) bytes together; shorten them"
            )
        }
    }

    /// Throws where a path cannot be a cookie's.
    static func check(path: String) throws(CookieError) {
        guard path.utf8.first == 0x2F, self.isPlain(path.utf8) else {
            throw CookieError(
                .badPath,
                "the cookie's path does not begin with / or holds a control character, a semicolon or a space at its "
                    + "end; correct it"
            )
        }
        guard path.utf8.count <= self.longestAttribute else {
            throw CookieError(.tooLong, "the cookie's path is longer than \(self.longestAttribute) bytes; shorten it")
        }
    }

    /// Whether a text begins with a prefix, which stands in lower case, without regard to ASCII case.
    static func begins(_ text: String, _ prefix: String) -> Bool {
        text.utf8.lazy.map(ASCII.lowercase).starts(with: prefix.utf8)
    }

    /// The bytes without blanks at either end.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: Byte.isBlank)
        while let last = bytes.last, Byte.isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func isPlain(_ bytes: String.UTF8View) -> Bool {
        bytes.first != 0x20 && bytes.last != 0x20 && bytes.allSatisfy { !self.isControl($0) && $0 != 0x3B }
    }
}
