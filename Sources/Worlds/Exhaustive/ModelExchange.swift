// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// A request of the machine, and the response that it gets.
struct ModelExchange {
    /// A response of which something has still to arrive.
    struct Response {
        enum End: Hashable {
            case complete(cleanly: Bool)
            case lost(TransportError.Code)
        }

        var letter: ModelLetter
        /// The first byte of the version that the response carries.
        var begin: Int64 = 0
        /// The next byte of the version, and the end of what arrives.
        var next: Int64
        var stop: Int64
        /// The ends of the delivery's steps: after half of the body, then at its end.
        var pause: Int64
        var end: End
        /// The length of the whole that the response declares.
        var total: Int64?
        /// The digest of the bytes that arrived, as far as they are those of the part.
        var digestCount: Int64 = 0
        /// Whether the overlap has all that was held before the part when the response came, or as much as is compared.
        var hasWholeOverlap = true
    }

    let plan: FetchPlan
    /// The offset in the file of the next byte to be written.
    var position: Int64?
    var response: Response?

    init(_ plan: FetchPlan) { self.plan = plan }

    var number: Int { self.plan.number }

    /// The requested range; the end is `nil` for all that follows.
    var range: (lower: Int64, upper: Int64?)? {
        guard let parts = self.plan.range?.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false),
            parts.count == 2, let first = Int64(parts[0])
        else { return nil }
        return (first, Int64(parts[1]).map { $0 + 1 })
    }

    func combine(into hasher: inout Hasher) {
        hasher.combine(self.plan.range)
        hasher.combine(self.plan.ifRange)
        hasher.combine(self.plan.flow.url)
        hasher.combine(self.plan.overlap)
        hasher.combine(self.position)
        guard let response = self.response else { return hasher.combine(0) }
        hasher.combine(response.letter.name)
        hasher.combine(response.begin)
        hasher.combine(response.next)
        hasher.combine(response.stop)
        hasher.combine(response.pause)
        hasher.combine(response.end)
        hasher.combine(response.total)
        hasher.combine(response.digestCount)
        hasher.combine(response.hasWholeOverlap)
    }
}

extension ModelLetter {
    /// The head and the body of this response to a request.
    func respond(to exchange: ModelExchange, _ scale: ModelScale) -> (ResponseHead, ModelExchange.Response)? {
        let size = scale.size(self.version)
        switch self.answer {
        case .lost: return nil
        case .status(let status, let fields): return self.bare(status, fields)
        case .whole: return self.make(200, 0..<size, nil, scale)
        case .correct:
            guard let range = exchange.range, self.matches(exchange.plan.ifRange) else {
                return self.make(200, 0..<size, nil, scale)
            }
            guard range.lower < size else { return self.bare(416, [("Content-Range", "bytes */\(size)")]) }
            let sent = range.lower..<min(range.upper ?? size, size)
            return self.make(206, sent, Self.contentRange(sent, "\(size)"), scale)
        case .part(let placement):
            let lower = exchange.range?.lower ?? 0
            guard lower < size else { return self.bare(416, [("Content-Range", "bytes */\(size)")]) }
            var sent = lower..<min(exchange.range?.upper ?? size, size)
            let count = sent.upperBound - sent.lowerBound
            switch placement {
            case .asRequested, .unstated: break
            case .half: sent = lower..<lower + max(1, count / 2)
            case .shifted where count > scale.unit: sent = lower + scale.unit..<sent.upperBound
            case .shifted: break
            case .fromZero: sent = 0..<size
            }
            let total =
                switch self.total {
                case .right: "\(size)"
                case .unknown: "*"
                case .wrong: "\(max(size - scale.unit, sent.upperBound))"
                }
            let isStated = if case .unstated = placement { false } else { true }
            return self.make(206, sent, isStated ? Self.contentRange(sent, total) : nil, scale)
        }
    }

    private static func contentRange(_ range: ByteRange, _ total: String) -> String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
    }

    private func matches(_ validator: String?) -> Bool {
        validator == nil || validator == self.validators.entityTag || validator == self.validators.lastModified
    }

    private func bare(_ status: Int, _ more: [(String, String)]) -> (ResponseHead, ModelExchange.Response) {
        let head = ResponseHead(status: status, fields: HeaderFields(more), framing: .none)
        return (
            head,
            ModelExchange.Response(letter: self, next: 0, stop: 0, pause: 0, end: .complete(cleanly: true), total: nil)
        )
    }

    private func make(
        _ status: Int,
        _ body: ByteRange,
        _ contentRange: String?,
        _ scale: ModelScale
    ) -> (ResponseHead, ModelExchange.Response) {
        var fields: HeaderFields = [
            "Date": ModelValidators.date, "Accept-Ranges": "bytes",
            "Content-Type": self.version == .page ? "text/html" : "application/octet-stream",
        ]
        if let tag = self.validators.entityTag { fields.append("ETag", tag) }
        if let time = self.validators.lastModified { fields.append("Last-Modified", time) }
        if let contentRange { fields.append("Content-Range", contentRange) }
        if self.isCompressed { fields.append("Content-Encoding", "gzip") }
        switch self.digest {
        case .none: break
        case .right: fields.append("Repr-Digest", ModelVersion.field(self.version.digest))
        case .wrong: fields.append("Repr-Digest", ModelVersion.field((self.version == .a ? .b : ModelVersion.a).digest))
        }
        switch self.partDigest {
        case .none: break
        case .right: fields.append("Content-Digest", ModelVersion.field(self.version.partDigest))
        case .wrong: fields.append("Content-Digest", ModelVersion.field(ModelVersion.noDigest))
        }
        let count = body.upperBound - body.lowerBound
        let framing: BodyFraming
        switch self.framing {
        case .length:
            framing = .length(count)
            fields.append("Content-Length", "\(count)")
        case .chunked: framing = .chunked
        case .untilClose: framing = .untilClose
        }
        let half = scale.unit / 2
        let (arriving, end): (Int64, ModelExchange.Response.End) =
            switch self.arrival {
            case .complete: (count, .complete(cleanly: self.framing != .untilClose))
            case .cut(let halves): (min(halves * half, max(0, count - 1)), .lost(.truncated))
            case .end(let halves): (min(halves * half, count), .complete(cleanly: self.framing != .untilClose))
            }
        let stop = body.lowerBound + arriving
        let middle = body.lowerBound + arriving / 2 / scale.unit * scale.unit
        var response = ModelExchange.Response(letter: self, next: body.lowerBound, stop: stop, pause: middle, end: end)
        response.begin = body.lowerBound
        response.total = contentRange.map { ContentRange($0)?.total } ?? (framing == .length(count) ? count : nil)
        return (ResponseHead(status: status, fields: fields, framing: framing), response)
    }
}
