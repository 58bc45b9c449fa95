internal import Synchronization
internal import TransferCore

/// Assigns pieces and sources to connections.
extension DownloadRun {
    /// Picks the usable source with the fewest attempts.
    ///
    /// A mirror not shown to have the same version is picked only if all other sources are excluded.
    func pickSource(_ state: inout State, avoiding avoided: Int? = nil) -> Int {
        let (bad, fallback) = self.transfer.memory.withLock { ($0.badSources, $0.fallbackSources) }
        var good = self.request.sources.indices.filter { !bad.contains($0) }
        let proven = good.filter { !fallback.contains($0) }
        if !proven.isEmpty { good = proven }
        if good.count > 1, let avoided { good.removeAll { $0 == avoided } }
        return good.min { left, right in
            self.load(state, left) < self.load(state, right)
        } ?? 0
    }

    private func load(_ state: State, _ source: Int) -> Int {
        state.attempts.count { $0.source == source }
    }

    /// The URL to request from a source: the target of an earlier redirect of this run, a fresh link, or its own URL.
    func url(of source: Int, _ state: State) -> (url: HTTPURL, isPinned: Bool) {
        if let pinned = state.pinned[source] { return (pinned, true) }
        let fresh = self.transfer.memory.withLock { $0.freshLinks[source] }
        return (fresh ?? self.request.sources[source], false)
    }

    func assignPiece(_ state: inout State, _ attempt: Attempt) {
        guard let piece = state.planner?.assign(to: attempt.number, minimumSplit: self.options.minimumSplit) else {
            return
        }
        let refusesRanges = self.transfer.memory.withLock { $0.rangesRefused || $0.takesSingleResponse }
        let isWhole = piece.start == 0 && piece.end == (state.planner?.length ?? Int64.max)
        if !self.transfer.asksForWhole || refusesRanges || state.requestsWhole
            || (isWhole && state.facts?.length == nil)
        {
            attempt.range = nil
            return
        }
        attempt.isEndProbe = state.probesEnd
        attempt.overlap = state.probesEnd ? 0 : self.overlap(state, attempt.source, before: piece.start)
        attempt.range = piece.start - attempt.overlap..<piece.end
    }

    /// The number of held bytes to request again, so that the response can be compared with them.
    private func overlap(_ state: State, _ source: Int, before start: Int64) -> Int64 {
        guard let run = state.planner?.run(before: start), run > 0 else { return 0 }
        let longest = min(run, VersionJudge.overlap)
        guard let facts = state.facts else { return min(run, Self.existingOverlap) }
        // Without a known length the range might begin at the end of the file, which the server would reject (416).
        let shortest: Int64 = state.planner?.length == nil ? 1 : 0
        let (wantsOverlap, isProven) = self.transfer.memory.withLock {
            ($0.wantsOverlap, $0.provenSources.contains(source))
        }
        if state.attempts.contains(where: \.isTaken) { return shortest }
        if wantsOverlap { return longest }
        if !self.request.expected.isEmpty || !state.serverDigests.isEmpty { return shortest }
        if self.isOtherResource(state, source), !isProven { return longest }
        return Validators(facts).isStrong ? shortest : longest
    }

    /// Reads the held bytes of an attempt's overlap, then sends its request.
    func launch(_ attempt: Attempt) {
        let overlap: ByteRange? = self.state.withLock { state in
            guard attempt.overlap > 0, let start = attempt.range?.lowerBound else { return nil }
            return start..<start + attempt.overlap
        }
        guard let overlap else { return self.send(attempt) }
        let (file, target) = self.state.withLock { ($0.file, $0.target) }
        switch file {
        case .none, .small: self.send(attempt)
        case .stream:
            self.state.withLock { _ in
                let tail = self.transfer.memory.withLock { $0.stream.tail.bytes }
                attempt.expected = Array(tail.suffix(Int(attempt.overlap)))
            }
            self.send(attempt)
        case .partial, .existing:
            self.line.run {
                do throws(StorageError) {
                    let bytes: [UInt8] =
                        if case .partial(let partial) = file { try partial.read(overlap) } else {
                            try self.engine.store.readExisting(target, overlap)
                        }
                    self.state.withLock { _ in attempt.expected = bytes }
                    self.send(attempt)
                } catch {
                    self.end(.failed(Self.failure(error)), except: nil)
                }
            }
        }
    }

    private func send(_ attempt: Attempt) {
        self.engine.transport.execute(onLane: attempt.lane) {
            let request: ExchangeRequest? = self.state.withLock { state in
                guard !attempt.isOver, state.phase != .ending else { return nil }
                attempt.quantum = self.engine.readQuantum(for: self.transfer, attempts: state.attempts.count)
                return self.request(for: attempt, state)
            }
            guard let request else { return }
            let exchange = self.engine.transport.start(request, onLane: attempt.lane, receiver: attempt)
            let isOver = self.state.withLock { _ in
                attempt.exchange = exchange
                return attempt.isOver
            }
            if isOver { exchange.cancel() }
        }
    }

    private func request(for attempt: Attempt, _ state: State) -> ExchangeRequest {
        let source = self.request.sources[attempt.source]
        let isOwnOrigin = attempt.origin == self.transfer.origin
        var fields = HTTPFields()
        fields.reserve(bytes: 256, lines: 10)
        for (name, value) in self.options.fields + self.request.fields
        where (isOwnOrigin || Self.travels(name)) && !(attempt.isRewritten && Self.describesContent(name)) {
            fields.append(name, value)
        }
        if let policy = self.policy {
            for (name, value) in policy.fields(for: self.requestFacts(attempt)) where !fields.contains(name) {
                fields.append(name, value)
            }
        }
        // A policy responds to the server's challenge instead, perhaps by a digest that does not show the password.
        if self.policy == nil, let user = source.user, attempt.origin == source.origin,
            !fields.contains("Authorization")
        {
            fields.append("Authorization", "Basic " + Base64.encode("\(user):\(source.password ?? "")".utf8))
        }
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        // If the caller requests an encoding, the body is stored encoded.
        if !fields.contains("Accept-Encoding") { fields.append("Accept-Encoding", "identity") }
        var range = attempt.range
        if range == nil, attempt.isFetch, self.transfer.asksForWhole,
            self.transfer.memory.withLock({ $0.sendsRangesOnly && !$0.rangesRefused })
        {
            range = 0..<Int64.max
            attempt.range = range
        }
        if let range {
            let isTail = range.upperBound == Int64.max || range.upperBound == state.planner?.length
            fields.append("Range", isTail ? RangeField.bytes(from: range.lowerBound) : RangeField.bytes(range))
            if let validator = self.validator(state, attempt) {
                fields.append("If-Range", validator)
                attempt.sentIfRange = true
            }
        } else {
            fields.append("Want-Repr-Digest", "sha-256=10, sha-512=5")
            if attempt.isFetch, !self.request.conditions.isEmpty {
                for (name, value) in self.request.conditions { fields.append(name, value) }
                attempt.isConditional = true
            }
        }
        return ExchangeRequest(
            method: self.method(of: attempt),
            url: attempt.url,
            fields: fields,
            body: attempt.isRewritten ? nil : self.request.body,
            connectTimeout: self.options.connectTimeout.inNanoseconds,
            readQuantum: attempt.quantum
        )
    }

    /// Whether a field describes the content, and so is dropped when a redirect drops the content.
    private static func describesContent(_ name: String) -> Bool { name.lowercased().hasPrefix("content-") }

    func method(of attempt: Attempt) -> String {
        if case .examine(byGET: false) = attempt.purpose { return "HEAD" }
        let method = self.request.method
        return attempt.isRewritten ? (method == "HEAD" ? method : "GET") : method
    }

    /// Whether a field may be sent to another origin: it describes the client, not the user.
    static func travels(_ name: String) -> Bool {
        switch name.lowercased() {
        case "user-agent", "accept", "accept-language": true
        default: false
        }
    }

    /// The strong validator for `If-Range`; a validator of another resource does not apply.
    private func validator(_ state: State, _ attempt: Attempt) -> String? {
        guard let facts = state.facts, !self.transfer.memory.withLock({ $0.omitsIfRange }),
            !self.isOtherResource(state, attempt.source)
        else { return nil }
        return Validators(facts).ifRange
    }

    // MARK: More connections

    /// Opens connections while more are wanted and allowed and a piece can be assigned.
    func fill(preferring lane: Int) {
        while true {
            let attempt: Attempt? = self.state.withLock { state in
                guard state.phase == .active, let planner = state.planner, !planner.isComplete else { return nil }
                guard !state.awaitsFirst, state.attempts.count < self.wantedConnections(state) else { return nil }
                self.reclaimPieces(&state)
                guard state.planner?.canAssign(minimumSplit: self.options.minimumSplit) ?? false else { return nil }
                let source = self.pickSource(&state)
                // A mirror not shown to have the same version cannot be used in parallel with other sources.
                let isFallback = self.transfer.memory.withLock { $0.fallbackSources.contains(source) }
                if isFallback, !state.attempts.isEmpty { return nil }
                return self.makeFetch(&state, source: source, preferring: lane)
            }
            guard let attempt else { return }
            self.launch(attempt)
        }
    }

    /// Makes a fetch attempt; a further one only if its host has a free connection.
    func makeFetch(_ state: inout State, source: Int, preferring lane: Int) -> Attempt? {
        let (url, isPinned) = self.url(of: source, state)
        if state.attempts.isEmpty {
            self.engine.takeConnection(url.origin, for: self.transfer.id)
        } else if !self.engine.acquireConnection(url.origin, for: self.transfer.id) {
            return nil
        }
        let next = state.attempts.isEmpty ? lane : (lane + state.attempts.count) % self.engine.transport.laneCount
        let attempt = self.makeAttempt(
            &state,
            source: source,
            url: url,
            purpose: .fetch,
            slot: url.origin,
            hops: 0,
            lane: next
        )
        attempt.isAdditional = state.hasTaken
        attempt.isPinned = isPinned
        self.assignPiece(&state, attempt)
        return attempt
    }

    /// Whether an attempt uses a mirror and another source can replace it.
    func canDoWithout(_ attempt: Attempt) -> Bool {
        let isMirror = self.state.withLock { state in
            state.facts.map { $0.url != self.request.sources[attempt.source].withoutUserInfo } ?? false
        }
        guard isMirror, self.request.sources.count > 1 else { return false }
        let bad = self.transfer.memory.withLock { $0.badSources.union([attempt.source]).count }
        return bad < self.request.sources.count
    }

    func wantedConnections(_ state: State) -> Int {
        guard state.serverDoesRanges, state.planner?.length != nil, case .partial = state.file,
            let facts = state.facts,
            VersionJudge.allowsParallelRanges(
                facts,
                VersionJudge.Context(isDigestKnown: !self.request.expected.isEmpty || !state.serverDigests.isEmpty)
            ), !self.transfer.memory.withLock({ $0.rangesRefused || $0.takesSingleResponse })
        else { return 1 }
        if let fixed = state.fixedConnections { return fixed }
        let unusable = self.transfer.memory.withLock { $0.badSources.union($0.fallbackSources).count }
        return max(state.advisor.wanted, min(self.request.sources.count - unusable, 4))
    }
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to the range of `Int64`.
    var inNanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? Int64.max / 2 : product &+ attoseconds / 1_000_000_000
    }
}
