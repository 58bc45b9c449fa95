// SPDX-License-Identifier: Apache-2.0
extension Reply {
    /// The reply to a request for a file.
    public static func file(_ file: ServedFile, _ request: RecordedRequest) -> Reply {
        file.reply(to: request)
    }
}

extension ServedFile {
    /// Returns the reply to a request for this file.
    public func reply(to request: RecordedRequest) -> Reply {
        if let refusal, request.targetIndex < refusal.count {
            let retryAfter = refusal.retryAfter.map { [("Retry-After", $0)] } ?? []
            return .response(refusal.status, retryAfter, text: "not now\n")
        }
        var file = self
        switch self.change {
        case .entityTagEachTime: file.entityTag = "\"v\(request.requestIndex)\""
        case .after(let count, let pattern, let length, let entityTag) where request.targetIndex >= count:
            file.pattern = pattern
            file.length = length
            file.entityTag = entityTag
            file.lastModified = self.lastModified.map { _ in "Wed, 02 Jul 2025 10:00:00 GMT" }
        default: break
        }
        return file.answer(request)
    }

    private func answer(_ request: RecordedRequest) -> Reply {
        guard self.supportsRanges, self.framing != .close else { return self.whole(request) }
        guard let range = request["Range"], self.holds(request["If-Range"]) else {
            if case .uninvited = self.rangeFault { return self.partial(0..<self.length, request) }
            return self.whole(request)
        }
        switch self.rangeFault {
        case .preconditionFailed: return .response(412, text: "precondition failed\n")
        case .unsatisfiable(let total): return .response(416, [("Content-Range", "bytes */\(total)")])
        default: break
        }
        guard let asked = Self.parse(range, length: self.length) else { return self.whole(request) }
        guard !asked.isEmpty else { return .response(416, [("Content-Range", "bytes */\(self.length)")]) }
        return self.partial(asked, request)
    }

    /// Whether `If-Range` permits a partial response: strong comparison only (RFC 9110 §13.1.5).
    private func holds(_ ifRange: String?) -> Bool {
        guard let ifRange else { return true }
        if case .ignoresIfRange = self.rangeFault { return true }
        if ifRange.hasPrefix("W/") { return false }
        return ifRange == self.entityTag || ifRange == self.lastModified
    }

    /// Parses one range, half-open: empty if it cannot be satisfied, `nil` if the field is ignored.
    static func parse(_ value: String, length: Int64) -> Range<Int64>? {
        guard value.hasPrefix("bytes="), !value.contains(",") else { return nil }
        let parts = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0].isEmpty {
            guard let suffix = Int64(parts[1]), suffix >= 0 else { return nil }
            return max(0, length - suffix)..<length
        }
        guard let first = Int64(parts[0]), first >= 0 else { return nil }
        guard first < length else { return 0..<0 }
        if parts[1].isEmpty { return first..<length }
        guard let last = Int64(parts[1]), last >= first else { return nil }
        return first..<(min(last, length - 1) + 1)
    }

    private var commonFields: [(String, String)] {
        var result: [(String, String)] = []
        if let date { result.append(("Date", date)) }
        if let entityTag { result.append(("ETag", entityTag)) }
        if let lastModified { result.append(("Last-Modified", lastModified)) }
        if self.supportsRanges, self.framing != .close { result.append(("Accept-Ranges", "bytes")) }
        return result + self.fields
    }

    private func whole(_ request: RecordedRequest) -> Reply {
        var fields = self.commonFields
        switch self.framing {
        case .length: fields.append(("Content-Length", String(self.length)))
        case .chunked: fields.append(("Transfer-Encoding", "chunked"))
        case .close: break
        }
        let version = self.framing == .close ? "HTTP/1.0" : "HTTP/1.1"
        var steps = [Reply.Step.head(Reply.headBytes(200, fields, version: version))]
        if request.method != "HEAD" { steps += self.body(0..<self.length, request) }
        if self.framing == .close { steps.append(.close) }
        return Reply(steps)
    }

    private func partial(_ asked: Range<Int64>, _ request: RecordedRequest) -> Reply {
        var fields = self.commonFields
        var range = asked
        var total = String(self.length)
        var contentRange: String?
        switch self.rangeFault {
        case .wrongStart(let shift): range = min(asked.lowerBound + shift, asked.upperBound - 1)..<asked.upperBound
        case .unknownTotal: total = "*"
        case .contentRange(let value): contentRange = value
        case .contentEncoding(let value): fields.append(("Content-Encoding", value))
        case .multipart: return self.multipart(range, fields, request)
        default: break
        }
        if case .missingContentRange = self.rangeFault {
        } else {
            let value = contentRange ?? "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
            fields.append(("Content-Range", value))
        }
        let length = range.upperBound - range.lowerBound
        if self.framing == .chunked {
            fields.append(("Transfer-Encoding", "chunked"))
        } else {
            fields.append(("Content-Length", String(length)))
        }
        var steps = [Reply.Step.head(Reply.headBytes(206, fields))]
        if request.method != "HEAD" { steps += self.body(range, request) }
        return Reply(steps)
    }

    private func multipart(_ range: Range<Int64>, _ fields: [(String, String)], _ request: RecordedRequest) -> Reply {
        let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(self.length)"
        let before = Array("--martlet\r\nContent-Range: \(contentRange)\r\n\r\n".utf8)
        let after = Array("\r\n--martlet--\r\n".utf8)
        let length = Int64(before.count + after.count) + range.upperBound - range.lowerBound
        let head = Reply.headBytes(
            206,
            fields + [
                ("Content-Type", "multipart/byteranges; boundary=martlet"), ("Content-Length", String(length)),
            ]
        )
        guard request.method != "HEAD" else { return Reply([.head(head)]) }
        return Reply([.head(head), .bytes(before), .pattern(self.pattern, range, rate: self.rate), .bytes(after)])
    }

    private func body(_ range: Range<Int64>, _ request: RecordedRequest) -> [Reply.Step] {
        let isChunked = self.framing == .chunked
        let interruption = request.targetIndex < self.interruptedResponses ? self.interruption : nil
        var end = range.upperBound
        var last: Reply.Step?
        let (start, length) = (range.lowerBound, range.upperBound - range.lowerBound)
        switch interruption {
        case .closeAfter(let count) where count < length: (end, last) = (start + count, .close)
        case .resetAfter(let count) where count < length: (end, last) = (start + count, .reset)
        case .stallAfter(let count) where count < length: (end, last) = (start + count, .stall)
        case .closeAt(let offset) where offset < range.upperBound: (end, last) = (max(start, offset), .close)
        default: break
        }
        var steps = [Reply.Step.pattern(self.pattern, start..<end, rate: self.rate, chunked: isChunked)]
        if let last { return steps + [last] }
        if self.excess > 0 { steps.append(.bytes([UInt8](repeating: 0x58, count: self.excess))) }
        if isChunked { steps.append(.head(Array("0\r\n\r\n".utf8))) }
        return steps
    }
}
