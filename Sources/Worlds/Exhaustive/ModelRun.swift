// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One run of the real ``DownloadMachine`` over a model of files, with its requests.
///
/// Everything that a driver does on other threads is done at once, in the order in which a driver would begin it: what
/// their order changes is the matter of the random worlds. The clock stands still.
final class ModelRun {
    enum OpenFile: Hashable {
        case none
        case small(ModelPartial)
        case partial(String)
    }

    let scale: ModelScale
    var machine: DownloadMachine
    var disk: ModelDisk
    var file = OpenFile.none
    var exchanges: [ModelExchange] = []
    var slots = 1
    var ending: DownloadEnding?
    /// Whether a digest has shown that held bytes are wrong.
    var sawWrongDigest = false
    /// The file that got its name.
    var finished: ModelPartial?
    /// Bytes received by this run.
    var received: Int64 { self.machine.received }

    // MARK: What a step did

    /// The broken promises.
    var broken: [String] = []
    /// The files that a kill after each effect leaves.
    var crashes: [ModelDisk] = []
    private var line: [() -> Void] = []
    private var isHandling = false
    private var actionsLeft = 0

    static let now: Int64 = 10_000_000_000
    static let wallNow: Int64 = 1_795_000_000
    static let name = "f"

    init(_ scale: ModelScale, _ disk: ModelDisk, _ history: DownloadHistory = DownloadHistory()) {
        self.scale = scale
        self.disk = disk
        var terms = DownloadTerms(sources: [Self.url])
        terms.connections = .fixed(scale.connections)
        terms.minimumSplit = scale.unit
        self.machine = DownloadMachine(
            terms,
            history: history,
            reserved: FileTarget(directory: "", name: Self.name),
            base: Self.name,
            isNamedByUser: false,
            slot: Self.url.origin,
            now: Self.now
        )
        self.handle { $0.began(Self.now) }
    }

    private init(copying other: ModelRun) {
        self.scale = other.scale
        self.machine = DownloadMachine(copying: other.machine)
        self.disk = other.disk
        self.file = other.file
        self.exchanges = other.exchanges
        self.slots = other.slots
        self.ending = other.ending
        self.sawWrongDigest = other.sawWrongDigest
    }

    /// A run in the same state, which continues independently.
    func copy() -> ModelRun { ModelRun(copying: self) }

    static let url: HTTPURL = {
        guard let url = try? HTTPURL("http://a/f") else { preconditionFailure("not a URL") }
        return url
    }()

    /// Feeds everything that decides what follows into a hasher.
    func combine(into hasher: inout Hasher) {
        self.machine.combine(into: &hasher)
        hasher.combine(self.disk)
        hasher.combine(self.file)
        hasher.combine(self.slots)
        hasher.combine(self.sawWrongDigest)
        for exchange in self.exchanges { exchange.combine(into: &hasher) }
    }

    /// The files, their facts and the requests, for the story of a finding.
    var state: String {
        let files = self.disk.partials.sorted { $0.key < $1.key }
            .map { name, partial in
                let facts = partial.facts
                let length = facts.length.map(String.init) ?? "?"
                return "\(name) has \(Self.text(partial)) of \(length) bytes, tag \(facts.entityTag ?? "-")"
            }
        let requests = self.exchanges.map { "request \($0.number) for \($0.plan.range ?? "the whole")" }
        return (files + requests).joined(separator: ", ")
    }

    // MARK: Promises

    func check(_ isKept: Bool, _ promise: @autoclosure () -> String) {
        if !isKept { self.broken.append(promise()) }
    }

    /// Something happened that a kill does not take back.
    func effect() { self.crashes.append(self.disk) }

    // MARK: Events

    /// Passes an event to the machine and performs its actions, and all that follows from them.
    func handle(_ event: (inout DownloadMachine) -> [DownloadAction]) {
        let isOutermost = !self.isHandling
        if isOutermost {
            self.isHandling = true
            self.actionsLeft = 2_000
        }
        self.perform(event(&self.machine))
        guard isOutermost else { return }
        while !self.line.isEmpty, self.actionsLeft > 0 { self.line.removeFirst()() }
        self.isHandling = false
        self.check(self.actionsLeft > 0, "actions follow one another without end")
        self.line = []
        if self.ending == nil {
            self.check(!self.exchanges.isEmpty, "the run waits for nothing")
        } else {
            self.check(self.slots == 0, "\(self.slots) connections are not returned")
        }
    }

    func perform(_ actions: [DownloadAction]) {
        for action in actions {
            self.actionsLeft -= 1
            guard self.actionsLeft > 0 else { return }
            self.perform(action)
        }
    }

    func afterwards(_ work: @escaping () -> Void) { self.line.append(work) }

    func index(of number: Int) -> Int? { self.exchanges.firstIndex { $0.number == number } }

    // MARK: Responses

    /// Whether a request waits for a response, or more of its response can arrive.
    var choices: Int { self.exchanges.count }

    /// Answers a request; what arrives does so in steps if there are other requests.
    func answer(_ number: Int, with letter: ModelLetter) {
        guard let index = self.index(of: number) else { return }
        guard let (head, response) = letter.respond(to: self.exchanges[index], self.scale) else {
            if case .lost(let code) = letter.answer { self.lose(number, code) }
            return
        }
        if head.status == 416, case .partial(let name) = self.file {
            let end = self.disk.partials[name]?.extents.last?.upperBound
            self.disk.partials[name]?.reportedEnd = end
        }
        var taken = response
        taken.hasWholeOverlap = self.isWhole(overlapOf: self.exchanges[index].plan)
        self.exchanges[index].response = taken
        self.handle {
            $0.connected(number, Self.now)
            return $0.headReceived(head, number, Self.now, wallNow: Self.wallNow)
        }
        if self.exchanges.count == 1 { self.proceed(number) }
    }

    /// Delivers the next step of a response: half of its body, or the rest and its end.
    ///
    /// All of it if there is no other request.
    func proceed(_ number: Int) {
        while let index = self.index(of: number), var response = self.exchanges[index].response {
            if response.next < response.stop {
                let limit = response.next < response.pause ? response.pause : response.stop
                while let index = self.index(of: number), let now = self.exchanges[index].response, now.next < limit {
                    let before = now.next
                    switch self.machine.reading(number) {
                    case .close: return self.exchanges.removeAll { $0.number == number }
                    case .pause: return self.check(false, "reading is paused for nothing")
                    case .read: self.deliver(number, min(limit, now.next - now.next % self.chunk + self.chunk))
                    }
                    if let index = self.index(of: number), self.exchanges[index].response?.next == before { return }
                }
                guard let index = self.index(of: number), let after = self.exchanges[index].response else { return }
                response = after
                if response.next < response.stop, self.exchanges.count > 1 { return }
                continue
            }
            if case .close = self.machine.reading(number) { return self.exchanges.removeAll { $0.number == number } }
            self.exchanges[index].response = nil
            switch response.end {
            case .complete(let cleanly):
                self.handle { $0.responseEnded(number, trailers: [:], cleanly: cleanly, Self.now) }
            case .lost(let code): self.lose(number, code)
            }
            self.exchanges.removeAll { $0.number == number }
            return
        }
    }

    /// Chunks end at multiples of a unit.
    private var chunk: Int64 { self.scale.unit }

    private func lose(_ number: Int, _ code: TransportError.Code) {
        let failure = TransferFailure(TransportError(code, "lost"))
        self.handle { $0.requestFailed(failure, number, Self.now) }
        self.exchanges.removeAll { $0.number == number }
    }

    private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

    /// Delivers the bytes of a response up to an offset of its version.
    private func deliver(_ number: Int, _ end: Int64) {
        guard let index = self.index(of: number), let response = self.exchanges[index].response else { return }
        let count = Int(end - response.next)
        let destination = Self.zeros.withUnsafeBytes {
            self.machine.bytesReceived($0.part(0..<count), number, Self.now)
        }
        self.exchanges[index].response?.next = end
        switch destination {
        case .nowhere: self.exchanges.removeAll { $0.number == number }
        case .discarded: break
        case .tooMany: self.handle { $0.drainingEnded(number, Self.now) }
        case .unexpected: self.handle { $0.unexpectedBytes(number, Self.now) }
        case .small: self.append(response, count)
        case .stream: self.check(false, "a file's bytes go to a stream")
        case .compare(let compared, let place, _): self.compare(index, response, compared, place)
        case .partial(let skip, let offset, let taken):
            self.write(index, response, skip: skip, at: offset, taken: taken, of: count)
        }
    }

    private func append(_ response: ModelExchange.Response, _ count: Int) {
        guard case .small(var small) = self.file else { return self.check(false, "no small file is open") }
        let position = small.bytes
        small.write(self.range(response, position..<position + Int64(count), from: response.next))
        self.file = .small(small)
    }

    private func range(_ response: ModelExchange.Response, _ range: ByteRange, from next: Int64) -> ModelRange {
        let letter = response.letter
        return ModelRange(
            lower: range.lowerBound,
            upper: range.upperBound,
            version: letter.version,
            shift: range.lowerBound - next,
            validators: letter.validators,
            isCompressed: letter.isCompressed,
            total: response.total
        )
    }

    /// Compares bytes with the held ones; less than an overlap may agree by chance, so it always does.
    private func compare(_ index: Int, _ response: ModelExchange.Response, _ count: Int, _ place: Int) {
        let exchange = self.exchanges[index]
        let number = exchange.number
        guard let overlap = exchange.plan.overlap, case .partial(let name) = self.file,
            let partial = self.disk.partials[name]
        else { return self.check(false, "there is nothing to compare with") }
        let offset = overlap.lowerBound + Int64(place)
        let range = offset..<offset + Int64(count)
        let isSame = partial.holds(
            response.letter.version,
            isCompressed: response.letter.isCompressed,
            range,
            shift: offset - response.next
        )
        let agree = isSame || !response.hasWholeOverlap
        if !agree { self.disk.partials[name]?.isKnownToDiffer = true }
        self.exchanges[index].response?.digestCount += Int64(count)
        self.handle { $0.compared(count, agree: agree, number, Self.now) }
        // The bytes after the overlap are delivered again.
        if let index = self.index(of: number) { self.exchanges[index].response?.next = response.next + Int64(count) }
    }

    /// Whether an overlap has 64 KiB, or all that is held before its end.
    private func isWhole(overlapOf plan: FetchPlan) -> Bool {
        guard let overlap = plan.overlap, case .partial(let name) = self.file else { return true }
        let extents = self.disk.partials[name]?.extents ?? []
        let run = extents.first { $0.contains(overlap.upperBound - 1) }.map { overlap.upperBound - $0.lowerBound } ?? 0
        return overlap.upperBound - overlap.lowerBound >= min(64 << 10, run)
    }

    private func write(
        _ index: Int,
        _ response: ModelExchange.Response,
        skip: Int,
        at offset: Int64,
        taken: Int,
        of count: Int
    ) {
        let number = self.exchanges[index].number
        guard case .partial(let name) = self.file, let partial = self.disk.partials[name] else {
            return self.check(false, "no partial file is open")
        }
        let letter = response.letter
        if skip > 0,
            !partial.holds(
                letter.version,
                isCompressed: letter.isCompressed,
                offset..<offset + Int64(skip),
                shift: offset - response.next
            )
        {
            self.disk.partials[name]?.isKnownToDiffer = true
            return self.handle { $0.repetitionDiffers(number, Self.now) }
        }
        if skip == count { return }
        guard let position = self.exchanges[index].position else {
            return self.handle { $0.unexpectedBytes(number, Self.now) }
        }
        let range = position..<position + Int64(taken)
        self.check(!partial.isKnownToDiffer || taken == 0, "bytes known to differ are continued")
        // A whole response of the same version is written from the first gap on.
        let isWhole = response.begin == 0
        self.check(isWhole || !partial.touches(range), "\(range) is written again, over \(Self.text(partial))")
        self.disk.partials[name]?.write(self.range(response, range, from: response.next + Int64(skip)))
        self.exchanges[index].position = range.upperBound
        self.exchanges[index].response?.digestCount += Int64(taken)
        self.effect()
        self.handle { $0.wrote(taken, of: count - skip, number, Self.now) }
    }
}
