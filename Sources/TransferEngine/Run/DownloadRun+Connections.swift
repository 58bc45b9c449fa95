internal import Synchronization
internal import TransferCore

/// Which connections fetch what.
extension DownloadRun {
    /// The source with the fewest attempts among those that are not bad.
    func pickSource(_ state: inout State) -> Int {
        let bad = self.transfer.memory.withLock { $0.badSources }
        let good = self.request.sources.indices.filter { !bad.contains($0) }
        return good.min { left, right in
            self.load(state, left) < self.load(state, right)
        } ?? 0
    }

    private func load(_ state: State, _ source: Int) -> Int {
        state.attempts.count { $0.source == source }
    }

    func assignPiece(_ state: inout State, _ attempt: Attempt) {
        guard let piece = state.planner?.assign(to: attempt.number, minimumSplit: self.options.minimumSplit) else {
            return
        }
        let isWhole = piece.start == 0 && piece.end == (state.planner?.length ?? Int64.max)
        attempt.range = isWhole && state.facts?.length == nil ? nil : piece.start..<piece.end
        if !self.transfer.asksForWhole { attempt.range = nil }
        if isWhole, state.planner?.completed == 0, self.transfer.memory.withLock({ $0.rangesRefused }) {
            attempt.range = nil
        }
    }

    /// Sends an attempt's request.
    func launch(_ attempt: Attempt) {
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
        // A policy answers the server's challenge instead, perhaps by a digest that does not show the password.
        if self.policy == nil, let user = source.user, attempt.origin == source.origin,
            !fields.contains("Authorization")
        {
            fields.append("Authorization", "Basic " + Base64.encode("\(user):\(source.password ?? "")".utf8))
        }
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        // Who asks for an encoding gets it as it is, and can undo it.
        if !fields.contains("Accept-Encoding") { fields.append("Accept-Encoding", "identity") }
        var range = attempt.range
        if case .probe(let probe) = attempt.purpose { range = probe.range }
        attempt.range = range
        if let range {
            let isTail = range.upperBound == Int64.max || range.upperBound == state.planner?.length
            if case .fetch = attempt.purpose, isTail {
                fields.append("Range", RangeField.bytes(from: range.lowerBound))
            } else {
                fields.append("Range", RangeField.bytes(range))
            }
            if case .fetch = attempt.purpose, let validator = self.validator(state, attempt) {
                fields.append("If-Range", validator)
            }
        } else {
            fields.append("Want-Repr-Digest", "sha-256=10, sha-512=5")
            if case .fetch = attempt.purpose, !self.request.conditions.isEmpty {
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

    /// Fields that go with the content, and so are dropped where a redirect dropped that.
    private static func describesContent(_ name: String) -> Bool { name.lowercased().hasPrefix("content-") }

    func method(of attempt: Attempt) -> String {
        if case .examine = attempt.purpose { return "HEAD" }
        let method = self.request.method
        return attempt.isRewritten ? (method == "HEAD" ? method : "GET") : method
    }

    /// Fields that may go to another origin: they name the client, not the user.
    static func travels(_ name: String) -> Bool {
        switch name.lowercased() {
        case "user-agent", "accept", "accept-language": true
        default: false
        }
    }

    /// The strong validator for `If-Range`; another mirror's validators say nothing of this one's.
    private func validator(_ state: State, _ attempt: Attempt) -> String? {
        guard let facts = state.facts, !self.transfer.memory.withLock({ $0.tagsUnreliable }),
            facts.url == self.request.sources[attempt.source].withoutUserInfo
        else { return nil }
        return Validators(entityTag: facts.entityTag, lastModified: facts.lastModified, date: facts.date).strong
    }

    // MARK: More connections

    /// Opens connections as far as they are wanted, allowed, and have something to fetch.
    func fill(preferring lane: Int) {
        while true {
            var isAnew = false
            let attempt: Attempt? = self.state.withLock { state in
                guard state.phase == .active, let planner = state.planner, !planner.isComplete else { return nil }
                guard !state.awaitsFirst, state.attempts.count < self.wantedConnections(state) else { return nil }
                guard planner.canAssign(minimumSplit: self.options.minimumSplit) else { return nil }
                let source = self.pickSource(&state)
                let url = self.request.sources[source]
                let probe = self.proof(of: source, state)
                if case .wait = probe { return nil }
                if case .anew = probe {
                    state.phase = .opening
                    isAnew = true
                    return nil
                }
                if state.attempts.isEmpty {
                    self.engine.takeConnection(url.origin)
                } else if !self.engine.acquireConnection(url.origin) {
                    return nil
                }
                let next =
                    state.attempts.isEmpty ? lane : (lane + state.attempts.count) % self.engine.transport.laneCount
                let attempt = self.makeAttempt(
                    &state,
                    source: source,
                    url: url,
                    purpose: .fetch,
                    slot: url.origin,
                    hops: 0,
                    lane: next
                )
                if case .probe(let range) = probe {
                    attempt.purpose = .probe(Attempt.Probe(range: range, expected: [], then: .goOn))
                } else {
                    self.assignPiece(&state, attempt)
                }
                return attempt
            }
            if isAnew { return self.beginAnew(closing: []) }
            guard let attempt else { return }
            if case .probe(let probe) = attempt.purpose {
                self.prove(attempt, probe.range)
            } else {
                self.launch(attempt)
            }
        }
    }

    private enum Proof {
        case unnecessary
        case probe(ByteRange)
        case wait
        case anew
    }

    /// A mirror must first show bytes that agree with those of the source the file began with.
    private func proof(of source: Int, _ state: State) -> Proof {
        guard let facts = state.facts, self.isUnprovenMirror(source, of: facts) else { return .unnecessary }
        let prefix = state.planner?.prefix ?? 0
        guard prefix >= Self.mirrorOverlap else {
            // Waiting is for others to bring more; where nobody is left, little is lost.
            guard state.attempts.isEmpty else { return .wait }
            return prefix > 0 ? .probe(0..<prefix) : .anew
        }
        return .probe(prefix - Self.mirrorOverlap..<prefix)
    }

    /// Whether a source is another than the file began with, and has not shown yet that its bytes are the same.
    func isUnprovenMirror(_ source: Int, of facts: ResourceFacts) -> Bool {
        facts.url != self.request.sources[source].withoutUserInfo
            && !self.transfer.memory.withLock { $0.provenSources.contains(source) }
    }

    /// What an answer on this attempt is to agree with: a mirror's validators are its own, only the length is common.
    func known(_ state: State, to attempt: Attempt) -> ResourceFacts? {
        guard let facts = state.facts, facts.url != self.request.sources[attempt.source].withoutUserInfo else {
            return state.facts
        }
        return ResourceFacts(url: facts.url, length: facts.length)
    }

    /// Whether an attempt is at a mirror and another source can fetch in its stead.
    func canDoWithout(_ attempt: Attempt) -> Bool {
        let isMirror = self.state.withLock { state in
            state.facts.map { $0.url != self.request.sources[attempt.source].withoutUserInfo } ?? false
        }
        guard isMirror else { return false }
        let bad = self.transfer.memory.withLock { $0.badSources.union([attempt.source]).count }
        return bad < self.request.sources.count
    }

    private func prove(_ attempt: Attempt, _ range: ByteRange) {
        self.line.run {
            guard case .partial(let file) = self.state.withLock({ $0.file }) else { return }
            do throws(StorageError) {
                let bytes = try file.read(range)
                self.state.withLock { _ in
                    attempt.purpose = .probe(Attempt.Probe(range: range, expected: bytes, then: .goOn))
                }
                self.launch(attempt)
            } catch {
                self.end(.failed(Self.failure(error)), except: nil)
            }
        }
    }

    static let mirrorOverlap: Int64 = 4096

    func wantedConnections(_ state: State) -> Int {
        guard state.serverDoesRanges, state.planner?.length != nil, case .partial = state.file else { return 1 }
        guard let facts = state.facts, facts.contentEncoding == nil,
            facts.entityTag != nil || facts.lastModified != nil
        else { return 1 }
        if let fixed = state.fixedConnections { return fixed }
        let bad = self.transfer.memory.withLock { $0.badSources.count }
        return max(state.advisor.wanted, min(self.request.sources.count - bad, 4))
    }

    // MARK: Failures

    func exchangeFailed(_ attempt: Attempt, _ error: TransportError) {
        // What is to be done was clear already; only the rest of a body that nobody wants is missing.
        if let next = self.state.withLock({ _ in attempt.isOver ? nil : attempt.afterDrain }) {
            return self.afterDrain(attempt, next)
        }
        self.attemptFailed(attempt, Self.failure(error))
    }

    func attemptFailed(_ attempt: Attempt, _ failure: TransferFailure) {
        enum Next {
            case nothing
            case fill
            case commit
            case end(Outcome)
        }
        var failure = failure
        // What may have been carried out must not be asked for twice (RFC 9110 §9.2.2).
        if attempt.isConnected, !Transfer.isIdempotent(self.method(of: attempt)) { failure.isRetryable = false }
        let next: Next = self.state.withLock { [failure] state in
            guard !attempt.isOver, state.phase != .ending else { return .nothing }
            let gotNothing = attempt.bytes == 0
            self.retire(&state, attempt)
            // Another connection brought the last byte, and the commit is under way.
            if state.phase == .committing { return .nothing }
            if state.phase == .active, state.planner?.isComplete ?? false { return .commit }
            if let completed = state.planner?.completed {
                self.transfer.memory.withLock { if $0.rangesProven { $0.budget.kept(completed) } }
            }
            let others = state.attempts.count
            if self.request.sources.count > 1 {
                let remaining = self.transfer.memory.withLock { memory in
                    memory.badSources.insert(attempt.source)
                    return self.request.sources.count - memory.badSources.count
                }
                if remaining > 0 {
                    // A stream's bytes may still be on their way to the sink: only the next run knows where it stands.
                    if case .stream = state.file { return .end(.retry(Self.again(failure))) }
                    guard state.planner != nil, !state.awaitsFirst else { return .end(.retry(Self.again(failure))) }
                    return .fill
                }
                // None is left: begin again with all of them, as far as the budget goes.
                self.transfer.memory.withLock { $0.badSources = [] }
            }
            if others > 0 {
                if gotNothing || !failure.isRetryable {
                    // One connection too many for this server: the others go on.
                    state.advisor.refused(having: others)
                    state.fixedConnections = state.fixedConnections.map { min($0, others) }
                }
                return .fill
            }
            return .end(failure.isRetryable ? .retry(failure) : .failed(failure))
        }
        switch next {
        case .nothing: break
        case .commit: self.commit()
        case .fill:
            self.note("\(attempt.url.redacted): \(failure.message); the others go on")
            self.fill(preferring: attempt.lane)
        case .end(let outcome): self.end(outcome, except: attempt)
        }
    }

    /// The same failure, worth another attempt because another source is left.
    private static func again(_ failure: TransferFailure) -> TransferFailure {
        var failure = failure
        failure.isRetryable = true
        return failure
    }
}

extension Duration {
    /// Whole nanoseconds, clamped to what fits.
    var inNanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? Int64.max / 2 : product &+ attoseconds / 1_000_000_000
    }
}
