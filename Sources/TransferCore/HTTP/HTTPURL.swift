// SPDX-License-Identifier: Apache-2.0
/// An absolute `http` or `https` URL in normal form.
///
/// One string and four offsets, because a queue may contain a million of them. In normal form the scheme and the host
/// are in lower case, an international name is in Punycode, a default port is omitted, the path starts with `/` and has
/// no dot segments, characters that are invalid in a URL are percent-encoded, and the fragment is removed.
///
/// - Source: RFC 3986; RFC 9110 §4.2.
public struct HTTPURL: Hashable, Sendable, CustomStringConvertible {
    /// The whole URL in normal form, including user information.
    package let text: String
    /// The offset of the host in `text`, after `//` and the user information.
    let hostStart: UInt32
    /// The offset after the host and the bracket of an IPv6 address.
    let hostEnd: UInt32
    /// The offset of the path.
    let pathStart: UInt32
    /// The offset after the path.
    let pathEnd: UInt32
    let portNumber: UInt16
    /// The scheme.
    public let scheme: Scheme

    init(text: String, scheme: Scheme, host: Range<Int>, path: Range<Int>, port: UInt16) {
        self.text = text
        self.scheme = scheme
        self.hostStart = UInt32(host.lowerBound)
        self.hostEnd = UInt32(host.upperBound)
        self.pathStart = UInt32(path.lowerBound)
        self.pathEnd = UInt32(path.upperBound)
        self.portNumber = port
    }

    /// Parses an absolute URL and normalizes it.
    ///
    /// Surrounding white space is dropped; spaces and non-ASCII characters in the path and query are percent-encoded,
    /// as browsers do.
    ///
    /// - Parameter text: The URL, including its scheme.
    /// - Throws: ``SyntaxError`` with a message for the author of the URL.
    public init(_ text: String) throws(SyntaxError) {
        var text = text
        self =
            try text.withUTF8 { (bytes) -> Result<HTTPURL, SyntaxError> in
                Result { () throws(SyntaxError) in
                    var parser = URLParser(bytes)
                    return try parser.parse()
                }
            }
            .get()
    }

    /// Part of the text as a separate string.
    private func string(_ start: Int, _ end: Int) -> String {
        // The text is native and ASCII: this is one copy, without searching for character boundaries.
        self.text.utf8.withContiguousStorageIfAvailable { bytes in
            String(decoding: bytes.part(start..<end), as: UTF8.self)
        } ?? String(self.slice(start, end))
    }

    private func slice(_ start: Int, _ end: Int) -> Substring {
        let utf8 = self.text.utf8
        let first = utf8.index(utf8.startIndex, offsetBy: start)
        return self.text[first..<utf8.index(first, offsetBy: end - start)]
    }

    private var authorityStart: Int { self.scheme == .http ? 7 : 8 }

    /// Whether it has a user name or a password.
    package var hasUserInfo: Bool { Int(self.hostStart) != self.authorityStart }

    private var userInfo: Substring? {
        self.hasUserInfo ? self.slice(self.authorityStart, Int(self.hostStart) - 1) : nil
    }

    private var hasBrackets: Bool {
        let utf8 = self.text.utf8
        return utf8[utf8.index(utf8.startIndex, offsetBy: Int(self.hostStart))] == 0x5B
    }

    /// The host in lower case; an IPv6 address in its canonical form (RFC 5952), without brackets.
    public var host: String {
        let bracket = self.hasBrackets ? 1 : 0
        return self.string(Int(self.hostStart) + bracket, Int(self.hostEnd) - bracket)
    }

    /// The port, or the scheme's default.
    public var port: Int { Int(self.portNumber) }

    /// The user name, decoded, or `nil`.
    public var user: String? {
        self.userInfo.map { PercentEncoding.decode($0.prefix { $0 != ":" }) }
    }

    /// The password, decoded, or `nil`.
    public var password: String? {
        guard let userInfo = self.userInfo, let colon = userInfo.firstIndex(of: ":") else { return nil }
        return PercentEncoding.decode(userInfo[userInfo.index(after: colon)...])
    }

    /// The path, percent-encoded; it starts with `/`.
    public var path: String { self.string(Int(self.pathStart), Int(self.pathEnd)) }

    /// The query, percent-encoded and without its `?`, or `nil`.
    public var query: String? {
        let end = self.text.utf8.count
        return Int(self.pathEnd) == end ? nil : self.string(Int(self.pathEnd) + 1, end)
    }

    /// Scheme, host and port.
    public var origin: Origin { Origin(scheme: self.scheme, canonicalHost: self.host, port: self.port) }

    /// The path and the query, as in a request line (RFC 9112 §3.2.1).
    public var requestTarget: String { self.string(Int(self.pathStart), self.text.utf8.count) }

    /// The value of the Host field: with the port only if it is not the default (RFC 9110 §7.2).
    public var hostField: String { self.string(Int(self.hostStart), Int(self.pathStart)) }

    /// Calls `body` with the bytes of ``requestTarget`` and of ``hostField``, without creating strings.
    package func withRequestParts<Result>(
        _ body: (_ target: UnsafeRawBufferPointer, _ host: UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var text = self.text
        return text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return body(
                bytes.part(Int(self.pathStart)..<bytes.count),
                bytes.part(Int(self.hostStart)..<Int(self.pathStart))
            )
        }
    }

    /// The URL without user information and query, for logs and file attributes.
    public var redacted: String {
        guard self.hasUserInfo else { return self.string(0, Int(self.pathEnd)) }
        return self.scheme.name + "://" + self.string(Int(self.hostStart), Int(self.pathEnd))
    }

    /// The URL with its query, without user information.
    public var withoutUserInfo: String {
        guard self.hasUserInfo else { return self.text }
        return self.scheme.name + "://" + self.string(Int(self.hostStart), self.text.utf8.count)
    }

    /// The URL with its query, without user information.
    public var description: String { self.withoutUserInfo }

    /// The last segment of the path, decoded and repaired to UTF-8; `nil` if it is empty.
    public var lastPathSegment: String? {
        let range = Int(self.pathStart)..<Int(self.pathEnd)
        let found = self.text.utf8.withContiguousStorageIfAvailable { bytes -> String? in
            let path = bytes.part(range)
            guard let slash = path.lastIndex(of: 0x2F), slash + 1 < path.count else { return nil }
            let segment = path.part((slash + 1)..<path.count)
            if segment.contains(0x25) { return String(decoding: PercentEncoding.decode(segment), as: UTF8.self) }
            return String(decoding: segment, as: UTF8.self)
        }
        // The text of a parsed URL is always contiguous.
        return found ?? nil
    }

    /// The part of the URL before the path, including user information.
    var prefix: Substring { self.slice(0, Int(self.pathStart)) }

    /// The path up to its last slash.
    var pathDirectory: Substring {
        let path = self.slice(Int(self.pathStart), Int(self.pathEnd))
        guard let slash = path.utf8.lastIndex(of: 0x2F) else { return path }
        return path[...slash]
    }
}
