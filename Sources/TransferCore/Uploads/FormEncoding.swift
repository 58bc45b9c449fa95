// SPDX-License-Identifier: Apache-2.0
/// The framing of a form with files: the bytes before, between and after the contents of the parts.
///
/// - Source: RFC 7578; names are encoded as in browsers (WHATWG HTML, multipart form data).
package struct FormEncoding: Sendable {
    /// The text between parts.
    package let boundary: String

    /// Creates the framing.
    ///
    /// - Parameter random: Random bytes, at least 16, so that no content contains the boundary, by chance or by intent.
    package init(random: [UInt8]) {
        self.boundary = "martlet-" + Hexadecimal.encode(random)
    }

    /// The media type of the form.
    package var type: String { "multipart/form-data; boundary=\(self.boundary)" }

    /// The bytes before a part's content.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - fileName: The file's name, if the part is a file.
    ///   - type: The part's media type, or `nil` for text.
    ///   - isFirst: Whether it is the first part.
    /// - Returns: The bytes.
    package func head(_ name: String, fileName: String?, type: String?, isFirst: Bool) -> [UInt8] {
        var text = isFirst ? "" : "\r\n"
        text += "--\(self.boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { text += "; filename=\"\(Self.escaped(fileName))\"" }
        if let type { text += "\r\nContent-Type: \(type.filter { !$0.isNewline })" }
        return Array((text + "\r\n\r\n").utf8)
    }

    /// The bytes after the last part.
    package func tail(isEmpty: Bool) -> [UInt8] { Array("\(isEmpty ? "" : "\r\n")--\(self.boundary)--\r\n".utf8) }

    private static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x0A: result += Array("%0A".utf8)
            case 0x0D: result += Array("%0D".utf8)
            case 0x22: result += Array("%22".utf8)
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
