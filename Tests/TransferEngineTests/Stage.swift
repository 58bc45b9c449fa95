// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// An engine on doubles: one thread, one clock that stands still, so that every test sees every effect at once.
final class Stage: Sendable {
    let transport: ScriptedTransport
    let clock = ManualClock()
    let store: MemoryStore
    let recorder = EventRecorder()
    let engine: TransferEngine

    init(
        limit: Int = 5,
        perHost: Int? = nil,
        rate: Int64? = nil,
        lanes: Int = 1,
        pool: any BlockingPool = InlinePool(),
        starts: Bool = true,
        releasesNames: Bool = false,
        store: MemoryStore = MemoryStore(),
        politeness: PolitenessLimits = PolitenessLimits()
    ) {
        self.store = store
        self.transport = ScriptedTransport(laneCount: lanes)
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = limit
        configuration.connectionsPerHost = perHost
        configuration.rateLimit = rate
        configuration.releasesNames = releasesNames
        configuration.politeness = politeness
        self.engine = TransferEngine(
            configuration: configuration,
            transport: self.transport,
            store: self.store,
            time: self.clock,
            pool: pool
        )
        let recorder = self.recorder
        self.engine.observe { recorder.record($0) }
        if starts { self.engine.start() }
    }

    /// Adds a download of these URLs.
    @discardableResult
    func add(
        _ urls: String...,
        name: String? = nil,
        isExact: Bool = false,
        expected: [ExpectedDigest] = [],
        fields: [(String, String)] = [],
        userInfo: (any Sendable)? = nil,
        _ change: (inout DownloadOptions) -> Void = { _ in }
    ) throws -> TransferID {
        var options = DownloadOptions()
        options.connections = .fixed(1)
        change(&options)
        let sources = try urls.map { try HTTPURL($0) }
        var request = DownloadRequest(
            sources,
            name: name,
            expected: expected,
            fields: fields,
            options: options,
            userInfo: userInfo
        )
        request.nameIsExact = isExact
        return try self.engine.add(request)
    }

    /// The exchanges that are open, in order of their start.
    var open: [ScriptedExchange] { self.transport.openExchanges }

    /// The events of a transfer as short words.
    func words(_ id: TransferID) -> [String] { self.recorder.events(of: id).compactMap { Self.word($0.kind) } }

    /// How a transfer ended, `nil` while it has not.
    func end(_ id: TransferID) -> String? { self.words(id).last { ["finished", "failed", "cancelled"].contains($0) } }

    func failure(_ id: TransferID) -> TransferFailure? {
        for event in self.recorder.events(of: id) { if case .failed(let failure) = event.kind { return failure } }
        return nil
    }

    func completion(_ id: TransferID) -> TransferEvent.Completion? {
        for event in self.recorder.events(of: id) {
            if case .finished(let completion) = event.kind { return completion }
        }
        return nil
    }

    func retries(_ id: TransferID) -> [Duration] {
        self.recorder.events(of: id).compactMap { if case .retrying(_, _, let delay) = $0.kind { delay } else { nil } }
    }

    /// Whether a finished file is just what the server has; says no more, for the content is long.
    func holds(_ file: Served, at path: String = "f") -> Bool { self.store.files[path]?.bytes == file.bytes }

    /// The open exchange at this place; fails the test, instead of the process, if it does not exist.
    func exchange(_ index: Int = 0, at location: SourceLocation = #_sourceLocation) throws -> ScriptedExchange {
        let open = self.open
        return try #require(index < open.count ? open[index] : nil, sourceLocation: location)
    }

    /// Moves the clock until a transfer has ended, or so many timers have run.
    func run(until id: TransferID, timers: Int = 20_000) {
        for _ in 0..<timers where self.end(id) == nil { self.clock.advanceToNext() }
    }

    static func word(_ kind: TransferEvent.Kind) -> String? {
        switch kind {
        case .started: "started"
        case .response: "response"
        case .progress: "progress"
        case .retrying: "retrying"
        case .paused: "paused"
        case .finished: "finished"
        case .failed: "failed"
        case .cancelled: "cancelled"
        case .held: "held"
        case .released: "released"
        case .drained: "drained"
        case .missed: "missed"
        case .note, .warning: nil
        }
    }
}

/// A file as a well-behaved server has it, and ways to answer for it.
struct Served: Sendable {
    var pattern = TestPattern(seed: 7)
    var length: Int64
    var tag: String? = "\"one\""
    var modified: String?
    var doesRanges = true
    /// More fields for an answer that carries these bytes.
    var fields: @Sendable (Range<Int64>) -> HeaderFields = { _ in [:] }

    static let large: Int64 = 3 << 20

    var bytes: [UInt8] { self.pattern.bytes(0..<self.length) }

    /// The range that an exchange asks for, half-open.
    func asked(_ exchange: ScriptedExchange) -> Range<Int64>? {
        guard let field = exchange["Range"], field.hasPrefix("bytes=") else { return nil }
        let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let lower = Int64(parts[0]) else { return nil }
        return lower..<(Int64(parts[1]).map { $0 + 1 } ?? max(lower, self.length))
    }

    /// Sends the head that the request deserves.
    ///
    /// - Returns: The range that the body is to have.
    @discardableResult
    func head(_ exchange: ScriptedExchange) -> Range<Int64> {
        var fields: HeaderFields = [:]
        if let tag = self.tag { fields.append("ETag", tag) }
        if let modified = self.modified {
            fields.append("Last-Modified", modified)
            // Without a Date it is no strong validator.
            fields.append("Date", "Sat, 21 Nov 2026 12:00:00 GMT")
        }
        if self.doesRanges { fields.append("Accept-Ranges", "bytes") }
        let condition = exchange["If-Range"]
        if self.doesRanges, let range = self.asked(exchange),
            condition.map({ $0 == (self.tag ?? self.modified) }) ?? true
        {
            guard range.lowerBound < self.length else {
                fields.append("Content-Range", "bytes */\(self.length)")
                fields.append("Content-Length", "0")
                exchange.respond(416, fields)
                return 0..<0
            }
            let sent = range.lowerBound..<min(range.upperBound, self.length)
            fields.append("Content-Range", "bytes \(sent.lowerBound)-\(sent.upperBound - 1)/\(self.length)")
            fields.append("Content-Length", "\(sent.upperBound - sent.lowerBound)")
            for (name, value) in self.fields(sent) { fields.append(name, value) }
            exchange.respond(206, fields)
            return sent
        }
        fields.append("Content-Length", "\(self.length)")
        for (name, value) in self.fields(0..<self.length) { fields.append(name, value) }
        if exchange.request.method == "HEAD" {
            exchange.respond(ResponseHead(status: 200, fields: fields, framing: .none))
            return 0..<0
        }
        exchange.respond(200, fields)
        return 0..<self.length
    }

    /// Answers in full, or up to so many bytes of body and then a broken connection.
    func answer(_ exchange: ScriptedExchange, cutAfter limit: Int64 = .max) {
        let range = self.head(exchange)
        let end = range.lowerBound + min(limit, range.upperBound - range.lowerBound)
        exchange.body(self.pattern, range.lowerBound..<end)
        if exchange.hasEnded { return }
        if end < range.upperBound {
            exchange.fail(TransportError(.reset, "the connection was reset"))
        } else {
            exchange.end()
        }
    }
}
