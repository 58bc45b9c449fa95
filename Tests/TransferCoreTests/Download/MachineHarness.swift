// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// Feeds events to a machine, performs what needs no I/O, and renders its actions as short words.
///
/// Counts slots and ends: no action may follow the end, and every slot is returned.
final class MachineHarness {
    static let modified = "Tue, 01 Jul 2025 10:00:00 GMT"
    static let newer = "Wed, 02 Jul 2025 10:00:00 GMT"
    static let date = "Sat, 21 Nov 2026 12:00:00 GMT"
    static let second: Int64 = 1_000_000_000
    /// A length that needs a partial file.
    static let length: Int64 = 1_000_000
    private static let zeros = [UInt8](repeating: 0, count: 2 << 20)

    var machine: DownloadMachine
    var now: Int64 = 10 * second
    /// The maximum number of slots for further connections to be acquired.
    var slotLimit = 1
    private(set) var slots: [Origin: Int] = [:]
    /// How often returned slots were granted.
    private(set) var grants = 0
    private(set) var plans: [Int: FetchPlan] = [:]
    private(set) var notes: [String] = []
    private(set) var ending: DownloadEnding?
    private(set) var commit: CommitOptions?
    private(set) var created: PartialPlan?
    private(set) var facts: ResourceFacts?
    private(set) var leftover: [Int: Int] = [:]
    private var words: [String] = []
    private var bodiless: Set<Int> = []

    init(
        _ sources: [String] = ["http://a/f"],
        history: DownloadHistory = DownloadHistory(),
        isNamed: Bool = false,
        _ configure: (inout DownloadTerms) -> Void = { _ in }
    ) {
        var terms = DownloadTerms(sources: sources.map(Self.url))
        terms.connections = .fixed(1)
        terms.minimumSplit = 1000
        configure(&terms)
        let slot = terms.sources[0].origin
        self.slots[slot] = 1
        self.machine = DownloadMachine(
            terms,
            history: history,
            reserved: FileTarget(directory: "", name: "f"),
            base: "f",
            isNamedByUser: isNamed,
            slot: slot,
            now: self.now
        )
    }

    static func url(_ text: String) -> HTTPURL {
        guard let url = try? HTTPURL(text) else { preconditionFailure("not a URL: \(text)") }
        return url
    }

    static func digest(_ value: UInt8) -> ExpectedDigest {
        ExpectedDigest(algorithm: .sha256, bytes: [UInt8](repeating: value, count: 32), source: "test")
    }

    /// A value of `Repr-Digest` or `Content-Digest`.
    static func digestField(_ value: UInt8) -> String {
        "sha-256=:\(Base64.encode([UInt8](repeating: value, count: 32))):"
    }

    static func facts(
        _ tag: String? = "\"x\"",
        length: Int64? = MachineHarness.length,
        modified: String? = nil,
        url: String = "http://a/f"
    ) -> ResourceFacts {
        ResourceFacts(
            url: url,
            length: length,
            entityTag: tag,
            lastModified: modified,
            date: Self.date,
            received: 1_790_000_000
        )
    }

    // MARK: Events

    /// Feeds one event.
    @discardableResult
    func feed(_ event: (inout DownloadMachine) -> [DownloadAction]) -> String {
        self.words = []
        self.perform(event(&self.machine))
        return self.rendered()
    }

    private func rendered() -> String {
        if self.ending != nil {
            #expect(self.slots.values.allSatisfy { $0 == 0 }, "slots remain: \(self.slots)")
        } else {
            var held: [Origin: Int] = [:]
            for request in self.machine.requests where request.holdsSlot { held[request.origin, default: 0] += 1 }
            if let slot = self.machine.heldSlot { held[slot, default: 0] += 1 }
            #expect(held == self.slots.filter { $0.value != 0 })
        }
        return self.words.joined(separator: ", ")
    }

    @discardableResult
    func begin() -> String {
        let now = self.now
        return self.feed { $0.began(now) }
    }

    @discardableResult
    func survey(_ existing: ExistingFile?, _ partial: PartialState = .none) -> String {
        let now = self.now
        return self.feed { $0.surveyed(FileSurvey(existing: existing, partial: partial), now) }
    }

    /// Begins, and finds no file.
    @discardableResult
    func start() -> String {
        self.begin()
        return self.survey(nil)
    }

    /// Begins with a partial file.
    @discardableResult
    func resume(_ facts: ResourceFacts, _ extents: [ByteRange]) -> String {
        self.begin()
        self.survey(nil, .ours(facts, written: extents.reduce(0) { $0 + $1.upperBound - $1.lowerBound }))
        let now = self.now
        return self.feed { $0.partialOpened(facts, extents: extents, now) }
    }

    @discardableResult
    func head(
        _ number: Int,
        _ status: Int,
        _ fields: HeaderFields = [:],
        framing: BodyFraming? = nil
    ) -> String {
        let length = fields["Content-Length"].flatMap { Int64($0) }
        let head = ResponseHead(
            status: status,
            fields: fields,
            framing: framing ?? length.map { .length($0) } ?? .chunked
        )
        let now = self.now
        if head.framing == .none { self.bodiless.insert(number) }
        self.words = []
        self.machine.connected(number, now)
        self.perform(self.machine.headReceived(head, number, now, wallNow: 1_800_000_000))
        self.endBodiless(number)
        return self.rendered()
    }

    /// A response without a body ends as soon as it is read.
    private func endBodiless(_ number: Int) {
        guard self.bodiless.contains(number), case .read = self.machine.reading(number) else { return }
        self.bodiless.remove(number)
        self.perform(self.machine.responseEnded(number, trailers: [:], cleanly: true, self.now))
    }

    /// A 200 with the whole representation.
    @discardableResult
    func whole(
        _ number: Int,
        _ length: Int64? = MachineHarness.length,
        tag: String? = "\"x\"",
        modified: String? = nil,
        with more: [(String, String)] = []
    ) -> String {
        var fields: HeaderFields = ["Accept-Ranges": "bytes", "Date": Self.date]
        if let length { fields.append("Content-Length", "\(length)") }
        if let tag { fields.append("ETag", tag) }
        if let modified { fields.append("Last-Modified", modified) }
        for (name, value) in more { fields.append(name, value) }
        return self.head(number, 200, fields)
    }

    /// A 206.
    @discardableResult
    func part(
        _ number: Int,
        _ range: ByteRange,
        of total: Int64? = MachineHarness.length,
        tag: String? = "\"x\"",
        modified: String? = nil,
        with more: [(String, String)] = []
    ) -> String {
        var fields: HeaderFields = [
            "Date": Self.date,
            "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map(String.init) ?? "*")",
            "Content-Length": "\(range.upperBound - range.lowerBound)",
        ]
        if let tag { fields.append("ETag", tag) }
        if let modified { fields.append("Last-Modified", modified) }
        for (name, value) in more { fields.append(name, value) }
        return self.head(number, 206, fields)
    }

    /// Delivers bytes as a driver does.
    @discardableResult
    func body(_ number: Int, _ count: Int, agree: Bool = true) -> String {
        self.words = []
        self.deliver(number, count, agree)
        return self.rendered()
    }

    private func deliver(_ number: Int, _ count: Int, _ agree: Bool) {
        let now = self.now
        let destination = Self.zeros.withUnsafeBytes {
            self.machine.bytesReceived(UnsafeRawBufferPointer(rebasing: $0[..<count]), number, now)
        }
        switch destination {
        case .nowhere: self.words.append("nowhere")
        case .discarded: self.words.append("discarded")
        case .tooMany:
            self.words.append("tooMany")
            self.perform(self.machine.drainingEnded(number, now))
        case .unexpected:
            self.words.append("unexpected")
            self.perform(self.machine.unexpectedBytes(number, now))
        case .small: self.words.append("small \(count)")
        case .partial(let skip, let offset, let taken):
            if skip > 0 { self.words.append("skip \(skip)@\(offset)") }
            if skip > 0, !agree { return self.perform(self.machine.repetitionDiffers(number, now)) }
            if skip == count { return }
            self.words.append("write \(taken)")
            self.perform(self.machine.wrote(taken, of: count - skip, number, now))
        case .stream(let skip, let offset, let taken):
            if skip > 0 { self.words.append("skip \(skip)@\(offset)") }
            if skip == count { return }
            if taken == 0, skip > 0 { return self.deliver(number, count - skip, agree) }
            self.words.append("write \(taken)")
            self.perform(self.machine.wrote(taken, of: count - skip, number, now))
        case .compare(let compared, _, let offset):
            self.words.append("compare \(compared)@\(offset)")
            self.perform(self.machine.compared(compared, agree: agree, number, now))
            switch self.machine.reading(number) {
            case .close: break
            case .read: if count > compared { self.deliver(number, count - compared, agree) }
            case .pause: self.leftover[number] = count - compared
            }
        }
    }

    @discardableResult
    func done(_ number: Int, trailers: HeaderFields = [:], cleanly: Bool = true) -> String {
        let now = self.now
        return self.feed { $0.responseEnded(number, trailers: trailers, cleanly: cleanly, now) }
    }

    @discardableResult
    func lost(_ number: Int, _ code: TransportError.Code = .reset) -> String {
        let now = self.now
        return self.feed { $0.requestFailed(TransferFailure(TransportError(code, "lost")), number, now) }
    }

    @discardableResult
    func decide(_ number: Int, _ decision: PolicyDecision) -> String {
        self.words = []
        self.perform(self.machine.policyDecided(decision, number, self.now))
        self.endBodiless(number)
        return self.rendered()
    }

    @discardableResult
    func partialCreated() -> String {
        let now = self.now
        let words = self.feed { $0.partialCreated(now) }
        // The driver ends the pause.
        if let plan = self.created { _ = self.machine.resumed(plan.request, now) }
        return words
    }

    @discardableResult
    func smallCreated() -> String {
        let now = self.now
        return self.feed { $0.smallCreated(now) }
    }

    @discardableResult
    func reserved(_ name: String) -> String {
        self.feed { $0.nameReserved(FileTarget(directory: "", name: name)) }
    }

    @discardableResult
    func committed() -> String {
        let now = self.now
        return self.feed { $0.committed(digest: nil, now) }
    }

    @discardableResult
    func commitFailed(_ code: StorageError.Code) -> String {
        self.feed { $0.commitFailed(StorageError(code, "no")) }
    }

    @discardableResult
    func tick(after seconds: Double = 0.2, progress: Bool = false, floor: SpeedFloor? = nil) -> String {
        self.now += Int64(seconds * 1e9)
        let now = self.now
        return self.feed { $0.ticked(now, isThrottling: false, floor: floor, wantsProgress: progress) }
    }

    @discardableResult
    func step(_ step: DeferredStep, _ number: Int) -> String {
        let now = self.now
        return self.feed { $0.deferredStep(step, number, now) }
    }

    @discardableResult
    func slotFreed(_ host: String, _ number: Int) -> String {
        let origin = Self.url("http://\(host)/").origin
        self.slots[origin, default: 0] += 1
        let now = self.now
        return self.feed { $0.slotFreed(origin, for: number, now) }
    }

    // MARK: Actions

    private func perform(_ actions: [DownloadAction]) {
        for action in actions {
            #expect(self.ending == nil || Self.mayFollowTheEnd(action), "after the end: \(action)")
            self.count(action)
            if let word = Self.word(action) { self.words.append(word) }
            if case .recordFacts = action {
                self.facts = self.machine.facts
                self.words.append("facts \(self.machine.facts?.consistency?.rawValue ?? "-")")
            }
            if case .recordDifference(let facts) = action { self.facts = self.machine.facts ?? facts }
            if case .openConnections(let lane, let avoided) = action { self.openConnections(lane, avoided) }
        }
    }

    /// A slot that was waited for arrives later than the end, and is returned.
    private static func mayFollowTheEnd(_ action: DownloadAction) -> Bool {
        switch action {
        case .release, .slotsReleased: true
        default: false
        }
    }

    private func count(_ action: DownloadAction) {
        switch action {
        case .release(let origin):
            self.slots[origin, default: 0] -= 1
            #expect(self.slots[origin, default: 0] >= 0)
        case .slotsReleased: self.grants += 1
        case .send(let plan): self.plans[plan.number] = plan
        case .note(let text): self.notes.append(text)
        case .commitSmall(_, let options): self.commit = options
        case .commitPartial(_, _, let options): self.commit = options
        case .createPartial(let plan): self.created = plan
        case .end(let ending):
            #expect(self.ending == nil, "ended twice")
            self.ending = ending
        default: break
        }
    }

    private func openConnections(_ lane: Int, _ avoided: Int?) {
        let now = self.now
        while let origin = self.machine.nextConnection(avoiding: avoided) {
            guard self.slots.values.reduce(0, +) < self.slotLimit else { return self.words.append("denied") }
            self.slots[origin, default: 0] += 1
            self.perform(self.machine.slotAcquired(origin, lane: lane, avoiding: avoided, now))
        }
    }

    // MARK: Words

    private static func word(_ action: DownloadAction) -> String? {
        switch action {
        case .send(let plan): self.word(plan)
        case .close(let number): "close \(number)"
        case .resume(let number): "resume \(number)"
        case .endPause(let number): "endPause \(number)"
        case .deferred(let number, let step): "defer \(number) \(self.word(step))"
        case .ask(let question, let number): "ask \(number) \(self.word(question))"
        case .refreshLink(_, let status, let number): "refresh \(number) \(status)"
        case .release(let origin): "release \(origin.host)"
        case .refused(let origin): "refused \(origin.host)"
        case .waitForSlot(let origin, let number): "wait \(origin.host) \(number)"
        case .survey(let target): "survey \(target.path)"
        case .reserveName(_, let base): "reserve \(base)"
        case .reserveNextName(_, let base): "next \(base)"
        case .compareDigests(let target, _): "digests \(target.path)"
        case .openPartial(let target, let claiming): "\(claiming ? "claim" : "open") \(target.path)"
        case .createSmall(let target, _): "small \(target.path)"
        case .createPartial(let plan):
            switch plan.current {
            case .none: "partial \(plan.target.path)"
            case .keep: "partial \(plan.target.path) keeping"
            case .discard: "partial \(plan.target.path) discarding"
            }
        case .copyExisting(let target, _, _): "copy \(target.path)"
        case .beginExtent(let number, let offset): "extent \(number)@\(offset)"
        case .discardPartial(let target): "discard \(target.path)"
        case .deliverLeftover(let number): "leftover \(number)"
        case .checkpoint: "checkpoint"
        case .keepPartial: "keep"
        case .recordDifference: "difference"
        case .expectStreamTail(let number, let count): "tail \(number) \(count)"
        case .beginStreamDigests: "streamDigests"
        case .beginPartDigests(let number, _): "partDigests \(number)"
        case .finishPartDigests(let number): "finishPart \(number)"
        case .finishStreamDigests: "finishStream"
        case .commitSmall(let target, let options): "commitSmall \(target.path)\(options.overwrite ? " over" : "")"
        case .commitPartial(let target, let length, let options):
            "commit \(target.path) \(length)\(options.overwrite ? " over" : "")"
        case .end(let ending): "end " + self.word(ending)
        case .progress(let progress): "progress \(progress.bytes)"
        case .publishTarget, .openConnections, .slotsReleased, .started, .respond, .note, .warn, .recordFacts: nil
        }
    }

    private static func word(_ plan: FetchPlan) -> String {
        var word = "\(plan.number):\(plan.method) \(plan.flow.url.description.dropFirst(7))"
        if let range = plan.range { word += " \(range.dropFirst(6))" }
        if let validator = plan.ifRange { word += " if \(validator.filter { $0 != "\"" })" }
        if let overlap = plan.overlap { word += " overlap \(overlap.upperBound - overlap.lowerBound)" }
        if plan.isConditional { word += " conditional" }
        for (name, value) in plan.condition { word += " \(name): \(value)" }
        if plan.flow.isRewritten { word += " rewritten" }
        if plan.flow.refusals > 0 { word += " refusals \(plan.flow.refusals)" }
        return word
    }

    private static func word(_ step: DeferredStep) -> String {
        switch step {
        case .timeOut(let failure): "timeOut \(failure.code.rawValue)"
        case .takeOver: "takeOver"
        case .giveUp: "giveUp"
        case .yield: "yield"
        }
    }

    private static func word(_ question: PolicyQuestion) -> String {
        switch question {
        case .response(_, let length): "response \(length.map(String.init) ?? "?")"
        case .redirect(_, let next, let method): "redirect \(method) \(next.host)"
        case .challenge: "challenge"
        }
    }

    private static func word(_ ending: DownloadEnding) -> String {
        let outcome =
            switch ending.outcome {
            case .finished(let completion):
                "finished"
                    + (completion.notModified
                        ? " notModified" : completion.unchanged ? " unchanged" : completion.skipped ? " skipped" : "")
                    + (completion.consistency.map { " \($0.rawValue)" } ?? "")
                    + (completion.verifiedLength ? "" : " unverified")
            case .failed(let failure): "failed \(failure.code.rawValue)"
            case .retry(let failure): "retry \(failure.code.rawValue)"
            case .paused: "paused"
            case .stopped: "stopped"
            case .cancelled(let keeping): keeping ? "cancelled keeping" : "cancelled"
            }
        let file =
            switch ending.file {
            case .none: ""
            case .discardEarlier: "; discardEarlier"
            case .keep: "; keep"
            case .discard: "; discard"
            case .setAside: "; setAside"
            case .keepSmall(_, _, let received): "; keepSmall \(received)"
            }
        return outcome + file + (ending.older == nil ? "" : ending.newerIsLonger ? "; newer" : "; older")
    }
}
