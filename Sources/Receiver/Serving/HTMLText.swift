// SPDX-License-Identifier: Apache-2.0
/// Escapes text for HTML elements and quoted attributes.
enum HTMLText {
    /// Replaces the characters that are special in HTML by character references, and those that would hide or reverse the
    /// text around them by U+FFFD: `evil\u{202E}gpj.exe` would be shown as `evilexe.jpg`.
    static func escape(_ text: String) -> String {
        if text.unicodeScalars.contains(where: Self.misleads) {
            let shown = text.unicodeScalars.map { Self.misleads($0) ? "\u{FFFD}" : $0 }
            return self.escape(String(String.UnicodeScalarView(shown)))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case 0x26: bytes.append(contentsOf: "&amp;".utf8)
            case 0x3C: bytes.append(contentsOf: "&lt;".utf8)
            case 0x3E: bytes.append(contentsOf: "&gt;".utf8)
            case 0x22: bytes.append(contentsOf: "&quot;".utf8)
            case 0x27: bytes.append(contentsOf: "&#39;".utf8)
            // Control characters have no character reference.
            case 0..<0x20, 0x7F: bytes.append(contentsOf: "\u{FFFD}".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a character is invisible and changes how others are shown.
    private static func misleads(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x80: false
        // C1 controls.
        case ..<0xA0: true
        // The soft hyphen, the joiners, and the tags of flags are parts of words and emoji.
        case 0xAD, 0x200C, 0x200D, 0xE0020...0xE007F: false
        default:
            switch scalar.properties.generalCategory {
            case .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}
