// SPDX-License-Identifier: Apache-2.0
/// URLs of folders and of the files in them.
extension HTTPURL {
    /// Whether the path ends with a slash and the URL has no query.
    package var isFolder: Bool { Int(self.pathEnd) == self.text.utf8.count && self.text.utf8.last == 0x2F }

    /// The URL of a file in this folder.
    ///
    /// Unlike ``resolving(_:)``, this takes any name, and parses nothing again.
    ///
    /// - Precondition: This URL is a folder, and the name is not empty, `.` or `..`.
    /// - Parameter name: The name, of which all but the unreserved characters of RFC 3986 is percent-encoded.
    /// - Returns: The URL in normal form.
    /// - Throws: ``SyntaxError`` if it is too long.
    package func entry(_ name: String) throws(SyntaxError) -> HTTPURL { try self.appending(name, end: "") }

    /// The URL of a folder in this folder; see ``entry(_:)``.
    package func folder(_ name: String) throws(SyntaxError) -> HTTPURL { try self.appending(name, end: "/") }

    private func appending(_ name: String, end: String) throws(SyntaxError) -> HTTPURL {
        precondition(self.isFolder && name != "" && name != "." && name != "..", "a file in a folder has a name")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.text.utf8.count + name.utf8.count + 32)
        bytes.append(self.text)
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default: PercentEncoding.append(byte, to: &bytes)
            }
        }
        bytes.append(end)
        guard bytes.count <= URLParser.longest else {
            throw SyntaxError(.tooLong, at: bytes, "the URL is longer than \(URLParser.longest) bytes; shorten it")
        }
        return HTTPURL(
            text: String(decoding: bytes, as: UTF8.self),
            scheme: self.scheme,
            host: Int(self.hostStart)..<Int(self.hostEnd),
            path: Int(self.pathStart)..<bytes.count,
            port: self.portNumber
        )
    }
}
