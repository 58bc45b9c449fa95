// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

/// A server, a network, a disk and an engine, all naive, around the machines of one upload's runs.
///
/// Bytes are not stored: a segment says of which version of the file a range is.
private struct UploadWorld {
    enum Kind: CaseIterable {
        case plain
        case tus
        case draft
    }

    struct Segment: Hashable {
        var version: Int
        var range: Range<Int64>
    }

    /// An upload at the server.
    struct Stored {
        var segments: [Segment] = []
        var isComplete = false

        var count: Int64 { self.segments.reduce(0) { $0 + $1.range.upperBound - $1.range.lowerBound } }
    }

    /// A request under way.
    struct Wire {
        let request: UploadMachine.OutgoingRequest
        var isConnected = false
        var hasHead = false
        /// The bytes that the kernel has taken.
        var taken: [Segment] = []
        var count: Int64 = 0
        /// The resource that the request created, before its response.
        var created: String?
    }

    enum Pending {
        case journalRead
        case journalWrite(UploadRecord, Int?)
        case journalRemoval
        case note
        case withdrawal
        case digest(Range<Int64>)
    }

    var generator: SeededGenerator
    let kind: Kind
    let length: Int64
    let plan: UploadPlan
    let takesNothing: Bool

    // The server.
    var stored: [String: Stored] = [:]
    var endpoint: [Segment]?
    var isTaken = false
    var nextResource = 1

    // The client.
    var machine: UploadMachine
    var fileVersion = 1
    var openVersion = 1
    var journal: UploadRecord?
    var budget = RetryBudget(retries: 30)
    var pending: [Pending] = []
    var actions: [UploadMachine.Action] = []
    var wire: Wire?
    var question: Int?
    var waiting: [Origin] = []
    var slots: [Origin] = []
    var now: Int64 = 1
    var endings: [UploadMachine.Outcome] = []
    var isOver = false
    var isCalm = false
    var isInterrupting = false
    var steps = 0

    // State for the invariants.
    var violations: [String] = []
    /// Whether the server may have processed a request that must not be repeated.
    var mayBeProcessed = false
    var isNoted = false
    /// Whether a request was connected since the note was made.
    var isNoteUsed = false
    /// The offset last reported for a resource.
    var reported: [String: Int64] = [:]
    var terminated: Set<String> = []
    var runs = 0

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let kind = Kind.allCases[Int.random(in: 0..<3, using: &generator)]
        let length: Int64 = [0, 1, 700_000, 3 << 20, 20 << 20][Int.random(in: 0..<5, using: &generator)]
        let url = (try? HTTPURL("http://host/f")) ?? HTTPURL.none
        var plan = UploadPlan(url)
        plan.isStream = Int.random(in: 0..<8, using: &generator) == 0
        plan.hasJournal = Bool.random(using: &generator)
        plan.requests.hasPolicy = Bool.random(using: &generator)
        plan.method = Bool.random(using: &generator) ? "PUT" : "POST"
        plan.notesUnrepeatable = plan.method == "POST"
        plan.requests.mayBeRepeated = plan.method == "POST" && Int.random(in: 0..<8, using: &generator) == 0
        plan.expectsFrom = Bool.random(using: &generator) ? 1 : nil
        plan.checksum = Int.random(in: 0..<4, using: &generator) == 0 ? .sha256 : nil
        plan.requests.retryStatuses = [503]
        plan.requests.stallTimeout = 60_000_000_000
        let ways: [UploadProtocolMachine.Way] =
            switch kind {
            case .plain: [.plain, .automatic, .by(.ietf6)]
            case .tus: [.automatic, .by(.tus)]
            case .draft: [.automatic, .by(.ietf6), .by(.ietf5), .by(.ietf3)]
            }
        plan.way = ways[Int.random(in: 0..<ways.count, using: &generator)]
        self.kind = kind
        self.length = length
        self.plan = plan
        self.takesNothing = Int.random(in: 0..<20, using: &generator) == 0
        self.isTaken = Int.random(in: 0..<10, using: &generator) == 0
        self.generator = generator
        self.machine = UploadMachine(plan, history: UploadHistory(), slot: nil, now: 0)
        self.begin(UploadHistory())
    }

    private mutating func chance(_ percent: Int) -> Bool {
        !self.isCalm && Int.random(in: 0..<100, using: &self.generator) < percent
    }

    private mutating func random(_ range: ClosedRange<Int64>) -> Int64 {
        Int64.random(in: range, using: &self.generator)
    }

    private mutating func require(_ isSo: Bool, _ rule: String) { if !isSo { self.violations.append(rule) } }

    // MARK: Driver

    private mutating func begin(_ history: UploadHistory) {
        self.runs += 1
        self.endings = []
        self.slots = [self.plan.url.origin]
        self.machine = UploadMachine(self.plan, history: history, slot: self.plan.url.origin, now: self.now)
        self.apply(self.machine.began())
    }

    private mutating func apply(_ actions: [UploadMachine.Action]) {
        let isOuter = self.actions.isEmpty
        self.actions += actions
        guard isOuter else { return }
        while let action = self.actions.first {
            self.perform(action)
            self.actions.removeFirst()
        }
        if let outcome = self.endings.first, !self.isOver { self.ended(outcome) }
    }

    private mutating func perform(_ action: UploadMachine.Action) {
        if !self.endings.isEmpty {
            if case .releaseConnection = action {} else { self.require(false, "an action after the end") }
        }
        switch action {
        case .reportStart, .reportResponse, .reportProgress, .note, .discardAnswer, .cancelStream: break
        case .openContent:
            self.openVersion = self.fileVersion
            let files = self.plan.isStream ? [] : [self.identity]
            self.apply(self.machine.opened(length: self.plan.isStream ? nil : self.length, files: files))
        case .readJournal: self.pending.append(.journalRead)
        case .writeJournal(let record, let number): self.pending.append(.journalWrite(record, number))
        case .removeJournal: self.pending.append(.journalRemoval)
        case .noteUnrepeatable:
            self.pending.append(.note)
            self.isNoteUsed = false
        case .withdrawNote:
            self.require(!self.mayBeProcessed, "the note of a request that may have been processed was removed")
            self.pending.append(.withdrawal)
        case .computeDigest(_, let range): self.pending.append(.digest(range))
        case .waitForConnection(let origin): self.waiting.append(origin)
        case .releaseConnection(let origin):
            guard let index = self.slots.firstIndex(of: origin) else {
                return self.require(false, "a connection was released twice or never taken")
            }
            self.slots.remove(at: index)
        case .send(let request): self.sent(request)
        case .cancel(let id):
            self.require(self.wire?.request.id == id, "a request was cancelled that is over")
            if let wire = self.wire { self.cut(wire) }
            self.late(id)
        case .resumeReading(let id): self.require(self.wire?.request.id == id, "reading of no response was resumed")
        case .ask(_, let id): self.question = id
        case .checkContent:
            self.apply(self.machine.contentChecked(self.content, now: self.now))
        case .terminate(let record): self.terminated.insert(record.resource)
        case .giveUp:
            if let record = self.journal { self.terminated.insert(record.resource) }
            self.journal = nil
        case .end(let outcome):
            self.require(self.slots.isEmpty, "a connection was not released")
            self.require(self.wire == nil, "a request outlived its run")
            self.endings.append(outcome)
        }
    }

    private var identity: FileIdentity {
        FileIdentity(
            size: self.length,
            modified: 1,
            changed: Int64(self.fileVersion),
            device: 1,
            inode: 1
        )
    }

    private var content: UploadMachine.ContentState {
        guard !self.plan.isStream, self.fileVersion != self.openVersion else { return .unchanged }
        return .changed(TransferFailure(.fileIO, "changed"))
    }

    /// A late event of a request that is over must do nothing.
    private mutating func late(_ id: Int) {
        let head = ResponseHead(status: 200, fields: [:], framing: .none)
        var machine = self.machine
        let actions =
            machine.headReceived(head, on: id, now: self.now, wallNow: 0) + machine.responseEnded(id)
            + machine.policyDecided(.cancel, on: id, now: self.now)
            + machine.requestFailed(id, TransportError(.reset, "late"), content: nil)
        self.require(actions.isEmpty, "a late event had an effect")
    }

    // MARK: Engine

    private mutating func ended(_ outcome: UploadMachine.Outcome) {
        self.require(self.endings.count == 1, "a run ended twice")
        // The journal's writes come before the next run.
        for operation in self.pending { self.complete(operation, reports: false) }
        self.pending = []
        self.question = nil
        let history = self.machine.history
        self.budget.kept(self.machine.kept)
        switch outcome {
        case .failed: self.isOver = true
        case .finished:
            self.isOver = true
            self.require(self.hasContent, "finished, and the server has other content")
        case .cancelled(let keeping):
            self.isOver = true
            if !keeping, let record = self.journal, !record.isVoid {
                self.require(self.terminated.contains(record.resource), "a cancelled upload was not deleted")
            }
        case .retry, .paused, .stopped:
            self.require(!self.isNoted || self.isNoteUsed, "a note was left of a request that was not sent")
        }
        switch outcome {
        case .failed, .finished, .cancelled: break
        case .retry:
            guard self.budget.failed(retryAfter: nil, jitter: 0) != nil else {
                self.isOver = true
                return
            }
            self.begin(history)
        case .paused, .stopped: self.begin(history)
        }
    }

    var hasFinished: Bool { if case .finished = self.endings.first { true } else { false } }

    private var hasContent: Bool {
        let whole = { (segments: [Segment]) in
            var offset: Int64 = 0
            for segment in segments {
                guard segment.version == self.openVersion, segment.range.lowerBound == offset else { return false }
                offset = segment.range.upperBound
            }
            return offset == self.length
        }
        if let endpoint, whole(endpoint) { return true }
        return self.stored.values.contains { $0.isComplete && whole($0.segments) }
    }

    /// The process dies: the journal is all that is left, and the note that a request must not be repeated.
    private mutating func kill() {
        if let wire = self.wire { self.cut(wire) }
        self.pending = []
        self.waiting = []
        self.question = nil
        if self.isNoted, self.journal == nil {
            self.isOver = true
            return
        }
        if self.plan.isStream {
            self.isOver = true
            return
        }
        self.begin(UploadHistory())
    }

    private mutating func complete(_ operation: Pending, reports: Bool) {
        switch operation {
        case .journalRead:
            let fails = self.chance(5)
            // An unreadable journal is one that a crash tore: what it had is lost.
            if fails { self.journal = nil }
            let record = self.journal
            let error = StorageError(.inputOutput, "bad")
            if reports { self.apply(self.machine.journalRead(fails ? .failure(error) : .success(record))) }
        case .journalWrite(let record, let number):
            let fails = number != nil && self.chance(5)
            if !fails { self.journal = record }
            let error = fails ? StorageError(.noSpace, "full") : nil
            if let number, reports { self.apply(self.machine.journalWritten(number, error: error)) }
        case .journalRemoval: self.journal = nil
        case .note:
            self.isNoted = true
            if reports { self.apply(self.machine.unrepeatableNoted(nil)) }
        case .withdrawal:
            self.isNoted = false
            if reports { self.apply(self.machine.noteWithdrawn()) }
        case .digest:
            let digest = [UInt8](repeating: UInt8(self.openVersion & 0xFF), count: 32)
            if reports { self.apply(self.machine.digestComputed(.success(digest))) }
        }
    }

    // MARK: Requests

    private mutating func sent(_ request: UploadMachine.OutgoingRequest) {
        self.require(self.wire == nil, "two requests at a time")
        self.require(self.slots == [request.flow.url.origin], "a request without its connection")
        let isUnrepeatable = !request.step.isRepeatable && request.method != "GET"
        if isUnrepeatable {
            self.require(!self.mayBeProcessed, "a request was repeated that may have been processed")
            self.require(self.isNoted, "a request that must not be repeated was not noted")
        }
        if case .resource(let url) = request.step.place, let range = request.content {
            let offset = self.reported[url.path]
            self.require(offset == nil || offset == range.lowerBound, "not continued at the server's offset")
        } else if request.method != "OPTIONS", request.method != "HEAD", request.method != "GET" {
            let record = self.plan.hasJournal ? self.journal : self.machine.history.record
            if let record, !record.isVoid, record.files == [self.identity],
                let path = try? HTTPURL(record.resource).path, let stored = self.stored[path], stored.count > 0
            {
                self.require(self.terminated.contains(record.resource), "progress that the server has was given up")
            }
        }
        self.wire = Wire(request: request)
    }

    /// The server gets some of what the kernel has taken, and the connection is gone.
    private mutating func cut(_ wire: Wire) {
        self.wire = nil
        if self.question == wire.request.id { self.question = nil }
        guard wire.isConnected, !wire.hasHead else { return }
        var rest = wire.count == 0 ? 0 : self.random(0...wire.count)
        var arrived: [Segment] = []
        for var segment in wire.taken where rest > 0 {
            let count = min(rest, segment.range.upperBound - segment.range.lowerBound)
            segment.range = segment.range.lowerBound..<segment.range.lowerBound + count
            arrived.append(segment)
            rest -= count
        }
        let isPart = wire.request.content.map { wire.count < self.size($0) } ?? false
        if !wire.request.step.isRepeatable, wire.request.method != "GET", !(self.isInterrupting && isPart) {
            self.mayBeProcessed = true
        }
        self.store(arrived, of: wire)
    }

    /// Adds to the resource that a request is about; returns its path.
    @discardableResult
    private mutating func store(_ segments: [Segment], of wire: Wire) -> String? {
        let path: String
        if case .resource = wire.request.step.place {
            path = wire.request.flow.url.path
            guard let offset = wire.request.content?.lowerBound, self.stored[path]?.count == offset else { return nil }
        } else if let created = wire.created {
            path = created
        } else {
            return nil
        }
        self.stored[path]?.segments += segments
        guard var stored = self.stored[path] else { return nil }
        stored.isComplete = stored.count == self.length
        self.stored[path] = stored
        return path
    }

    private mutating func advance(_ wire: Wire) {
        var wire = wire
        let id = wire.request.id
        guard wire.isConnected else {
            if self.chance(5) { return self.fail(TransportError(.connect, "refused")) }
            wire.isConnected = true
            self.isNoteUsed = true
            self.wire = wire
            return self.machine.connected(id, now: self.now)
        }
        if wire.hasHead { return self.body(wire) }
        if self.chance(4) { return self.fail(TransportError(.reset, "reset")) }
        if self.chance(2), wire.count == 0 {
            // A pooled connection was closed before the server saw the request.
            self.wire = nil
            let error = TransportError(.truncated, "closed", onReusedConnection: true)
            if !wire.request.step.isRepeatable, wire.request.method != "GET" { self.mayBeProcessed = true }
            return self.apply(self.machine.requestFailed(id, error, content: nil))
        }
        let isCreation = wire.request.content != nil && wire.request.step.fields.contains { $0.name.contains("Draft") }
        if self.kind == .draft, isCreation, wire.created == nil, wire.request.step.place == .endpoint,
            wire.request.method != "GET"
        {
            let path = self.create()
            wire.created = path
            self.wire = wire
            if self.chance(40) {
                let fields: HeaderFields = ["Location": path]
                return self.apply(self.machine.interimReceived(104, fields, on: id))
            }
        }
        guard let range = wire.request.content, !range.isEmpty, wire.count < self.size(range), !self.chance(4) else {
            return self.respond(wire)
        }
        self.take(wire, range)
    }

    private func size(_ range: Range<Int64>) -> Int64 {
        self.plan.isStream ? self.length : range.upperBound - range.lowerBound
    }

    private mutating func take(_ wire: Wire, _ range: Range<Int64>) {
        var wire = wire
        let id = wire.request.id
        if self.plan.isStream || self.chance(10) {
            self.machine.contentHeld(true, of: id, now: self.now)
            self.machine.contentHeld(false, of: id, now: self.now)
        }
        // Most changes are seen before the next bytes are sent, not all.
        if case .changed(let failure) = self.content, !self.chance(20) {
            self.cut(wire)
            return self.apply(self.machine.requestFailed(id, TransportError(.content, "failed"), content: failure))
        }
        let left = self.size(range) - wire.count
        let count = self.chance(50) ? self.random(1...left) : left
        let start = range.lowerBound + wire.count
        let version = self.plan.isStream ? self.openVersion : self.fileVersion
        wire.taken.append(Segment(version: version, range: start..<start + count))
        wire.count += count
        self.wire = wire
        self.machine.contentSent(Int(count), of: id, now: self.now)
        if self.plan.isStream, wire.count == self.length { self.machine.contentEnded(at: self.length, of: id) }
    }

    private mutating func fail(_ error: TransportError) {
        guard let wire = self.wire else { return }
        self.cut(wire)
        self.apply(self.machine.requestFailed(wire.request.id, error, content: nil))
    }

    private mutating func body(_ wire: Wire) {
        let id = wire.request.id
        guard self.question != id else { return }
        if self.chance(5) { return self.fail(TransportError(.truncated, "cut")) }
        if self.chance(30) {
            let count = self.chance(20) ? 70_000 : 10
            let handling = [UInt8](repeating: 0, count: count)
                .withUnsafeBytes { self.machine.bodyReceived($0, on: id, now: self.now) }
            if case .perform(let actions) = handling { self.apply(actions) }
            return
        }
        self.wire = nil
        self.apply(self.machine.responseEnded(id))
    }

    // MARK: Server

    private mutating func create() -> String {
        let path = "/r/\(self.nextResource)"
        self.nextResource += 1
        self.stored[path] = Stored()
        return path
    }

    private mutating func respond(_ wire: Wire) {
        var wire = wire
        wire.hasHead = true
        self.wire = wire
        let (status, fields) = self.response(to: wire)
        let framings: [BodyFraming] = [.none, .length(0), .length(100), .chunked, .untilClose, .length(1 << 20)]
        let framing = wire.request.method == "HEAD" ? .none : framings[Int(self.random(0...5))]
        let head = ResponseHead(status: status, fields: fields, framing: framing)
        if !wire.request.step.isRepeatable, wire.request.method != "GET", (200..<400).contains(status), status < 300 {
            self.mayBeProcessed = true
        }
        if case .resource(let url) = wire.request.step.place,
            let offset = fields["Upload-Offset"].flatMap({ Int64($0) })
        {
            self.reported[url.path] = offset
        }
        self.apply(self.machine.headReceived(head, on: wire.request.id, now: self.now, wallNow: 0))
        // The driver closes the connection of an unread response.
        if case .close = self.machine.reading(wire.request.id), self.wire?.request.id == wire.request.id {
            self.require(false, "a response is neither read nor closed")
        }
    }

    private mutating func response(to wire: Wire) -> (Int, HeaderFields) {
        let request = wire.request
        if self.chance(3) { return (401, [:]) }
        if self.chance(4) {
            let host = self.chance(50) ? "http://other" : "http://host"
            return (307, ["Location": "\(host)\(request.flow.url.path)"])
        }
        if self.chance(3) { return (503, [:]) }
        if self.chance(1) { return (500, ["Content-Type": "text/plain"]) }
        if request.expectsContinue, self.chance(20) { return (417, [:]) }
        let isWhole = request.content.map { wire.count == self.size($0) || $0.isEmpty } ?? true
        switch request.step.place {
        case .resource: return self.resourceResponse(wire, isWhole)
        case .endpoint, .collection: break
        }
        switch request.method {
        case "GET": return (200, [:])
        case "OPTIONS":
            if self.kind != .tus { return (self.chance(50) ? 200 : 405, [:]) }
            return (
                204,
                [
                    "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation,checksum",
                    "Tus-Checksum-Algorithm": "sha256",
                ]
            )
        case "HEAD": return self.comparison()
        default: break
        }
        if self.takesNothing { return (413, [:]) }
        if self.kind == .tus, request.step.fields.contains(where: { $0.name == "Tus-Resumable" }) {
            let path = self.create()
            self.stored[path]?.isComplete = self.length == 0
            return (201, ["Location": path])
        }
        if self.isTaken, request.method == "PUT" { return (409, ["Content-Type": "text/plain"]) }
        guard isWhole else { return (400, [:]) }
        if self.chance(5) {
            self.endpoint = wire.taken
            return (303, ["Location": "/result"])
        }
        if let path = wire.created {
            self.store(wire.taken, of: wire)
            if self.stored[path]?.isComplete == true, self.chance(10) {
                // The server kept a part only, and says so.
                self.stored[path] = Stored(segments: [], isComplete: false)
                return self.partial(path, 0)
            }
        } else {
            self.endpoint = wire.taken
        }
        return (201, [:])
    }

    private func partial(_ path: String, _ offset: Int64) -> (Int, HeaderFields) {
        let isIncomplete: (String, String) =
            self.plan.way == .by(.ietf3) ? ("Upload-Incomplete", "?1") : ("Upload-Complete", "?0")
        return (201, HeaderFields([("Location", path), ("Upload-Offset", "\(offset)"), isIncomplete]))
    }

    private mutating func comparison() -> (Int, HeaderFields) {
        guard let endpoint, let first = endpoint.first, endpoint.allSatisfy({ $0.version == first.version }) else {
            return (404, [:])
        }
        let digest = Base64.encode([UInt8](repeating: UInt8(first.version & 0xFF), count: 32))
        let count = endpoint.last?.range.upperBound ?? 0
        return (200, HeaderFields([("Content-Length", "\(count)"), ("Repr-Digest", "sha-256=:\(digest):")]))
    }

    private mutating func resourceResponse(_ wire: Wire, _ isWhole: Bool) -> (Int, HeaderFields) {
        let path = wire.request.flow.url.path
        if let stored = self.stored[path], !stored.isComplete, self.chance(4) {
            // The server deletes an incomplete upload.
            self.stored[path] = nil
            self.reported[path] = nil
            self.mayBeProcessed = false
        }
        guard let stored = self.stored[path] else { return (self.chance(50) ? 410 : 404, [:]) }
        let isTus = self.kind == .tus
        if wire.request.method == "HEAD" {
            var fields = HeaderFields([("Upload-Offset", "\(stored.count)")])
            if isTus { fields.append("Upload-Length", "\(self.length)") }
            if !isTus, self.plan.way == .by(.ietf3) {
                fields.append("Upload-Incomplete", stored.isComplete ? "?0" : "?1")
            } else if !isTus {
                fields.append("Upload-Complete", stored.isComplete ? "?1" : "?0")
            }
            return (isTus ? 200 : 204, fields)
        }
        if self.takesNothing { return (413, [:]) }
        guard isWhole else { return (400, [:]) }
        guard wire.request.content?.lowerBound == stored.count, !self.chance(3) else { return (409, [:]) }
        self.store(wire.taken, of: wire)
        let count = self.stored[path]?.count ?? 0
        return isTus ? (204, HeaderFields([("Upload-Offset", "\(count)")])) : (201, [:])
    }

    // MARK: Steps

    mutating func step() {
        self.steps += 1
        self.now += self.chance(2) ? 100_000_000_000 : 1_000_000
        if self.chance(2) { self.fileVersion += self.plan.isStream ? 0 : 1 }
        if self.chance(1) { return self.kill() }
        if self.chance(1) {
            let reasons: [UploadMachine.Interruption] = [
                .paused, .stopped, .paused, .stoppedAfterRequest, .cancelled(keeping: true),
                .cancelled(keeping: false),
            ]
            self.isInterrupting = true
            self.apply(self.machine.interrupted(by: reasons[Int(self.random(0...5))]))
            self.isInterrupting = false
            return
        }
        if self.chance(5) {
            let content = self.content
            return self.apply(self.machine.ticked(self.now, reports: true, content: content))
        }
        var choices: [Int] = []
        if !self.pending.isEmpty { choices.append(0) }
        if !self.waiting.isEmpty { choices.append(1) }
        if self.question != nil { choices.append(2) }
        if self.wire != nil, self.question == nil { choices.append(3) }
        guard let choice = choices.randomElement(using: &self.generator) else {
            return self.require(false, "nothing is waited for, and the run has not ended: \(self.machine.phase)")
        }
        switch choice {
        case 0: self.complete(self.pending.removeFirst(), reports: true)
        case 1:
            let origin = self.waiting.removeFirst()
            self.slots.append(origin)
            self.apply(self.machine.connectionGranted(origin))
        case 2:
            let id = self.question ?? 0
            self.question = nil
            let decisions: [PolicyDecision] = [.proceed, .repeat, .refuse, .cancel]
            let decision = self.chance(10) ? decisions[Int(self.random(0...3))] : .repeat
            self.apply(self.machine.policyDecided(decision, on: id, now: self.now))
        default: if let wire { self.advance(wire) }
        }
    }
}

extension HTTPURL {
    fileprivate static var none: HTTPURL { preconditionFailure("a URL of this test is wrong") }
}

@Suite("Random uploads")
struct UploadMachineWalkTests {
    @Test(
        "the server has exactly the content, or the upload fails; nothing is sent twice that must not be; no leaks",
        arguments: 0..<40
    )
    func walk(batch: UInt64) {
        var (steps, finished, resumed) = (0, 0, 0)
        for seed in batch * 100..<batch * 100 + 100 {
            var world = UploadWorld(seed: seed)
            while !world.isOver, world.steps < 3000, world.violations.isEmpty {
                // In the end nothing goes wrong any more: the upload must end, too.
                if world.steps == 300 { world.isCalm = true }
                world.step()
            }
            #expect(world.violations == [], "seed \(seed), step \(world.steps), \(world.kind), \(world.plan.way)")
            #expect(
                world.isOver == true || !world.violations.isEmpty,
                "seed \(seed) does not end: \(world.machine.phase)"
            )
            steps += world.steps
            finished += world.hasFinished ? 1 : 0
            resumed += world.runs > 1 ? 1 : 0
        }
        // The walk is long, most uploads are completed in spite of everything, and many take several runs.
        #expect(
            steps > 500 && finished > 20 && resumed > 10,
            "\(steps) steps, \(finished) finished, \(resumed) resumed"
        )
    }
}
