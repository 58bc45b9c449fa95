// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// Drives a machine against a ``WalkServer`` and an array of bytes, in a random but legal order of events.
///
/// Each request has its own queue of events; what a driver does on its pool is one more queue. A machine may be dropped
/// at any time: the next one continues from the bytes and facts of the journal.
final class MachineWalk {
    /// A partial file: its bytes, and what its journal has.
    final class PartialStore {
        var bytes: [UInt8] = []
        var extents: [ByteRange] = []
        var facts: ResourceFacts

        init(_ facts: ResourceFacts) { self.facts = facts }

        func write(_ new: ArraySlice<UInt8>, at offset: Int64) {
            let end = Int(offset) + new.count
            if self.bytes.count < end { self.bytes += [UInt8](repeating: 0, count: end - self.bytes.count) }
            self.bytes.withUnsafeMutableBytes { target in
                new.withUnsafeBytes { source in
                    UnsafeMutableRawBufferPointer(rebasing: target[Int(offset)..<end]).copyMemory(from: source)
                }
            }
            self.add(offset..<Int64(end))
        }

        func add(_ range: ByteRange) {
            if range.isEmpty { return }
            var merged = range
            var others: [ByteRange] = []
            for extent in self.extents {
                if extent.upperBound < merged.lowerBound || extent.lowerBound > merged.upperBound {
                    others.append(extent)
                } else {
                    let (lower, upper) = (extent.lowerBound, extent.upperBound)
                    merged = min(lower, merged.lowerBound)..<max(upper, merged.upperBound)
                }
            }
            self.extents = (others + [merged]).sorted { $0.lowerBound < $1.lowerBound }
        }

        var written: Int64 { self.extents.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }
    }

    final class Exchange {
        let plan: FetchPlan
        var isStarted = false
        var isPaused = false
        var isClosed = false
        var events: [WalkServer.Event] = []
        /// The actions that its event loop has to run.
        var tasks: [() -> Void] = []
        var expected: [UInt8] = []
        var leftover: (version: Int, range: ByteRange)?
        var position: Int64?
        /// Bytes that are being written.
        var pending: (() -> Void)?

        init(_ plan: FetchPlan) { self.plan = plan }
    }

    private enum OpenFile {
        case none
        case small([UInt8])
        case partial(PartialStore, name: String)
    }

    private var random: WalkRandom
    private var server: WalkServer
    private let terms: DownloadTerms
    private let isReliable: Bool
    private let origin: Origin
    private var machine: DownloadMachine
    private var history = DownloadHistory()
    private var now: Int64 = 1_000_000_000
    // The disk.
    private var partials: [String: PartialStore] = [:]
    private var finished: [String: [UInt8]] = [:]
    /// The validators recorded with finished files of ours.
    private var records: [String: RecordedVersion] = [:]
    /// How often each file was written.
    private var writes: [String: Int] = [:]
    /// The files of other programs that appeared after the last survey of their names.
    private var unseen: Set<String> = []
    private var output: [UInt8] = []
    private var file = OpenFile.none
    // The driver.
    private var exchanges: [Exchange] = []
    private var line: [() -> Void] = []
    private var waits: [(Origin, Int)] = []
    private var late: [() -> Void] = []
    private var slots: [Origin: Int] = [:]
    private var number = 0
    private var ending: DownloadEnding?
    private var isClosed = false
    // Counters.
    private(set) var steps = 0
    private(set) var runs = 0
    private(set) var result: String?
    private var failuresWhenCalm = 0
    private var writtenBytes: Int64 = 0
    private var trace: [String] = []
    private let patience: Int
    private let seed: UInt64
    private let traced: Int

    init(seed: UInt64, tracing traced: Int = 40) {
        self.traced = traced
        var random = WalkRandom(seed)
        self.seed = seed
        self.isReliable = random.chance(25)
        self.server = WalkServer(&random, isReliable: self.isReliable)
        let mirrors = !self.isReliable && random.chance(20)
        var terms = DownloadTerms(sources: ["http://a/f"].map(MachineHarness.url))
        if mirrors { terms.sources.append(MachineHarness.url("http://b/f")) }
        terms.minimumSplit = 20_000
        terms.connections = random.chance(30) ? .adaptive(most: 3) : .fixed(Int.random(in: 1...4, using: &random))
        terms.requests.stallTimeout = 5_000_000_000
        terms.requests.hasPolicy = !self.isReliable && random.chance(20)
        terms.destination =
            random.chance(80) ? .file : random.chance(50) ? .stream : .memory(keepsBytes: random.chance(50))
        if !self.isReliable, random.chance(10) {
            let last = self.server.versions.count - 1
            terms.expected = [
                ExpectedDigest(algorithm: .sha256, bytes: WalkServer.digest(last), source: "test")
            ]
        }
        if !self.isReliable, terms.destination == .file, random.chance(20) {
            terms.ifExists = [.auto, .resume, .overwrite, .rename, .update].randomElement(using: &random) ?? .auto
            terms.nameIsExact = terms.ifExists != .rename && random.chance(30)
            let bytes = self.server.versions[0]
            let isWhole = random.chance(50)
            self.finished["f"] = Array(bytes.prefix(isWhole ? bytes.count : bytes.count / 2))
            if isWhole, random.chance(70) { self.records["f"] = self.server.record(of: 0) }
        }
        self.terms = terms
        self.origin = terms.sources[0].origin
        self.patience = Int.random(in: 20...200, using: &random)
        self.random = random
        self.machine = Self.machine(terms, DownloadHistory(), self.origin, self.now)
        self.beginRun()
    }

    private static func machine(
        _ terms: DownloadTerms,
        _ history: DownloadHistory,
        _ origin: Origin,
        _ now: Int64
    ) -> DownloadMachine {
        DownloadMachine(
            terms,
            history: history,
            reserved: FileTarget(directory: "", name: "f"),
            base: "f",
            isNamedByUser: terms.nameIsExact,
            slot: origin,
            now: now
        )
    }

    // MARK: Runs

    private func beginRun() {
        self.runs += 1
        self.number = 0
        self.ending = nil
        self.isClosed = false
        self.slots = [self.origin: 1]
        self.machine = Self.machine(self.terms, self.history, self.origin, self.now)
        self.handle { $0.began(self.now) }
    }

    private func endRun() {
        guard let ending = self.ending else { return }
        self.history = self.machine.history
        self.check(self.slots.values.allSatisfy { $0 == 0 }, "slots remain: \(self.slots)")
        self.trace.append("-- ended \(ending.outcome)")
        switch ending.outcome {
        case .finished(let completion):
            self.checkFinished(completion)
            self.result = "finished"
            return
        case .retry: break
        case .failed(let failure):
            if failure.code == .cannotResume, self.terms.ifExists == .resume {
                // The user's file is not the beginning of the server's.
                self.result = "failed"
                return
            }
            if failure.code == .fileExists {
                // A name that was asked for gets no number.
                self.check(self.terms.nameIsExact || self.terms.ifExists == .update, "\(failure.message)")
                self.check(self.finished["f"] != nil, "fails because of a file that does not exist")
                self.result = "failed"
                return
            }
            if self.server.isCalm { self.failuresWhenCalm += 1 }
            self.check(self.failuresWhenCalm < 5, "fails for ever: \(failure.message)")
            if self.terms.destination != .file {
                self.result = "failed"
                return
            }
            self.history = DownloadHistory()
        case .paused, .stopped: if self.terms.destination == .file, self.random.chance(40) { self.history = .init() }
        case .cancelled(let keeping):
            if self.terms.destination != .file {
                self.result = "cancelled"
                return
            }
            if !keeping { self.checkDiscarded() }
            self.history = DownloadHistory()
        }
        self.beginRun()
    }

    private func checkFinished(_ completion: TransferCompletion) {
        let bytes: [UInt8]? = self.terms.destination == .file ? self.finished[completion.path] : self.output
        guard let bytes else { return self.check(false, "no file \(completion.path)") }
        if self.terms.nameIsExact || self.terms.ifExists == .update {
            self.check(completion.path == "f", "the file got the name \(completion.path)")
        }
        if completion.unchanged, !self.server.repeatsValidators {
            self.check(self.server.version(of: bytes) != nil, "an unchanged file is none of the server's")
        }
        if completion.skipped { return }
        self.check(Int64(bytes.count) == completion.bytes, "the length is \(bytes.count), not \(completion.bytes)")
        let isOverlap = completion.consistency == .overlap
        self.check(isOverlap || self.server.version(of: bytes) != nil, "mixed: \(self.firstMixture(bytes))")
        if self.isReliable {
            let length = Int64(bytes.count)
            self.check(self.writtenBytes <= length + length / 10 + 20_000, "written: \(self.writtenBytes) of \(length)")
        }
    }

    /// The offset at which the file differs from each version.
    private func firstMixture(_ bytes: [UInt8]) -> [Int?] {
        self.server.versions.map { version in zip(bytes, version).enumerated().first { $1.0 != $1.1 }?.offset }
    }

    private func checkDiscarded() {
        guard let target = self.machine.history.target else { return }
        self.check(self.partials[target.name] == nil, "a cancelled transfer left its partial file")
    }

    /// The process ends: what is not in the journal is lost.
    private func kill() {
        self.trace.append("-- killed")
        // In the order of the names: that of a dictionary is another one in each process.
        for (_, partial) in self.partials.sorted(by: { $0.key < $1.key }) where self.random.chance(50) {
            partial.extents = partial.extents.compactMap { extent in
                let lost = Int64.random(in: 0...20_000, using: &self.random)
                let end = max(extent.lowerBound, extent.upperBound - lost)
                self.writtenBytes -= extent.upperBound - end
                return end > extent.lowerBound ? extent.lowerBound..<end : nil
            }
        }
        if case .small(let bytes) = self.file { self.writtenBytes -= Int64(bytes.count) }
        self.file = .none
        self.exchanges = []
        self.line = []
        self.waits = []
        self.late = []
        self.history = DownloadHistory()
        self.beginRun()
    }

    // MARK: Steps

    /// Takes one step; returns whether more follow.
    func step() -> Bool {
        if self.result != nil { return false }
        self.steps += 1
        if self.steps == self.patience {
            self.server.isCalm = true
            if !self.isReliable { self.server.current = self.server.versions.count - 1 }
        }
        if self.steps > self.patience + 6_000 {
            self.check(false, "does not finish")
            return false
        }
        if self.isClosed {
            self.endRun()
            return self.result == nil
        }
        if self.ending == nil, !self.server.isCalm { self.disturb() }
        self.proceed()
        if self.ending == nil { self.checkMachine() }
        // A copy takes its place: it must be complete.
        if self.steps % 8 == 0 { self.machine = DownloadMachine(copying: self.machine) }
        return self.result == nil
    }

    private func disturb() {
        let isFile = self.terms.destination == .file
        switch Int.random(in: 0..<1000, using: &self.random) {
        case 0..<3: self.handle { $0.interrupted(.paused) }
        case 3..<5 where !self.isReliable: self.handle { $0.interrupted(.cancelled(keeping: false)) }
        case 5..<7: self.handle { $0.interrupted(.cancelled(keeping: true)) }
        case 7..<12 where isFile: self.kill()
        case 12..<14 where !self.isReliable: self.handle { $0.failed(TransferFailure(.noSpace, "full")) }
        case 14..<20: self.handle { $0.yieldRequested(self.origin) }
        case 20..<24 where self.isNamed && self.terms.ifExists != .resume: self.otherProgramWrites()
        default: break
        }
    }

    /// Whether the world has a file under the name from the beginning, so that other programs know it.
    private var isNamed: Bool { self.finished["f"] != nil && !self.isReliable }

    private func otherProgramWrites() {
        self.trace.append("\(self.steps) another program writes f")
        self.finished["f"] = [1, 2, 3]
        self.records["f"] = nil
        self.writes["f", default: 0] += 1
        self.unseen.insert("f")
    }

    private func proceed() {
        var choices: [() -> Void] = []
        if !self.line.isEmpty { choices.append { self.line.removeFirst()() } }
        if !self.waits.isEmpty { choices.append { self.takeWaitedSlot() } }
        if !self.late.isEmpty {
            let index = Int.random(in: 0..<self.late.count, using: &self.random)
            choices.append { self.late.remove(at: index)() }
        }
        for exchange in self.exchanges {
            if let pending = exchange.pending {
                choices.append {
                    exchange.pending = nil
                    pending()
                }
            } else if !exchange.tasks.isEmpty {
                choices.append { exchange.tasks.removeFirst()() }
            } else if exchange.isStarted, !exchange.isPaused, !exchange.isClosed, !exchange.events.isEmpty {
                choices.append { self.deliver(exchange) }
            }
        }
        if choices.isEmpty || self.random.chance(6) { choices.append { self.tick() } }
        choices.randomElement(using: &self.random)?()
    }

    private func tick() {
        self.now += Int64.random(in: 50_000_000...400_000_000, using: &self.random)
        self.handle { $0.ticked(self.now, isThrottling: false, wantsProgress: true) }
    }

    private func takeWaitedSlot() {
        let (origin, number) = self.waits.removeFirst()
        self.slots[origin, default: 0] += 1
        self.handle { $0.slotFreed(origin, for: number, self.now) }
    }

    // MARK: Responses

    private func deliver(_ exchange: Exchange) {
        let number = exchange.plan.number
        let event = exchange.events.removeFirst()
        switch event {
        case .head(let head):
            self.handle(on: exchange) {
                $0.connected(number, self.now)
                return $0.headReceived(head, number, self.now, wallNow: 1_800_000_000)
            }
            self.apply(exchange)
        case .body(let version, let range): self.receive(exchange, version, range)
        case .end:
            self.handle(on: exchange) { $0.responseEnded(number, trailers: [:], cleanly: true, self.now) }
        case .fail:
            let failure = TransferFailure(TransportError(.reset, "reset"))
            self.handle(on: exchange) { $0.requestFailed(failure, number, self.now) }
        }
    }

    private func apply(_ exchange: Exchange) {
        if exchange.isClosed { return }
        switch self.machine.reading(exchange.plan.number) {
        case .read: exchange.isPaused = false
        case .pause: exchange.isPaused = true
        case .close: self.close(exchange)
        }
    }

    private func close(_ exchange: Exchange) {
        exchange.isClosed = true
        exchange.events = []
    }

    private func receive(_ exchange: Exchange, _ version: Int, _ range: ByteRange) {
        let number = exchange.plan.number
        let bytes = self.server.versions[version][Int(range.lowerBound)..<Int(range.upperBound)]
        let destination = bytes.withUnsafeBytes { self.machine.bytesReceived($0, number, self.now) }
        switch destination {
        case .nowhere: self.close(exchange)
        case .discarded: break
        case .tooMany:
            self.handle(on: exchange) { $0.drainingEnded(number, self.now) }
            self.close(exchange)
        case .unexpected:
            self.handle(on: exchange) { $0.unexpectedBytes(number, self.now) }
            self.close(exchange)
        case .small:
            if case .small(let held) = self.file { self.file = .small(held + bytes) }
            self.writtenBytes += Int64(bytes.count)
        case .compare(let count, let index, let offset):
            let mine = exchange.expected.dropFirst(index).prefix(count)
            let agree =
                self.terms.destination == .memory(keepsBytes: true)
                ? self.holds(version, offset..<offset + Int64(count))
                : mine.count == count && mine.elementsEqual(bytes.prefix(count))
            self.handle(on: exchange) { $0.compared(count, agree: agree, number, self.now) }
            let rest = range.lowerBound + Int64(count)..<range.upperBound
            switch self.machine.reading(number) {
            case .close: self.close(exchange)
            case .read: if !rest.isEmpty, !exchange.isClosed { self.receive(exchange, version, rest) }
            case .pause:
                exchange.isPaused = true
                exchange.leftover = (version, rest)
            }
        case .partial(let skip, let offset, let count):
            if skip > 0 { self.check(offset == range.lowerBound, "the repetition is at \(range), not at \(offset)") }
            if skip > 0, case .partial(let partial, _) = self.file,
                !partial.bytes[Int(offset)..<Int(offset) + skip].elementsEqual(bytes.prefix(skip))
            {
                return self.handle(on: exchange) { $0.repetitionDiffers(number, self.now) }
            }
            if skip == bytes.count { break }
            guard let position = exchange.position, case .partial(let partial, _) = self.file else {
                self.handle(on: exchange) { $0.unexpectedBytes(number, self.now) }
                return self.close(exchange)
            }
            exchange.position = position + Int64(count)
            let kept = bytes.dropFirst(skip).prefix(count)
            exchange.pending = {
                partial.write(kept, at: position)
                self.trace.append("\(self.steps) wrote \(position)+\(count) of version \(version) for \(number)")
                self.writtenBytes += Int64(count)
                self.handle(on: exchange) { $0.wrote(count, of: bytes.count - skip, number, self.now) }
                if self.random.chance(3), !exchange.isClosed { self.hold(exchange) }
            }
        case .stream(let skip, let offset, let count):
            self.receiveStream(exchange, version, range, skip: skip, offset: offset, count: count)
        }
    }

    private func receiveStream(
        _ exchange: Exchange,
        _ version: Int,
        _ range: ByteRange,
        skip: Int,
        offset: Int64,
        count: Int
    ) {
        let number = exchange.plan.number
        let arrived = Int(range.upperBound - range.lowerBound) - skip
        let start = range.lowerBound + Int64(skip)
        if skip > 0 { self.check(offset == range.lowerBound, "the repetition is at \(range), not at \(offset)") }
        if skip > 0, self.terms.destination == .memory(keepsBytes: true),
            !self.holds(version, range.lowerBound..<start)
        {
            return self.handle(on: exchange) { $0.failed(TransferFailure(.cannotResume, "the file changed")) }
        }
        if arrived == 0 { return }
        if count == 0, skip > 0 { return self.receive(exchange, version, start..<range.upperBound) }
        let kept = self.server.versions[version][Int(start)..<Int(start) + count]
        self.machine.paused(number)
        exchange.isPaused = true
        self.line.append {
            self.output += kept
            self.handle { $0.wrote(count, of: arrived, number, self.now) }
            exchange.tasks.append { self.resume(exchange) }
        }
    }

    /// Whether the output has these bytes of a version.
    private func holds(_ version: Int, _ range: ByteRange) -> Bool {
        let range = Int(range.lowerBound)..<Int(range.upperBound)
        return range.upperBound <= self.output.count
            && self.output[range].elementsEqual(self.server.versions[version][range])
    }

    /// Pauses reading for a rate limit.
    private func hold(_ exchange: Exchange) {
        self.machine.paused(exchange.plan.number)
        exchange.isPaused = true
        self.late.append { exchange.tasks.append { self.resume(exchange) } }
    }

    private func resume(_ exchange: Exchange) {
        if self.machine.resumed(exchange.plan.number, self.now) { self.apply(exchange) }
    }

    // MARK: Actions

    private func handle(on exchange: Exchange? = nil, _ event: (inout DownloadMachine) -> [DownloadAction]) {
        self.perform(event(&self.machine), exchange)
    }

    private func perform(_ actions: [DownloadAction], _ exchange: Exchange?) {
        for action in actions { self.perform(action, exchange) }
    }

    /// Runs work on a request's event loop: at once if the caller is on it.
    private func onLoop(_ number: Int, _ current: Exchange?, _ work: @escaping (Exchange) -> Void) {
        guard let exchange = self.exchanges.first(where: { $0.plan.number == number }) else { return }
        if exchange === current { return work(exchange) }
        exchange.tasks.append { work(exchange) }
    }

    private func perform(_ action: DownloadAction, _ current: Exchange?) {
        self.trace.append("\(self.steps) \(Self.short(action))")
        if self.ending != nil {
            switch action {
            case .release, .slotsReleased: break
            default: self.check(false, "after the end: \(action)")
            }
        }
        switch action {
        case .send(let plan): self.send(plan)
        case .close(let number):
            guard let index = self.exchanges.firstIndex(where: { $0.plan.number == number }) else { break }
            let exchange = self.exchanges[index]
            if exchange === current {
                self.exchanges.remove(at: index)
                self.close(exchange)
            } else {
                // Its event loop may deliver more before it closes it.
                exchange.tasks.append {
                    self.close(exchange)
                    self.exchanges.removeAll { $0 === exchange }
                }
            }
        case .resume(let number): self.onLoop(number, current) { self.apply($0) }
        case .endPause(let number): self.onLoop(number, current) { self.resume($0) }
        case .deferred(let number, let step):
            self.onLoop(number, current) { exchange in
                self.handle(on: exchange) { $0.deferredStep(step, number, self.now) }
                self.apply(exchange)
            }
        case .ask(_, let number):
            let decision: PolicyDecision = !self.server.isCalm && self.random.chance(5) ? .cancel : .proceed
            if self.random.chance(50) {
                self.handle(on: current) { $0.policyDecided(decision, number, self.now) }
            } else {
                self.late.append {
                    self.onLoop(number, nil) { exchange in
                        self.handle(on: exchange) { $0.policyDecided(decision, number, self.now) }
                    }
                }
            }
        case .refreshLink: self.check(false, "no refresher")
        case .release(let origin):
            self.slots[origin, default: 0] -= 1
            self.check(self.slots[origin, default: 0] >= 0, "a slot was released twice")
        case .refused, .slotsReleased, .publishTarget, .started, .respond, .progress, .note, .warn: break
        case .waitForSlot(let origin, let number): self.waits.append((origin, number))
        case .openConnections(let lane, let avoided):
            while let origin = self.machine.nextConnection(avoiding: avoided) {
                if self.random.chance(10) { break }
                self.slots[origin, default: 0] += 1
                self.perform(self.machine.slotAcquired(origin, lane: lane, avoiding: avoided, self.now), current)
            }
        case .survey(let target): self.survey(target)
        case .reserveName(_, let base): self.reserve(base)
        case .reserveNextName(_, let base):
            self.number += 1
            self.reserve("\(base)-\(self.number)")
        case .compareDigests(let target, let expected):
            self.line.append {
                let version = self.finished[target.name].flatMap { self.server.version(of: $0) }
                let agree = expected.allSatisfy { $0.bytes == WalkServer.digest(version) }
                self.handle { $0.digestsCompared(agree: agree, self.now) }
            }
        case .openPartial(let target, _): self.line.append { self.openPartial(target) }
        case .createSmall: if self.machine.wantsFile { self.createSmall() }
        case .createPartial(let plan): self.createPartial(plan)
        case .copyExisting(let target, _, let facts): self.line.append { self.copyExisting(target, facts) }
        case .beginExtent(let number, let offset):
            self.onLoop(number, current) { if !$0.isClosed { $0.position = offset } }
        case .recordFacts:
            if case .partial(let partial, _) = self.file, let facts = self.machine.facts { partial.facts = facts }
        case .recordDifference(let facts):
            if case .partial(let partial, _) = self.file { partial.facts = self.machine.facts ?? facts }
        case .discardPartial(let target): self.discardPartial(target)
        case .deliverLeftover(let number): self.onLoop(number, current) { self.deliverLeftover($0) }
        case .checkpoint: self.line.append {}
        case .keepPartial: self.file = .none
        case .expectStreamTail(let number, let count):
            let tail = Array(self.output.suffix(Int(count)))
            self.onLoop(number, current) { $0.expected = tail }
        case .beginStreamDigests, .beginPartDigests: break
        case .finishPartDigests(let number):
            self.onLoop(number, current) { exchange in
                self.handle(on: exchange) { $0.partDigested([:], count: -1, number, self.now) }
            }
        case .finishStreamDigests:
            let digest = WalkServer.digest(self.server.version(of: self.output))
            self.handle(on: current) { $0.streamDigested([.sha256: digest], self.now) }
        case .commitSmall(let target, let options):
            guard case .small(let bytes) = self.file else { break }
            self.commit(bytes, target, options)
        case .commitPartial(let target, let length, let options):
            self.line.append {
                guard self.machine.isCommitting, case .partial(let partial, let name) = self.file else { return }
                self.check(partial.written >= length, "commits \(length) with \(partial.extents)")
                if self.commit(Array(partial.bytes.prefix(Int(length))), target, options) {
                    self.partials[name] = nil
                }
            }
        case .end(let ending): self.end(ending)
        }
    }

    private func send(_ plan: FetchPlan) {
        self.checkRange(plan)
        let exchange = Exchange(plan)
        self.exchanges.append(exchange)
        let file = self.file
        let start = {
            guard self.machine.contains(plan.number), !exchange.isClosed else { return }
            exchange.isStarted = true
            exchange.events = self.server.respond(to: plan, &self.random)
            self.machine.connected(plan.number, self.now)
        }
        if self.terms.destination != .file {
            if let overlap = plan.overlap {
                exchange.expected = self.output.suffix(Int(overlap.upperBound - overlap.lowerBound))
            }
            return exchange.tasks.append(start)
        }
        if plan.overlap == nil, !plan.waitsForClosing { return exchange.tasks.append(start) }
        self.line.append {
            if let overlap = plan.overlap {
                let range = Int(overlap.lowerBound)..<Int(overlap.upperBound)
                switch file {
                case .partial(let partial, _): exchange.expected = Array(partial.bytes[range])
                case .none, .small: exchange.expected = Array((self.finished[self.machine.target.name] ?? [])[range])
                }
            }
            exchange.tasks.append(start)
        }
    }

    // MARK: Files

    private func survey(_ target: FileTarget) {
        let existing = self.existing(target.name)
        self.unseen.remove(target.name)
        let partial = self.partials[target.name].map { PartialState.ours($0.facts, written: $0.written) }
        self.handle { $0.surveyed(FileSurvey(existing: existing, partial: partial ?? .none), self.now) }
    }

    private func existing(_ name: String) -> ExistingFile? {
        self.finished[name]
            .map { bytes in
                let writes = self.writes[name, default: 0]
                var file = FileIdentity(size: Int64(bytes.count), modified: 0, changed: nil, device: 0, inode: 0)
                file.changed = Int64(writes)
                return ExistingFile(
                    isRegular: true,
                    size: Int64(bytes.count),
                    modified: 1_700_000_000 + Int64(writes),
                    recorded: self.records[name],
                    file: file
                )
            }
    }

    private func reserve(_ name: String) {
        self.handle { $0.nameReserved(FileTarget(directory: "", name: name)) }
    }

    private func openPartial(_ target: FileTarget) {
        if self.machine.isEnded { return }
        guard let partial = self.partials[target.name] else {
            let error = StorageError(.cannotOpen, "not there")
            return self.handle { $0.openingFailed(error, isStillOurs: false) }
        }
        self.file = .partial(partial, name: target.name)
        self.handle { $0.partialOpened(partial.facts, extents: partial.extents, self.now) }
    }

    private func createSmall() {
        self.file = .small([])
        self.handle { $0.smallCreated(self.now) }
    }

    private func createPartial(_ plan: PartialPlan) {
        let current = self.file
        self.file = .none
        self.line.append {
            if case .partial(_, let name) = current {
                if case .discard = plan.current { self.partials[name] = nil }
            }
            guard self.machine.wantsFile else { return }
            if let old = self.partials[plan.target.name], plan.target.name.hasSuffix(ReservedName.newer) == false {
                self.check(old.written == 0, "held bytes are overwritten")
            }
            let partial = PartialStore(plan.facts.value)
            self.partials[plan.target.name] = partial
            self.file = .partial(partial, name: plan.target.name)
            self.handle { $0.partialCreated(self.now) }
        }
    }

    private func copyExisting(_ target: FileTarget, _ facts: ResourceFacts) {
        guard self.machine.wantsCopy, let bytes = self.finished[target.name] else { return }
        let partial = PartialStore(facts)
        partial.write(bytes[...], at: 0)
        self.partials[target.name] = partial
        self.file = .partial(partial, name: target.name)
        self.handle { $0.existingCopied(facts, self.now) }
    }

    private func deliverLeftover(_ exchange: Exchange) {
        guard let leftover = exchange.leftover, self.machine.resumed(exchange.plan.number, self.now) else { return }
        exchange.leftover = nil
        if leftover.range.isEmpty { return self.apply(exchange) }
        self.receive(exchange, leftover.version, leftover.range)
        self.apply(exchange)
    }

    private func discardPartial(_ target: FileTarget) {
        let isAllowed = target.name.hasSuffix(ReservedName.newer) || self.machine.isEnded
        self.check(isAllowed || self.partials[target.name] == nil, "\(target.name) is discarded")
        self.partials[target.name] = nil
    }

    @discardableResult
    private func commit(_ bytes: [UInt8], _ target: FileTarget, _ options: CommitOptions) -> Bool {
        let version = self.server.version(of: bytes)
        if !self.server.isCalm, self.random.chance(3) {
            self.handle { $0.commitFailed(StorageError(.noSpace, "full")) }
            return false
        }
        if options.expected.contains(where: { $0.bytes != WalkServer.digest(version) }) {
            // A bad file is set aside, or deleted, by the commit.
            if case .partial(_, let name) = self.file { self.partials[name] = nil }
            self.file = .none
            self.handle { $0.commitFailed(StorageError(.digestMismatch, "wrong")) }
            return false
        }
        if self.finished[target.name] != nil, !options.overwrite {
            self.handle { $0.commitFailed(StorageError(.exists, "exists")) }
            return false
        }
        if let replaceable = options.replaces, let file = self.existing(target.name)?.file,
            !file.matches(replaceable)
        {
            self.handle { $0.commitFailed(StorageError(.exists, "changed")) }
            return false
        }
        let isWanted = self.terms.ifExists == .overwrite || !self.unseen.contains(target.name)
        self.check(isWanted, "\(target.name) of another program is replaced, which appeared meanwhile")
        self.finished[target.name] = bytes
        self.records[target.name] = options.recorded
        self.writes[target.name, default: 0] += 1
        self.file = .none
        self.handle { $0.committed(digest: nil, self.now) }
        return true
    }

    // MARK: Ending

    private func end(_ ending: DownloadEnding) {
        self.check(self.ending == nil, "ended twice")
        self.ending = ending
        for exchange in self.exchanges where exchange.pending == nil { self.close(exchange) }
        let isOver = { self.exchanges.allSatisfy { $0.pending == nil } }
        self.late.append { self.closeFile(ending, isOver) }
    }

    private func closeFile(_ ending: DownloadEnding, _ isOver: @escaping () -> Bool) {
        // Bytes that are being written, operations of the file, and slots that are waited for come first.
        guard isOver(), self.line.isEmpty, self.waits.isEmpty, self.late.isEmpty else {
            return self.late.append { self.closeFile(ending, isOver) }
        }
        self.exchanges = []
        switch (ending.file, self.file) {
        case (.discardEarlier(let target), _): self.partials[target.name] = nil
        case (.keepSmall(let target, let facts, let received), .small(let bytes)):
            let partial = PartialStore(facts)
            partial.write(bytes.prefix(Int(received)), at: 0)
            self.partials[target.name] = partial
        case (.keep, .partial): self.settle(ending)
        case (.discard, .partial(_, let name)), (.setAside, .partial(_, let name)):
            self.partials[name] = nil
            self.settle(ending)
        case (.discard, .small(let bytes)): self.writtenBytes -= Int64(bytes.count)
        default: break
        }
        self.file = .none
        self.isClosed = true
    }

    private func settle(_ ending: DownloadEnding) {
        guard let older = ending.older else { return }
        let isCancelled = if case .cancelled(keeping: false) = ending.outcome { true } else { false }
        if isCancelled || ending.newerIsLonger { self.partials[older.target.name] = nil }
        let newer = self.partials.removeValue(forKey: older.newer.name)
        if !isCancelled, ending.newerIsLonger { self.partials[older.target.name] = newer }
    }

    // MARK: Invariants

    private func check(_ isTrue: Bool, _ message: @autoclosure () -> String) {
        if isTrue { return }
        if self.result == nil {
            Issue.record("seed \(self.seed): \(message())\n\(self.trace.suffix(self.traced).joined(separator: "\n"))")
        }
        self.result = "broken"
    }

    private func checkRange(_ plan: FetchPlan) {
        guard let range = plan.range.flatMap(WalkServer.range), case .fetching(let fetching) = self.machine.phase,
            let piece = fetching.planner.piece(of: plan.number)
        else { return }
        let overlap = plan.overlap.map { $0.upperBound - $0.lowerBound } ?? 0
        self.check(range.lowerBound + overlap == piece.start, "requests \(range) for \(piece)")
        self.check(piece.end <= fetching.planner.length ?? Int64.max, "a piece outside of the file")
        self.check(range.upperBound == Int64.max || range.upperBound == piece.end, "requests \(range) for \(piece)")
    }

    private func checkMachine() {
        var held: [Origin: Int] = [:]
        for request in self.machine.requests where request.holdsSlot { held[request.origin, default: 0] += 1 }
        if let slot = self.machine.heldSlot { held[slot, default: 0] += 1 }
        // What `bytesReceived` has decided is returned by the next event.
        if self.machine.actions.isEmpty {
            self.check(held == self.slots.filter { $0.value != 0 }, "\(self.slots) for \(held)")
        }
        guard case .fetching(let fetching) = self.machine.phase else { return }
        var position: Int64 = 0
        for piece in fetching.planner.pieces.sorted(by: { $0.start < $1.start }) {
            self.check(position <= piece.start, "pieces overlap")
            self.check(
                piece.start <= piece.written && piece.written <= piece.reserved && piece.reserved <= piece.end,
                "\(piece)"
            )
            self.checkHeld(position..<piece.start, fetching)
            self.checkHeld(piece.start..<piece.written, fetching)
            position = piece.end
        }
        if let length = fetching.planner.length, position < length { self.checkHeld(position..<length, fetching) }
        if fetching.isStream {
            self.check(Int64(self.output.count) == self.machine.history.stream.count, "stream position")
        }
    }

    private func checkHeld(_ range: ByteRange, _ fetching: Fetching) {
        guard !range.isEmpty, fetching.isPartial, case .partial(let partial, _) = self.file else { return }
        let isWritten = partial.extents.contains {
            $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
        }
        self.check(isWritten, "\(range) is not written, only \(partial.extents)")
    }

    private static func short(_ action: DownloadAction) -> String {
        if case .send(let plan) = action {
            return "send \(plan.number) \(plan.method) \(plan.flow.url) \(plan.range ?? "-") if \(plan.ifRange ?? "-") "
                + "overlap \(plan.overlap.map { "\($0)" } ?? "-")"
        }
        return String("\(action)".prefix(160))
    }
}
