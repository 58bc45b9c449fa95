// SPDX-License-Identifier: Apache-2.0
/// Parses a complete request head, or trailer fields, strictly.
///
/// Every line must end with CR LF, no line may be folded, and no length may be declared in different ways: ambiguities
/// that a proxy in front might resolve differently are rejected (RFC 9112 §11.2).
///
/// - Source: RFC 9112 §3 and §5.
struct RequestHeadParser {
    // Bounds: `line(orThrow:)` compares each offset with the count, and the position after a line is at most the count. Within a
    // line, an offset is compared with its count first; the version has 8 bytes when they are read.
    private let bytes: UnsafeRawBufferPointer
    private let limits: RequestParser.Limits
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer, _ limits: RequestParser.Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// Parses a head from its first byte to the end of its blank line.
    static func head(
        _ bytes: UnsafeRawBufferPointer,
        _ limits: RequestParser.Limits
    ) throws(RequestError) -> RequestHead {
        var parser = RequestHeadParser(bytes, limits)
        var head = try parser.requestLine()
        var facts = FramingFacts()
        head.fields.reserve(bytes: bytes.count, lines: 12)
        try parser.fieldLines(into: &head.fields) { (name, value) throws(RequestError) in
            do { try facts.note(name: name, value: value) } catch { throw .ambiguousLength }
        }
        head.framing = try Self.framing(facts, head.minorVersion)
        head.keepsAlive = head.minorVersion == 0 ? facts.saysKeepAlive && !facts.saysClose : !facts.saysClose
        return head
    }

    /// Parses trailer fields to the end of the blank line after them.
    static func trailers(
        _ bytes: UnsafeRawBufferPointer,
        _ limits: RequestParser.Limits
    ) throws(RequestError) -> HeaderFields {
        var parser = RequestHeadParser(bytes, limits)
        var fields = HeaderFields()
        try parser.fieldLines(into: &fields) { (_, _) throws(RequestError) in }
        return fields
    }

    private static func framing(_ facts: FramingFacts, _ minorVersion: Int) throws(RequestError) -> RequestHead.Framing
    {
        guard facts.hasTransferEncoding else {
            guard let length = facts.contentLength else { return .none }
            return length == 0 ? .none : .length(length)
        }
        guard facts.contentLength == nil, minorVersion > 0 else { throw .ambiguousLength }
        guard facts.isChunked else { throw .unsupportedTransferCoding }
        return .chunked
    }

    /// The next line without its CR LF, or `nil` at the end; throws if it ends in another way.
    private mutating func line(orThrow error: RequestError) throws(RequestError) -> UnsafeRawBufferPointer? {
        let start = self.position
        var end = start
        while end < self.bytes.count, self.bytes[end] != Byte.lf { end += 1 }
        guard end < self.bytes.count else { return nil }
        guard end > start, self.bytes[end - 1] == Byte.cr else { throw error }
        self.position = end + 1
        return self.bytes.part(start..<end - 1)
    }

    private mutating func requestLine() throws(RequestError) -> RequestHead {
        guard let line = try self.line(orThrow: .invalidRequestLine) else { throw .invalidRequestLine }
        var method = 0
        while method < line.count, Byte.isTokenCharacter(line[method]) { method += 1 }
        guard method > 0, method <= 32, method < line.count, line[method] == Byte.space else {
            throw .invalidRequestLine
        }
        var target = method + 1
        // No control characters, no white space, only ASCII (RFC 9112 §3.2).
        while target < line.count, line[target] > Byte.space, line[target] < 0x7F { target += 1 }
        guard target > method + 1, target < line.count, line[target] == Byte.space else { throw .invalidRequestLine }
        guard target - method - 1 <= self.limits.targetBytes else { throw .targetTooLong }
        let version = line.part(target + 1..<line.count)
        guard version.count == 8, "HTTP/".utf8.elementsEqual(version.prefix(5)), version[6] == 0x2E else {
            throw .invalidRequestLine
        }
        guard version[5] == Byte.zero + 1, version[7] == Byte.zero || version[7] == Byte.zero + 1 else {
            throw .unsupportedVersion
        }
        return RequestHead(
            method: String(decoding: line.part(0..<method), as: UTF8.self),
            target: String(decoding: line.part(method + 1..<target), as: UTF8.self),
            minorVersion: Int(version[7] - Byte.zero)
        )
    }

    private mutating func fieldLines(
        into fields: inout HeaderFields,
        _ note: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws(RequestError) -> Void
    ) throws(RequestError) {
        while let line = try self.line(orThrow: .invalidField), !line.isEmpty {
            var colon = 0
            while colon < line.count, Byte.isTokenCharacter(line[colon]) { colon += 1 }
            guard colon > 0, colon < line.count, line[colon] == Byte.colon else { throw .invalidField }
            let name = line.part(0..<colon)
            let value = line.part(colon + 1..<line.count).trimmed()
            for byte in value where byte < Byte.space && byte != Byte.tab || byte == 0x7F { throw .invalidField }
            guard fields.count < self.limits.fields else { throw .tooManyFields }
            fields.append(name: name, value: value)
            try note(name, value)
        }
    }
}
