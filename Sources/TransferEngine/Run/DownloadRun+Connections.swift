internal import Synchronization
internal import TransferCore

/// Decides which connections fetch what, and from which source.
extension DownloadRun {
    /// The source with the fewest attempts among those that may be used; a mirror that nothing shows to have the same
    /// version only if there is no other.
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

    /// The URL to request from a source: a fresh link, or where an earlier request of this run was redirected to.
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

    /// How many held bytes a request begins with, so that its response can be compared with them.
    private func overlap(_ state: State, _ source: Int, before start: Int64) -> Int64 {
        guard let run = state.planner?.run(before: start), run > 0 else { return 0 }
        let longest = min(run, VersionJudge.overlap)
        guard let facts = state.facts else { return min(run, Self.existingOverlap) }
        // Without a length the range might begin at the end, where a server has nothing to send.
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

    /// Sends an attempt's request, once the held bytes of its overlap have been read.
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
        // A caller that requests an encoding gets it as it is.
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

    /// Fields that go with the content, and so are dropped where a redirect dropped that.
    private static func describesContent(_ name: String) -> Bool { name.lowercased().hasPrefix("content-") }

    func method(of attempt: Attempt) -> String {
        if case .examine(byGET: false) = attempt.purpose { return "HEAD" }
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

    /// The strong validator for `If-Range`; one of another resource says nothing of this one's.
    private func validator(_ state: State, _ attempt: Attempt) -> String? {
        guard let facts = state.facts, !self.transfer.memory.withLock({ $0.omitsIfRange }),
            !self.isOtherResource(state, attempt.source)
        else { return nil }
        return Validators(facts).ifRange
    }

    // MARK: More connections

    /// Opens connections as far as they are wanted, allowed, and have something to fetch.
    func fill(preferring lane: Int) {
        while true {
            let attempt: Attempt? = self.state.withLock { state in
                guard state.phase == .active, let planner = state.planner, !planner.isComplete else { return nil }
                guard !state.awaitsFirst, state.attempts.count < self.wantedConnections(state) else { return nil }
                self.reclaimPieces(&state)
                guard state.planner?.canAssign(minimumSplit: self.options.minimumSplit) ?? false else { return nil }
                let source = self.pickSource(&state)
                // A mirror that nothing shows to have the same version brings nothing beside others.
                let isFallback = self.transfer.memory.withLock { $0.fallbackSources.contains(source) }
                if isFallback, !state.attempts.isEmpty { return nil }
                return self.makeFetch(&state, source: source, preferring: lane)
            }
            guard let attempt else { return }
            self.launch(attempt)
        }
    }

    /// Makes a further request, if its host has a connection left.
    private func makeFetch(_ state: inout State, source: Int, preferring lane: Int) -> Attempt? {
        let (url, isPinned) = self.url(of: source, state)
        if state.attempts.isEmpty {
            self.engine.takeConnection(url.origin)
        } else if !self.engine.acquireConnection(url.origin) {
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

    /// Whether an attempt is at a mirror and another source can fetch in its stead.
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

    // MARK: Taking over

    /// Takes the last piece of a slow or silent connection over, if another would finish it sooner.
    ///
    /// A connection that others of this run outran so far that a new one would fetch the rest in less than half of the
    /// time is given up.
    func takeOver(_ now: Int64) {
        guard let slow = self.state.withLock({ self.outrun($0, now) }) else { return }
        // On its event loop, so that none of its bytes is being written.
        self.engine.transport.execute(onLane: slow.lane) {
            let (exchange, next): ((any Exchange)?, Attempt?) = self.state.withLock { state in
                guard !slow.isOver, state.phase == .active else { return (nil, nil) }
                defer { slow.exchange = nil }
                state.takeovers += 1
                self.retire(&state, slow)
                let source = self.pickSource(&state, avoiding: slow.source)
                return (slow.exchange, self.makeFetch(&state, source: source, preferring: slow.lane))
            }
            exchange?.cancel()
            guard let next else { return }
            self.note("\(slow.url.redacted): another connection takes over its last piece")
            self.launch(next)
        }
    }

    /// The connection whose last piece another would finish much sooner.
    private func outrun(_ state: State, _ now: Int64) -> Attempt? {
        guard state.phase == .active, case .partial = state.file, let planner = state.planner, state.hasTaken,
            !state.awaitsFirst, state.bestRate > 0, state.takeovers < Self.takeoverLimit, !self.engine.isThrottling,
            !planner.canAssign(minimumSplit: self.options.minimumSplit), self.wantedConnections(state) > 1
        else { return nil }
        let candidates = state.attempts.filter { !$0.isHeld && now - $0.startedAt >= Self.takeoverPatience }
        guard let slow = candidates.max(by: { self.secondsLeft($0, planner) < self.secondsLeft($1, planner) }) else {
            return nil
        }
        let elsewhere = Double(planner.remaining(of: slow.number)) / state.bestRate
        return self.secondsLeft(slow, planner) > 2 * elsewhere + Self.takeoverCost ? slow : nil
    }

    /// Extends a connection's piece over the next one, whose own connection has not got a response yet.
    ///
    /// The response goes on with those bytes anyway. The silent connection is closed and remembered as the host's limit.
    func takeSilentNeighbour(_ state: inout State, _ attempt: Attempt, _ now: Int64) -> Bool {
        guard let piece = state.planner?.piece(of: attempt.number), let end = attempt.responseEnd, end > piece.end,
            let silent = state.attempts.first(where: { other in
                !other.hasHead && now - other.startedAt > Self.silencePatience
                    && state.planner?.piece(of: other.number)?.start == piece.end
            })
        else { return false }
        self.retire(&state, silent)
        state.advisor.refused(having: state.attempts.count)
        state.fixedConnections = state.fixedConnections.map { min($0, max(1, state.attempts.count)) }
        if silent.isAdditional { self.engine.connectionRefused(silent.origin) }
        state.planner?.reclaim(for: attempt.number, upTo: end)
        self.engine.time.schedule(after: 0) {
            self.engine.transport.execute(onLane: silent.lane) { self.close(silent) }
        }
        return true
    }

    private static let silencePatience: Int64 = 500_000_000

    private func secondsLeft(_ attempt: Attempt, _ planner: SegmentPlanner) -> Double {
        let rate = attempt.hasHead ? attempt.window.rate : 0
        let left = Double(planner.remaining(of: attempt.number))
        return rate > 0 ? left / rate : .infinity
    }

    private static let takeoverLimit = 8
    private static let takeoverPatience: Int64 = 1_500_000_000
    /// What a new connection costs, in seconds.
    private static let takeoverCost = 0.5

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
        // What may have been carried out must not be requested twice (RFC 9110 §9.2.2).
        if attempt.isConnected, !Transfer.isIdempotent(self.method(of: attempt)) { failure.isRetryable = false }
        if self.refresh(attempt, after: failure) { return }
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
            self.reclaimPieces(&state)
            let others = state.attempts.count
            if attempt.isPinned, let status = failure.status, [401, 403, 404, 410].contains(status) {
                // Where it was redirected to has expired: the original is requested again.
                state.pinned[attempt.source] = nil
                if state.planner != nil { return .fill }
                return .end(.retry(Self.again(failure)))
            }
            if attempt.isAdditional, attempt.isRefused(failure) { self.engine.connectionRefused(attempt.origin) }
            if self.request.sources.count > 1 {
                let remaining = self.transfer.memory.withLock { memory in
                    memory.badSources.insert(attempt.source)
                    return self.request.sources.count - memory.badSources.count
                }
                if remaining > 0 {
                    // A stream's bytes may still be on their way to the sink: only the next run knows where it stands.
                    if case .stream = state.file { return .end(.retry(Self.again(failure))) }
                    guard state.planner != nil, !state.awaitsFirst else { return .end(.retry(Self.again(failure))) }
                    if others == 0, attempt.isComparing { return .end(.retry(Self.again(failure))) }
                    return .fill
                }
                // None is left: all of them are tried again, as far as the budget goes.
                self.transfer.memory.withLock { $0.badSources = [] }
            }
            if others > 0 {
                if gotNothing || !failure.isRetryable {
                    // One connection too many for this server: the others continue.
                    state.advisor.refused(having: others)
                    state.fixedConnections = state.fixedConnections.map { min($0, others) }
                }
                return .fill
            }
            // A further connection that is refused says nothing about the file, which an earlier one was sent.
            if attempt.isAdditional, attempt.isRefused(failure) { return .end(.retry(Self.again(failure))) }
            let held = state.planner?.completed ?? 0
            let ended = held > 0 ? Self.explainingExpiry(failure) : failure
            return .end(ended.isRetryable ? .retry(ended) : .failed(ended))
        }
        switch next {
        case .nothing: break
        case .commit: self.commit()
        case .fill:
            self.note("\(attempt.url.redacted): \(failure.message); the others continue")
            self.fill(preferring: attempt.lane)
        case .end(let outcome): self.end(outcome, except: attempt)
        }
    }

    /// A refusal while bytes are held is most often a link that has expired.
    private static func explainingExpiry(_ failure: TransferFailure) -> TransferFailure {
        guard let status = failure.status, [401, 403, 410].contains(status) else { return failure }
        var failure = failure
        failure.message += "; the link may have expired, and what was received is kept"
        failure.remedy = "give a new link under the same name to continue"
        failure.setting = nil
        return failure
    }

    /// Requests a fresh URL from the caller's refresher where a link may have expired.
    ///
    /// - Returns: Whether the attempt is dealt with.
    private func refresh(_ attempt: Attempt, after failure: TransferFailure) -> Bool {
        guard let refresher = self.options.refresher, let status = failure.status, [401, 403, 410].contains(status),
            self.state.withLock({ !attempt.isOver && $0.attempts.count == 1 && $0.phase != .ending })
        else { return false }
        let mayRefresh = self.transfer.memory.withLock { memory in
            memory.refreshes += 1
            return memory.refreshes <= Self.refreshLimit
        }
        guard mayRefresh else { return false }
        self.state.withLock { _ in attempt.isHeld = true }
        let url = attempt.url
        self.line.run {
            do throws(TransferFailure) {
                guard let fresh = try refresher.freshURL(for: url, status: status) else {
                    return self.end(.failed(Self.explainingExpiry(failure)), except: nil)
                }
                self.note("the link was refused (\(status)): continuing from \(fresh.redacted)")
                self.transfer.memory.withLock { memory in
                    memory.freshLinks[attempt.source] = fresh
                    memory.provenSources.remove(attempt.source)
                }
                self.state.withLock { $0.pinned[attempt.source] = nil }
                self.end(.retry(Self.again(failure)), except: nil)
            } catch {
                var failure = error
                if self.state.withLock({ $0.planner?.completed ?? 0 }) > 0 {
                    failure.message += "; what was received is kept"
                }
                self.end(.failed(failure), except: nil)
            }
        }
        return true
    }

    private static let refreshLimit = 3

    /// The same failure, worth another attempt because another source is left.
    private static func again(_ failure: TransferFailure) -> TransferFailure {
        var failure = failure
        failure.isRetryable = true
        return failure
    }
}

extension Attempt {
    /// Whether the server, or the network, refused the connection rather than the file.
    func isRefused(_ failure: TransferFailure) -> Bool {
        if let status = failure.status { return [403, 408, 429, 500, 502, 503, 504, 509].contains(status) }
        return failure.isRetryable
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
