// SPDX-License-Identifier: Apache-2.0
/// Percent-encoding of the parts of a URL.
///
/// - Source: RFC 3986 §2.1; the unencoded bytes are those of the WHATWG URL standard, except for `\`, `^` and `|`,
///   which some servers refuse and which are encoded as well.
package enum PercentEncoding {
    /// Whether a byte may be unencoded in a path or a query; `?` and `#` may, because the caller splits there first.
    @inline(__always)
    static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: true
        default: false
        }
    }

    /// Whether a byte may be unencoded in user information.
    static func isUserInfoByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x23, 0x2F, 0x3F, 0x40, 0x5B, 0x5D: false
        default: self.isPathByte(byte)
        }
    }

    /// Appends `%XX`.
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(0x25)
        output.append(self.digit(byte >> 4))
        output.append(self.digit(byte & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x41 + value - 10 }

    /// The value of a hexadecimal digit, or `nil`.
    @inline(__always)
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    /// The bytes with every `%XX` decoded; a `%` without two digits after it is unchanged.
    package static func decode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == 0x25, let first = rest.first, let high = self.value(first),
                let second = rest.dropFirst().first, let low = self.value(second)
            {
                output.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                output.append(byte)
            }
        }
        return output
    }

    /// The text with every `%XX` decoded; invalid UTF-8 in the result is repaired with U+FFFD.
    static func decode(_ text: some StringProtocol) -> String {
        guard text.utf8.contains(0x25) else { return String(text) }
        return String(decoding: self.decode(text.utf8), as: UTF8.self)
    }
}
