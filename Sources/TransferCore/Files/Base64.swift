// SPDX-License-Identifier: Apache-2.0
/// Base64 in either alphabet.
///
/// - Source: RFC 4648 §4, §5.
package enum Base64 {
    /// The bytes, or `nil` if the text is malformed; padding is optional.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        // Arrays, here and below: other modules cannot specialize these functions.
        for byte in Array(text) {
            if byte == 0x3D {
                padding += 1
                continue
            }
            guard padding == 0, let value = self.value(byte) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                output.append(UInt8(truncatingIfNeeded: bits >> 16))
                output.append(UInt8(truncatingIfNeeded: bits >> 8))
                output.append(UInt8(truncatingIfNeeded: bits))
                bits = 0
            }
        }
        switch count % 4 {
        case 0: return padding == 0 ? output : nil
        case 2:
            guard padding == 0 || padding == 2 else { return nil }
            output.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            guard padding <= 1 else { return nil }
            output.append(UInt8(truncatingIfNeeded: bits >> 10))
            output.append(UInt8(truncatingIfNeeded: bits >> 2))
        default: return nil
        }
        return output
    }

    /// The text of bytes, in the standard alphabet, with padding.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var output: [UInt8] = []
        var bits = 0
        var width = 0
        for byte in Array(bytes) {
            bits = (bits << 8 | Int(byte)) & 0xFFFF
            width += 8
            while width >= 6 {
                width -= 6
                output.append(alphabet[bits >> width & 63])
            }
        }
        if width > 0 { output.append(alphabet[bits << (6 - width) & 63]) }
        while output.count % 4 != 0 { output.append(0x3D) }
        return String(decoding: output, as: UTF8.self)
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case 0x2B, 0x2D: 62
        case 0x2F, 0x5F: 63
        default: nil
        }
    }
}
