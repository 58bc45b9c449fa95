// SPDX-License-Identifier: Apache-2.0
/// Validation and conversion of host names and addresses.
enum HostName {
    /// Whether the bytes, in lower case, are a name that is valid in a URL.
    ///
    /// - Source: RFC 3986 §3.2.2 (reg-name), without percent-encoding; RFC 1035 §2.3.4 for the length.
    static func isRegisteredName(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count <= 254, bytes.contains(where: { $0 != 0x2E }) else { return false }
        var previous: UInt8 = 0x2E
        for byte in bytes {
            switch byte {
            case 0x2E:
                if previous == 0x2E { return false }
            case 0x21, 0x24, 0x26...0x2D, 0x30...0x39, 0x3B, 0x3D, 0x5F, 0x61...0x7A, 0x7E: break
            default: return false
            }
            previous = byte
        }
        return true
    }

    /// The ASCII form of an international name, or `nil` if a character is not allowed in a name.
    ///
    /// Lower case and NFC first, then Punycode for each label; full-width forms and dots become the plain ones.
    ///
    /// - Source: RFC 5891 §4, RFC 3492; the mappings are the commonest of UTS #46.
    static func toASCII(_ bytes: [UInt8]) -> [UInt8]? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { return nil }
        var labels: [[Unicode.Scalar]] = [[]]
        for scalar in ComposedText.scalars(self.mapped(text).lowercased()) {
            switch scalar {
            case ".", "\u{3002}", "\u{FF61}": labels.append([])
            case _ where self.isAllowed(scalar): labels[labels.count - 1].append(scalar)
            default: return nil
            }
        }
        var output: [UInt8] = []
        for (index, label) in labels.enumerated() {
            if index > 0 { output.append(0x2E) }
            if label.allSatisfy(\.isASCII) {
                output.append(contentsOf: label.map { UInt8(truncatingIfNeeded: $0.value) })
            } else {
                guard label.count <= 63, let encoded = Punycode.encode(label) else { return nil }
                output.append(contentsOf: "xn--".utf8)
                output.append(contentsOf: encoded)
            }
        }
        return output
    }

    private static func mapped(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0xFF01...0xFF5E: output.append(Unicode.Scalar(UInt8(scalar.value - 0xFEE0)))
            case 0xAD, 0x200B, 0x2060, 0xFEFF, 0xFE00...0xFE0F: break
            default: output.append(scalar)
            }
        }
        return String(output)
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .otherSymbol:
            scalar.value != 0xFFFD
        default: scalar == "-" || scalar == "_" || scalar == "\u{B7}" || scalar == "\u{200C}" || scalar == "\u{200D}"
        }
    }
}
