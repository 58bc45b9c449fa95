// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The responses of a site.
extension Site {
    /// The decisions of a response depend on the number of its request alone.
    private func generator(_ request: ServerRequest) -> SeededGenerator {
        SeededGenerator(seed: self.decisions ^ (UInt64(request.number) &* 0x9E37_79B9_7F4A_7C15))
    }

    func reply(to request: ServerRequest) -> ServerReply {
        if request.method == "GET" { self.gets += 1 }
        var generator = self.generator(request)
        var reply = self.decide(request, &generator)
        reply.delay += Int64.random(in: 0...2_000_000, using: &generator)
        if reply.rate == 4_000_000 { reply.rate = max(1, self.rate) }
        if let status = reply.head?.status { self.statuses.insert(status) }
        if let field = reply.head?.fields["Retry-After"] {
            self.didAskForDelay = true
            if let seconds = Int64(field) { self.onRetryAfter?(seconds, request) }
        }
        return reply
    }

    private func decide(_ request: ServerRequest, _ generator: inout SeededGenerator) -> ServerReply {
        if request.url.path == "/login" { return self.page(request) }
        if self.isRedirector, case .hosts = self.schedule, request.url.host == self.hosts[0] {
            return self.redirect(request, &generator)
        }
        if let lifetime = self.linkLifetime, let issued = request.url.query.flatMap({ Int64($0) }),
            self.now > issued + lifetime
        {
            self.tell(request, "403, the link has expired")
            return ServerReply(403, ["Content-Length": "0"])
        }
        if self.gets <= self.busy.count, request.method == "GET" {
            self.tell(request, "\(self.busy.status), busy for \(self.busy.seconds) s")
            return ServerReply(self.busy.status, ["Content-Length": "0", "Retry-After": "\(self.busy.seconds)"])
        }
        let (node, version) = self.version(request, &generator)
        let quirk = self.draw(&generator)
        if let quirk { self.used.insert(quirk) }
        if let limit = self.connectionLimit, request.others >= limit.count {
            self.tell(request, "refused with \(limit.status), \(request.others) other connections")
            if limit.status == 0 { return ServerReply(breaking: .reset) }
            var reply = ServerReply(limit.status, ["Content-Length": "0"])
            if limit.status != 403 {
                reply.head?.fields.append("Retry-After", ["0", "0", "1"].randomElement(using: &generator) ?? "0")
            }
            return reply
        }
        if let quirk, let reply = self.refusal(quirk, request, &generator) {
            self.tell(request, "\(reply.head.map { "\($0.status)" } ?? "nothing"): \(quirk.rawValue)")
            return reply
        }
        if request.method == "HEAD" { return self.head(request, node, version, &generator) }
        return self.content(request, node, version, quirk, &generator)
    }

    private func draw(_ generator: inout SeededGenerator) -> Quirk? {
        var result: Quirk?
        for (quirk, share) in self.quirks where result == nil {
            if Double.random(in: 0..<1, using: &generator) < share { result = quirk }
        }
        return result
    }

    /// The node that receives a request, and the version that it has.
    private func version(_ request: ServerRequest, _ generator: inout SeededGenerator) -> (node: Int, version: Int) {
        let count = self.contents.count
        let number = max(1, self.gets)
        func reached<Value: Comparable>(_ thresholds: [Value], _ value: Value) -> (Int, Int) {
            (0, thresholds.count { value > $0 } % count)
        }
        switch self.schedule {
        case .one: return (0, 0)
        case .requests(let thresholds): return reached(thresholds, number)
        case .bytes(let thresholds): return reached(thresholds, self.bytesSent)
        case .times(let thresholds): return reached(thresholds, self.now)
        case .nodes(let pattern, let byConnection):
            let index = (byConnection ? request.connection : number) - 1
            let node = pattern[index % pattern.count] % self.versionOfNode.count
            return (node, self.versionOfNode[node])
        case .random:
            let node = Int.random(in: 0..<self.versionOfNode.count, using: &generator)
            return (node, self.versionOfNode[node])
        case .hosts:
            let place = self.hosts.firstIndex(of: request.url.host) ?? 1
            let node = max(0, place - 1)
            return (node, self.versionOfNode[node])
        case .steps: return (0, self.steps % count)
        }
    }

    private func redirect(_ request: ServerRequest, _ generator: inout SeededGenerator) -> ServerReply {
        let node = Int.random(in: 0..<self.versionOfNode.count, using: &generator)
        let query = self.linkLifetime == nil ? "" : "?\(self.now)"
        let status = [301, 302, 303, 307, 308].randomElement(using: &generator) ?? 302
        self.tell(request, "\(status) to node \(node)")
        let target = "http://\(self.hosts[node + 1])\(request.url.path)\(query)"
        return ServerReply(status, ["Location": target, "Content-Length": "0"])
    }

    private func page(_ request: ServerRequest) -> ServerReply {
        self.tell(request, "200, the login page")
        self.used.insert(.loginPage)
        return self.whole(Self.page, ["Content-Type": "text/html"])
    }

    private func whole(_ content: SimulatedContent, _ fields: HeaderFields) -> ServerReply {
        var fields = fields
        fields.append("Content-Length", "\(content.length)")
        var reply = ServerReply(200, fields)
        reply.head?.framing = .length(content.length)
        reply.content = content
        reply.range = 0..<content.length
        return reply
    }

    // MARK: What is not the resource

    private func refusal(
        _ quirk: Quirk,
        _ request: ServerRequest,
        _ generator: inout SeededGenerator
    ) -> ServerReply? {
        func status(_ statuses: [Int], _ delay: String? = nil) -> ServerReply {
            var fields: HeaderFields = ["Content-Length": "0"]
            if let delay { fields.append("Retry-After", delay) }
            return ServerReply(statuses.randomElement(using: &generator) ?? 500, fields)
        }
        func elsewhere(_ location: String?) -> ServerReply {
            var fields: HeaderFields = ["Content-Length": "0"]
            if let location { fields.append("Location", location) }
            return ServerReply(302, fields)
        }
        let delays = ["0", "1", "2", "30", "-1", "soon", "99999999999999999999"]
        switch quirk {
        case .loginPage: return self.page(request)
        case .emptyPage: return ServerReply(200, ["Content-Length": "0", "Content-Type": "text/html"])
        case .noContent: return ServerReply(204)
        case .notModified: return ServerReply(304)
        case .serverError: return status([500, 502, 503, 504])
        case .serverErrorWithDelay:
            return status([503], delays.randomElement(using: &generator))
        case .tooMany: return status([429], Bool.random(using: &generator) ? "1" : nil)
        case .tooManyWithDate: return status([429], HTTPDate.format(self.wallNow + 3))
        case .gone: return status([404, 410])
        case .forbidden: return status([401, 403, 451])
        case .teapot: return status([418])
        case .malformed: return ServerReply(breaking: .malformed)
        case .hugeHead: return ServerReply(breaking: .headTooLarge)
        case .breaksFirst: return ServerReply(breaking: Bool.random(using: &generator) ? .truncated : .reset)
        case .silent:
            var reply = ServerReply(breaking: .reset)
            (reply.cut, reply.failure) = (nil, nil)
            return reply
        case .redirectsToLogin: return elsewhere("http://\(self.hosts[0])/login")
        case .redirectsForEver: return elsewhere("http://\(request.url.host)\(request.url.requestTarget)")
        case .redirectsDown: return elsewhere("ftp://\(request.url.host)/")
        case .redirectsToNothing: return elsewhere(nil)
        default: return nil
        }
    }

    private func head(
        _ request: ServerRequest,
        _ node: Int,
        _ version: Int,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        guard self.headStatus == 200 else {
            self.tell(request, "\(self.headStatus)")
            return ServerReply(self.headStatus, ["Content-Length": "0"])
        }
        let content = self.contents[version]
        var validators = self.validators(request, node, version, 200, &generator)
        self.show(request, version, validators, content.length)
        if !self.hidesLength { validators.fields.append("Content-Length", "\(content.length)") }
        if self.acceptsRanges { validators.fields.append("Accept-Ranges", "bytes") }
        self.tell(request, "200 of version \(version)")
        return ServerReply(200, validators.fields)
    }

    // MARK: The resource

    private func content(
        _ request: ServerRequest,
        _ node: Int,
        _ version: Int,
        _ quirk: Quirk?,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        let content = self.contents[version]
        var wanted = request.range(of: content.length)
        var sent = self.validators(request, node, version, wanted == nil ? 200 : 206, &generator)
        if self.knowsConditions, self.isUnchanged(request, sent) {
            self.show(request, version, sent, nil)
            self.tell(request, "304 of version \(version)")
            return ServerReply(304, sent.fields)
        }
        if wanted != nil, quirk == .ignoresRange || !self.permitsRange(request, sent) {
            wanted = nil
            sent = self.validators(request, node, version, 200, &generator)
        }
        if self.acceptsRanges { sent.fields.append("Accept-Ranges", "bytes") }
        sent.fields.append("Content-Type", "application/octet-stream")
        if quirk == .encoding { sent.fields.append("Content-Encoding", "gzip") }
        if let range = wanted, range.isEmpty || quirk == .notSatisfiable {
            return self.notSatisfiable(request, version, sent, &generator)
        }
        var reply: ServerReply
        if let range = wanted {
            reply = self.part(request, version, range, sent, quirk, &generator)
        } else {
            reply = self.whole(request, version, sent, quirk)
        }
        if let shown = self.shown.last {
            self.deliveries[request.number] = Delivery(shown: shown, start: reply.range.lowerBound)
        }
        self.spoil(&reply, quirk, &generator)
        if reply.cut != nil, request.fields["Range"] != nil, request.fields["If-Range"] == nil {
            self.cutComparisons += 1
        }
        self.tell(
            request,
            "\(reply.head?.status ?? 0) of version \(version), bytes \(reply.range.lowerBound)-\(reply.range.upperBound)"
                + " of \(content.length)" + (sent.tag.map { ", ETag \($0)" } ?? "")
                + (sent.modified.map { ", modified \($0)" } ?? "") + (quirk.map { ", \($0.rawValue)" } ?? "")
                + (reply.cut.map { ", cut after \($0)" } ?? "")
        )
        return reply
    }

    private func whole(_ request: ServerRequest, _ version: Int, _ sent: SentValidators, _ quirk: Quirk?) -> ServerReply
    {
        let content = self.contents[version]
        let hidesLength = self.hidesLength || [.chunked, .untilClose, .trailingDigest].contains(quirk)
        self.show(request, version, sent, hidesLength && quirk != .wholeAsPart ? nil : content.length)
        var fields = sent.fields
        if quirk == .lyingDigest, self.contents.count > 0 {
            fields["Repr-Digest"] = "sha-256=:\(Base64.encode(Self.page.sha256)):"
            self.didSendLyingDigest = true
            self.didSendDigest = true
        }
        var length = content.length
        if quirk == .shortLength { length = max(1, length - 1000) }
        if quirk == .longLength { length += 1000 }
        let isPart = quirk == .wholeAsPart
        if isPart { fields.append("Content-Range", "bytes 0-\(content.length - 1)/\(content.length)") }
        var reply = ServerReply(isPart ? 206 : 200, fields)
        reply.content = content
        reply.range = 0..<min(length, content.length)
        switch quirk {
        case .chunked: reply.head?.framing = .chunked
        case nil where self.hidesLength: reply.head?.framing = .chunked
        case .untilClose: reply.head?.framing = .untilClose
        default:
            reply.head?.fields.append("Content-Length", "\(length)")
            reply.head?.framing = .length(length)
        }
        if quirk == .longLength { reply.cut = content.length }
        if quirk == .trailingDigest {
            reply.head?.framing = .chunked
            reply.head?.fields["Content-Length"] = nil
            reply.trailers.append("Repr-Digest", self.digest(of: version))
            self.didSendDigest = true
        }
        return reply
    }

    private func part(
        _ request: ServerRequest,
        _ version: Int,
        _ range: Range<Int64>,
        _ sent: SentValidators,
        _ quirk: Quirk?,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        let length = self.contents[version].length
        var (start, end) = (range.lowerBound, range.upperBound)
        self.shortestRange = min(self.shortestRange, end - start)
        var total = "\(length)"
        switch quirk {
        case .shortensRange: end = min(end, start + self.cap)
        case .hidesTotal: total = "*"
        case .lyingTotal: total = "\(length + 1)"
        case .shiftsRange:
            start = [0, max(0, start - 1000), min(end - 1, start + 1000)].randomElement(using: &generator) ?? 0
        case .wholeAsPart: (start, end) = (0, length)
        default: break
        }
        if quirk == nil {
            if self.hidesLength { total = "*" }
            if self.shortensRanges { end = min(end, start + self.cap) }
        }
        // A wrong total is another length: it is not the version's.
        self.show(request, version, sent, total == "*" ? nil : quirk == .lyingTotal ? length + 1 : length)
        var fields = sent.fields
        let valid = "bytes \(start)-\(end - 1)/\(total)"
        switch quirk {
        case .omitsContentRange: break
        case .multipart: fields["Content-Type"] = "multipart/byteranges; boundary=edge"
        case .garblesContentRange:
            let garbled = [
                "bytes \(start)-", "bytes \(start)-\(end - 1)", "items \(start)-\(end - 1)/\(total)",
                "bytes \(end)-\(start)/\(total)", "bytes \(start)-\(end - 1)/\(end / 2)", "bytes x-y/z", "",
            ]
            fields.append("Content-Range", garbled.randomElement(using: &generator) ?? "")
        default: fields.append("Content-Range", valid)
        }
        var reply = ServerReply(206, fields)
        reply.content = self.contents[version]
        reply.range = start..<end
        if quirk == .chunked {
            reply.head?.framing = .chunked
        } else {
            reply.head?.fields.append("Content-Length", "\(end - start)")
            reply.head?.framing = .length(end - start)
        }
        return reply
    }

    private func notSatisfiable(
        _ request: ServerRequest,
        _ version: Int,
        _ sent: SentValidators,
        _ generator: inout SeededGenerator
    ) -> ServerReply {
        var fields = sent.fields
        let length = self.contents[version].length
        if self.isHonest || Bool.random(using: &generator) { fields.append("Content-Range", "bytes */\(length)") }
        fields.append("Content-Length", "0")
        self.show(request, version, sent, length)
        self.tell(request, "416 of version \(version)")
        return ServerReply(416, fields)
    }

    /// Cuts, stalls and pauses of one response.
    private func spoil(_ reply: inout ServerReply, _ quirk: Quirk?, _ generator: inout SeededGenerator) {
        let length = reply.range.upperBound - reply.range.lowerBound
        let (draw, place) = (Double.random(in: 0..<1, using: &generator), Double.random(in: 0..<1, using: &generator))
        let isReset = Double.random(in: 0..<1, using: &generator) < self.resets
        let isUntilClose = reply.head?.framing == .untilClose
        // Short responses are mostly comparisons: cuts are for what follows them.
        if reply.cut == nil, !isUntilClose, self.cuts < self.mostCuts,
            draw < self.cutShare * (length > 100_000 ? 1 : 0.1)
        {
            self.cuts += 1
            reply.cut = Int64(place * Double(length))
            reply.failure = isReset ? .reset : .truncated
        }
        switch quirk {
        case .stalls: reply.stall = Int64(place * Double(length))
        case .cutsFirst: (reply.cut, reply.failure) = (0, .truncated)
        case .cutsLast where !isUntilClose: (reply.cut, reply.failure) = (max(0, length - 1), .reset)
        case .drips: reply.rate = max(1, length / 100)
        case .hesitates: reply.pause = (Int64(place * Double(length)), 20_000_000_000)
        case .interim: reply.interim = [100, 103, 103]
        default: break
        }
        if quirk == .cutsFirst || quirk == .cutsLast { self.cuts += 1 }
    }
}
