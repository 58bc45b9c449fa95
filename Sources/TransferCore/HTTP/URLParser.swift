// SPDX-License-Identifier: Apache-2.0
/// Parses the bytes of one URL.
///
/// - Source: RFC 3986 §3, with the leniency of the WHATWG URL standard for spaces and non-ASCII characters.
struct URLParser {
    /// The maximum length of a URL in bytes.
    static let longest = 1 << 20

    // Bounds: 0 <= start <= authority <= authorityEnd <= end <= count. Each is found within the range of the two around it, and
    // `authority` is after a scheme that was compared with the range. A helper gets such a range and reads only within it.
    private let bytes: UnsafeBufferPointer<UInt8>
    private var output: [UInt8] = []

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// Parses the whole URL.
    mutating func parse() throws(SyntaxError) -> HTTPURL {
        var start = 0
        var end = self.bytes.count
        while start < end, Self.isWhiteSpace(self.bytes[start]) { start += 1 }
        while end > start, Self.isWhiteSpace(self.bytes[end - 1]) { end -= 1 }
        guard start < end else { throw SyntaxError(.empty, "the URL is empty; write http://host/path or https://…") }
        guard end - start <= Self.longest else {
            throw self.error(.tooLong, "the URL is longer than \(Self.longest) bytes; shorten it")
        }
        // `#` is searched first, so that the text after it cannot cause an error.
        if let fragment = self.bytes[start..<end].firstIndex(of: 0x23) { end = fragment }

        if let url = self.urlInNormalForm(start..<end) { return url }
        let scheme = try self.scheme(start..<end)
        self.output.reserveCapacity(end - start + 24)
        self.output.append(contentsOf: scheme.name.utf8)
        self.output.append(contentsOf: [0x3A, 0x2F, 0x2F])

        let authority = start + scheme.name.utf8.count + 3
        let authorityEnd =
            self.bytes[authority..<end].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x5C } ?? end
        if authorityEnd < end, self.bytes[authorityEnd] == 0x5C {
            throw self.error(.badCharacter, "a backslash in or after the host; write / instead")
        }
        var hostFrom = authority
        if let at = self.bytes[authority..<authorityEnd].lastIndex(of: 0x40) {
            try self.userInfo(authority..<at)
            hostFrom = at + 1
        }
        let hostStart = self.output.count
        let portFrom = try self.host(hostFrom..<authorityEnd)
        let hostEnd = self.output.count
        let port = try self.port(portFrom..<authorityEnd, scheme)

        let pathStart = self.output.count
        let queryFrom = self.bytes[authorityEnd..<end].firstIndex(of: 0x3F) ?? end
        if queryFrom == authorityEnd { self.output.append(0x2F) }
        let hasDots = try self.encode(authorityEnd..<queryFrom)
        if hasDots { DotSegments.remove(from: &self.output, at: pathStart) }
        let pathEnd = self.output.count
        _ = try self.encode(queryFrom..<end)
        return HTTPURL(
            text: String(decoding: self.output, as: UTF8.self),
            scheme: scheme,
            host: hostStart..<hostEnd,
            path: pathStart..<pathEnd,
            port: port
        )
    }

    /// The URL, if it already is in normal form and has a host name; reads each byte once.
    private func urlInNormalForm(_ range: Range<Int>) -> HTTPURL? {
        // Bounds: 0 <= range.lowerBound <= hostStart <= hostEnd <= pathStart < range.upperBound <= count; each byte that is
        // read is before the upper bound, which is compared first.
        let end = range.upperBound
        let scheme: Scheme
        if self.hasLowercase("http://", range) {
            scheme = .http
        } else if self.hasLowercase("https://", range) {
            scheme = .https
        } else {
            return nil
        }
        let hostStart = range.lowerBound + (scheme == .http ? 7 : 8)
        var place = hostStart
        // No label is empty, and the name is not too long, as in `HostName.isRegisteredName`.
        var previous: UInt8 = 0x2E
        while place < end, Self.isHostByte(self.bytes[place]) {
            if previous == 0x2E, self.bytes[place] == 0x2E { return nil }
            previous = self.bytes[place]
            place += 1
        }
        let hostEnd = place
        guard hostStart < hostEnd, hostEnd - hostStart <= 254 else { return nil }
        var port = scheme.defaultPort
        if place < end, self.bytes[place] == 0x3A {
            place += 1
            guard place < end, self.bytes[place] >= 0x31, self.bytes[place] <= 0x39 else { return nil }
            port = 0
            while place < end, port <= 65535, self.bytes[place] >= 0x30, self.bytes[place] <= 0x39 {
                port = port * 10 + Int(self.bytes[place] - 0x30)
                place += 1
            }
            guard port <= 65535, port != scheme.defaultPort else { return nil }
        }
        let pathStart = place
        guard place < end, self.bytes[place] == 0x2F, let number = UInt16(exactly: port) else { return nil }
        var pathEnd = end
        while place < end {
            let byte = self.bytes[place]
            guard PercentEncoding.isPathByte(byte) else { return nil }
            if byte == 0x3F, pathEnd == end { pathEnd = place }
            // The beginning of a possible dot segment. Rare in a query, which needs no check but gets it, too.
            if previous == 0x2F, byte == 0x2E || byte == 0x25 { return nil }
            previous = byte
            place += 1
        }
        let start = range.lowerBound
        return HTTPURL(
            text: String(decoding: self.bytes.part(range), as: UTF8.self),
            scheme: scheme,
            host: hostStart - start..<hostEnd - start,
            path: pathStart - start..<pathEnd - start,
            port: number
        )
    }

    /// Whether the range begins with a prefix, in lower case.
    private func hasLowercase(_ prefix: StaticString, _ range: Range<Int>) -> Bool {
        guard range.count >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { wanted in
            for index in 0..<wanted.count where self.bytes[range.lowerBound + index] != wanted[index] { return false }
            return true
        }
    }

    /// Whether a byte of a host name is in normal form: a digit, a lower-case letter, a dot, a hyphen or an underscore.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x30...0x39, 0x2E, 0x2D, 0x5F: true
        default: false
        }
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }

    private func error(_ code: SyntaxError.Code, _ reason: String) -> SyntaxError {
        SyntaxError(code, at: self.bytes, reason)
    }

    private func scheme(_ range: Range<Int>) throws(SyntaxError) -> Scheme {
        if self.begins(range, "http://") { return .http }
        if self.begins(range, "https://") { return .https }
        if self.begins(range, "http:") || self.begins(range, "https:") {
            throw self.error(.missingHost, "no // after the scheme; write http://example.com/x or https://…")
        }
        if let name = Self.schemeName(self.bytes[range]) {
            let rest = self.bytes[(range.lowerBound + name.utf8.count + 1)..<range.upperBound]
            let isHostAndPort = rest.first.map { $0 >= 0x30 && $0 <= 0x39 } ?? false
            if rest.starts(with: "//".utf8) || !(isHostAndPort || name.utf8.contains(0x2E)) {
                throw self.error(
                    .unsupportedScheme(name),
                    "the scheme \(name) is not supported; only http and https are"
                )
            }
        }
        let shown = SyntaxError(.missingScheme, at: self.bytes[range], "no scheme; write").message
        let host = self.bytes[range].starts(with: "//".utf8) ? "" : "//"
        let text = shown.dropLast(": no scheme; write".count)
        throw SyntaxError(.missingScheme, "\(shown) http:\(host)\(text) or https://…")
    }

    /// The scheme at the start of the bytes, in lower case, or `nil`.
    static func schemeName(_ bytes: some Sequence<UInt8>) -> String? {
        var name: [UInt8] = []
        for byte in bytes {
            switch byte {
            case 0x3A: return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
            case 0x41...0x5A, 0x61...0x7A: name.append(ASCII.lowercase(byte))
            case 0x30...0x39, 0x2B, 0x2D, 0x2E:
                if name.isEmpty { return nil }
                name.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private func begins(_ range: Range<Int>, _ prefix: StaticString) -> Bool {
        guard range.count >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { wanted in
            for index in 0..<wanted.count
            where ASCII.lowercase(self.bytes[range.lowerBound + index]) != wanted[index] {
                return false
            }
            return true
        }
    }

    private mutating func userInfo(_ range: Range<Int>) throws(SyntaxError) {
        for byte in self.bytes[range] {
            guard byte > 0x1F, byte != 0x7F else {
                throw self.error(.badCharacter, "a control character in the user's name or password; encode it as %XX")
            }
            if PercentEncoding.isUserInfoByte(byte) {
                self.output.append(byte)
            } else {
                PercentEncoding.append(byte, to: &self.output)
            }
        }
        self.output.append(0x40)
    }

    /// Appends the host and returns the offset of the port's colon, or of the end.
    private mutating func host(_ range: Range<Int>) throws(SyntaxError) -> Int {
        let isAddress = range.first.map { self.bytes[$0] == 0x5B } ?? false
        if isAddress {
            guard let close = self.bytes[range].firstIndex(of: 0x5D),
                let address = IPv6Address(self.bytes[(range.lowerBound + 1)..<close]),
                close + 1 == range.upperBound || self.bytes[close + 1] == 0x3A
            else {
                throw self.error(.badHost, "the IPv6 address is malformed; write it as http://[2001:db8::1]:8080/x")
            }
            self.output.append(contentsOf: "[\(address)]".utf8)
            return close + 1
        }
        let end = self.bytes[range].firstIndex(of: 0x3A) ?? range.upperBound
        guard range.lowerBound < end else {
            throw self.error(.missingHost, "no host; write http://example.com/x")
        }
        let start = self.output.count
        var isPlain = true
        for byte in self.bytes[range.lowerBound..<end] {
            guard byte > 0x20, byte != 0x7F else {
                throw self.error(.badCharacter, "a space or a control character in the host; remove it")
            }
            if byte >= 0x80 || byte == 0x25 { isPlain = false }
            self.output.append(ASCII.lowercase(byte))
        }
        if !isPlain {
            let international = HostName.toASCII(PercentEncoding.decode(self.bytes[range.lowerBound..<end]))
            guard let international else {
                throw self.error(.badHost, "the host name contains invalid characters; correct it")
            }
            self.output.replaceSubrange(start..., with: international)
        }
        guard HostName.isRegisteredName(self.output[start...]) else {
            throw self.error(.badHost, "the host name is malformed or longer than 253 bytes; correct it")
        }
        return end
    }

    private mutating func port(_ range: Range<Int>, _ scheme: Scheme) throws(SyntaxError) -> UInt16 {
        // A colon without a port means the default (RFC 3986 §3.2.3).
        guard range.count > 1 else { return UInt16(scheme.defaultPort) }
        var value = 0
        for byte in self.bytes[range].dropFirst() {
            guard byte >= 0x30, byte <= 0x39, value <= 65535 else {
                value = 0
                break
            }
            value = value * 10 + Int(byte - 0x30)
        }
        guard value >= 1, let port = UInt16(exactly: value) else {
            throw self.error(.badPort, "the port is not a number from 1 to 65535; correct it or leave it out")
        }
        if value != scheme.defaultPort {
            self.output.append(0x3A)
            self.output.append(contentsOf: String(value).utf8)
        }
        return port
    }

    /// Appends a path or a query, encoding bytes as needed; returns whether it may contain a dot segment.
    private mutating func encode(_ range: Range<Int>) throws(SyntaxError) -> Bool {
        var previous: UInt8 = 0
        var mayHaveDots = false
        for byte in self.bytes[range] {
            if PercentEncoding.isPathByte(byte) {
                // `%2e` is a dot as well.
                if previous == 0x2F, byte == 0x2E || byte == 0x25 { mayHaveDots = true }
                self.output.append(byte)
            } else {
                guard byte > 0x1F, byte != 0x7F else {
                    throw self.error(.badCharacter, "a control character; encode it as %XX")
                }
                PercentEncoding.append(byte, to: &self.output)
            }
            previous = byte
        }
        return mayHaveDots
    }
}
