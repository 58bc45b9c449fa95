// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// A request that a ``ScriptedServer`` received.
public struct RecordedRequest: Sendable {
    /// The method, as sent.
    public let method: String
    /// The request target, as sent.
    public let target: String
    /// The header fields, `Host` and `Connection` included.
    public let fields: HeaderFields
    /// The content, by `Content-Length` or in chunks; empty if its length is above 4 MiB and it was therefore not awaited.
    public let body: [UInt8]
    /// The minor version of HTTP/1 in the request line.
    public let minorVersion: Int
    /// The index of its connection, from 0 in the order of acceptance.
    public let connectionIndex: Int
    /// The number of requests that the server received before this one.
    public let requestIndex: Int
    /// The number of requests for the same target that the server received before this one.
    public let targetIndex: Int

    /// The value of the first field with this name.
    public subscript(name: String) -> String? { self.fields[name] }

    /// The values of all fields with this name.
    public func values(_ name: String) -> [String] { self.fields.values(name) }

    /// The target without its query.
    public var path: String { String(self.target.prefix { $0 != "?" }) }
}

/// Parses the requests in the bytes of a connection.
///
/// Lenient: the connection ends only if a head exceeds 4 MiB or its lines cannot be parsed.
struct RecordedRequestParser {
    struct Head {
        var method: String
        var target: String
        var fields: HeaderFields
        var body: [UInt8] = []
        var minorVersion: Int
    }

    private static let largestRecordedBody = 4 << 20

    private var bytes: [UInt8] = []
    private var bodyLeft = 0
    private var isChunked = false
    /// A parsed head whose content is incomplete.
    private var pending: Head?

    mutating func append(_ new: some Sequence<UInt8>) {
        self.bytes.append(contentsOf: new)
    }

    /// Returns the next request, with its content unless that is large; `nil` if more bytes are needed.
    ///
    /// - Throws: ``TestSupportError`` if the bytes are not a request.
    mutating func next() throws -> Head? {
        if var head = self.pending {
            if self.isChunked {
                guard let content = try self.takeChunkedContent() else { return nil }
                head.body = content
                self.isChunked = false
                self.pending = nil
                return head
            }
            guard self.bytes.count >= self.bodyLeft else { return nil }
            head.body = Array(self.bytes.prefix(self.bodyLeft))
            self.bytes.removeFirst(self.bodyLeft)
            self.bodyLeft = 0
            self.pending = nil
            return head
        }
        if self.bodyLeft > 0 {
            let count = min(self.bodyLeft, self.bytes.count)
            self.bytes.removeFirst(count)
            self.bodyLeft -= count
            guard self.bodyLeft == 0 else { return nil }
        }
        guard let end = self.endOfHead() else {
            if self.bytes.count > 1 << 22 { throw TestSupportError("the request's head is larger than 4 MiB") }
            return nil
        }
        let lines = self.bytes[..<end].split(separator: 0x0A)
            .map { line in
                String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            }
        self.bytes.removeFirst(end)
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count == 3, words[2].hasPrefix("HTTP/1."), let minor = Int(words[2].dropFirst(7)) else {
            throw TestSupportError("not a request line: \(lines.first ?? "")")
        }
        var fields = HeaderFields()
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { throw TestSupportError("not a field: \(line)") }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(String(line[..<colon]), String(value))
        }
        self.bodyLeft = fields["Content-Length"].flatMap(Int.init) ?? 0
        let head = Head(method: String(words[0]), target: String(words[1]), fields: fields, minorVersion: minor)
        if fields["Transfer-Encoding"]?.lowercased() == "chunked" {
            self.isChunked = true
            self.pending = head
            return try self.next()
        }
        guard (1...Self.largestRecordedBody).contains(self.bodyLeft) else { return head }
        self.pending = head
        return try self.next()
    }

    /// Removes and returns the content if all its chunks are there, without trailer fields; `nil` if bytes are missing.
    private mutating func takeChunkedContent() throws -> [UInt8]? {
        var content: [UInt8] = []
        var rest = self.bytes[...]
        while true {
            guard content.count <= Self.largestRecordedBody else {
                throw TestSupportError("the request's chunks are longer than 4 MiB")
            }
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            let line = String(decoding: rest[..<end], as: UTF8.self).prefix { $0.isHexDigit }
            guard let size = Int(line, radix: 16), size <= Self.largestRecordedBody else {
                throw TestSupportError("not the size of a chunk: \(line)")
            }
            rest = rest[(end + 1)...]
            guard rest.count >= size + 2 else { return nil }
            content += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            guard size == 0 else { continue }
            self.bytes = Array(rest)
            return content
        }
    }

    private func endOfHead() -> Int? {
        var index = 0
        while index + 3 < self.bytes.count {
            if self.bytes[index] == 0x0D, self.bytes[index + 1] == 0x0A, self.bytes[index + 2] == 0x0D,
                self.bytes[index + 3] == 0x0A
            {
                return index + 4
            }
            index += 1
        }
        return nil
    }
}
