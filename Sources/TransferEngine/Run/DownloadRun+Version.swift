internal import Synchronization
internal import TransferCore

/// Takes responses whose version `VersionJudge` accepts, and acts on the others.
extension DownloadRun {
    /// The context for relating an attempt's response to the held bytes.
    func context(_ state: State, _ attempt: Attempt) -> VersionJudge.Context {
        VersionJudge.Context(
            isOtherResource: self.isOtherResource(state, attempt.source),
            isDigestKnown: !self.request.expected.isEmpty || !state.serverDigests.isEmpty
        )
    }

    /// Whether a source is another resource than the one that the held bytes are from.
    func isOtherResource(_ state: State, _ source: Int) -> Bool {
        guard let facts = state.facts else { return false }
        return state.isForeign || facts.url != self.request.sources[source].withoutUserInfo
            || self.transfer.memory.withLock { $0.freshLinks[source] != nil }
    }

    // MARK: Ranges

    /// Handles a range that begins where it was requested.
    func receivedRange(_ attempt: Attempt, _ head: ResponseHead, _ range: ByteRange, _ total: Int64?) -> ReadDecision {
        let (file, hasPlan) = self.state.withLock { ($0.file, $0.planner != nil) }
        let part = range.upperBound == total ? nil : range
        switch file {
        case .none:
            guard range.lowerBound == 0 else { return self.rangesFailed(attempt, "no file is open", atOnce: false) }
            return self.openFile(attempt, head, total, part: part)
        case .stream where !hasPlan && range.lowerBound == 0:
            return self.wholeForStream(attempt, head, total, part: part)
        case .small, .partial, .stream, .existing: break
        }
        let response = self.facts(of: head, from: attempt, length: total)
        let continuation: VersionJudge.Continuation = self.state.withLock { state in
            guard let planner = state.planner else { return .refused("no file is open") }
            let overlap = min(attempt.overlap, range.upperBound - range.lowerBound)
            let isAdditional = state.attempts.contains { $0 !== attempt && $0.isTaken }
            guard let held = state.facts else {
                // The user's finished file: only the comparison can show that it is of the same version.
                return overlap == attempt.overlap ? .compared : .refused("the server sent too few bytes to compare")
            }
            if planner.completed == 0, !isAdditional {
                // The response need not continue anything: nothing is held yet.
                if case .different(let reason) = VersionJudge.relation(of: response, to: held) {
                    return .refused(reason)
                }
                return .accepted(.singleResponse)
            }
            return VersionJudge.continuation(
                of: response,
                after: held,
                self.context(state, attempt),
                isAdditional: isAdditional,
                overlap: overlap,
                run: planner.run(before: range.lowerBound + attempt.overlap)
            )
        }
        switch continuation {
        case .accepted(let consistency):
            return self.takeRange(attempt, head, response, range, total, basis: consistency)
        case .compared:
            return self.takeRange(attempt, head, response, range, total, basis: nil)
        case .needsOverlap:
            return self.requestOverlap(attempt)
        case .refused(let reason):
            return self.refuse(attempt, reason)
        }
    }

    /// Accepts a range: its overlap, if any, is compared before the rest is written.
    private func takeRange(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ response: ResourceFacts,
        _ range: ByteRange,
        _ total: Int64?,
        basis: Consistency?
    ) -> ReadDecision {
        let outcome: ReadDecision? = self.state.withLock { state in
            guard !attempt.isOver, state.planner != nil else { return .close }
            attempt.isTaken = true
            attempt.isPart = true
            attempt.basis = basis
            attempt.facts = response
            attempt.responseEnd = range.upperBound
            attempt.isComparing = attempt.overlap > 0
            state.hasTaken = true
            state.serverDoesRanges = true
            self.pin(&state, attempt)
            if attempt.isComparing { return .read }
            return self.acceptRange(&state, attempt) ? .read : nil
        }
        guard let outcome else {
            self.attemptFailed(attempt, TransferFailure(.fileIO, "the part does not fit the file", isRetryable: true))
            return .close
        }
        self.takeDigests(head, attempt)
        if self.state.withLock({ $0.attempts.first === attempt }) {
            self.report(head, total ?? self.state.withLock { $0.facts?.length })
        }
        if !self.state.withLock({ _ in attempt.isComparing }) { self.fill(preferring: attempt.lane) }
        return outcome
    }

    /// Records that an attempt's bytes continue the held ones, and opens their extent.
    ///
    /// - Returns: Whether they fit the file.
    func acceptRange(_ state: inout State, _ attempt: Attempt) -> Bool {
        guard let response = attempt.facts else { return true }
        self.transfer.memory.withLock { memory in
            memory.rangesProven = true
            memory.malformedRanges = 0
            if attempt.basis != nil { memory.provenSources.insert(attempt.source) }
        }
        state.kept = max(state.kept, (attempt.range?.lowerBound ?? 0) + attempt.overlap)
        let isJoined = (state.planner?.completed ?? 0) > 0 || state.attempts.contains { $0 !== attempt && $0.isTaken }
        if var facts = state.facts {
            if isJoined {
                let basis = attempt.basis ?? .overlap
                facts.consistency = facts.consistency.map { $0.combined(with: basis) } ?? basis
            }
            if state.isForeign || !isJoined {
                // From now on the response's validators are the reference, and the file belongs to this transfer.
                var next = response
                next.consistency = isJoined ? facts.consistency : nil
                next.formerVersions = facts.formerVersions
                next.isUnreliable = facts.isUnreliable
                facts = next
                state.isForeign = false
            }
            if facts.length == nil { facts.length = response.length }
            if facts.representationDigest == nil { facts.representationDigest = response.representationDigest }
            state.facts = facts
        } else {
            var facts = response
            facts.consistency = .overlap
            state.facts = facts
        }
        if let total = response.length, state.planner?.length == nil {
            guard state.planner?.setLength(total) ?? false else { return false }
        }
        if case .partial(let file) = state.file {
            if let facts = state.facts, facts != file.facts { try? file.update(facts: facts) }
            if attempt.extent == nil, let piece = state.planner?.piece(of: attempt.number) {
                guard let extent = file.beginExtent(at: piece.written) else { return false }
                attempt.extent = extent
            }
        } else if case .stream = state.file {
            let facts = state.facts
            self.transfer.memory.withLock { $0.stream.facts = facts }
        }
        attempt.bodySince = self.now
        return true
    }

    /// Requests the range again, beginning earlier: the response has too little overlap with the held bytes.
    private func requestOverlap(_ attempt: Attempt) -> ReadDecision {
        let isRepeated = self.transfer.memory.withLock { memory in
            defer { memory.wantsOverlap = true }
            return memory.wantsOverlap
        }
        if isRepeated, !attempt.isEndProbe {
            return self.refuse(attempt, "the server sends too little at once to compare it with what is held")
        }
        self.relaunch(attempt)
        return .close
    }

    /// Replaces an attempt by another request that takes over its connection slot.
    func relaunch(_ attempt: Attempt) {
        let isOver = self.state.withLock { state in
            guard !attempt.isOver, state.phase != .ending else { return true }
            state.probesEnd = false
            state.awaitsFirst = true
            state.heldSlot = attempt.slot
            attempt.slot = nil
            self.retire(&state, attempt)
            return false
        }
        if isOver { return }
        self.launchFirstAfterClosing()
    }

    /// Sends the first request once the running callback has closed its exchange: some servers limit connections.
    func launchFirstAfterClosing() {
        self.line.run { self.engine.transport.execute(onLane: self.lane) { self.launchFirst(.fetch) } }
    }

    /// Refuses a response that is, or may be, of another version than the held bytes.
    private func refuse(_ attempt: Attempt, _ reason: String) -> ReadDecision {
        let hasOthers = self.state.withLock { $0.attempts.count > 1 }
        let isMirror = self.state.withLock { state in
            state.facts.map { $0.url != self.request.sources[attempt.source].withoutUserInfo } ?? false
        }
        if hasOthers {
            // The other attempts continue with their version.
            self.note("\(attempt.url.redacted): \(reason); it is not used beside the others")
            if isMirror { self.transfer.memory.withLock { _ = $0.fallbackSources.insert(attempt.source) } }
            self.dismiss(attempt, isRefusal: !isMirror)
            return .close
        }
        return self.restart(attempt, reason)
    }

    /// Retires one of several attempts and returns its piece to the others.
    func dismiss(_ attempt: Attempt, isRefusal: Bool) {
        self.state.withLock { state in
            guard !attempt.isOver else { return }
            self.retire(&state, attempt)
            let others = state.attempts.count
            state.dismissals += 1
            if isRefusal || state.dismissals > Self.dismissalLimit, others > 0 {
                state.advisor.refused(having: others)
                state.fixedConnections = state.fixedConnections.map { min($0, others) }
            }
            self.reclaimPieces(&state)
        }
        self.fill(preferring: attempt.lane)
    }

    /// The number of dismissals after which no additional connection is worth its cost.
    private static let dismissalLimit = 16

    /// Extends the pieces of attempts over adjacent unassigned ones, up to the ends of their responses.
    func reclaimPieces(_ state: inout State) {
        for attempt in state.attempts where attempt.isTaken && !attempt.isComparing && attempt.repeated == 0 {
            guard let end = attempt.responseEnd else { continue }
            state.planner?.reclaim(for: attempt.number, upTo: end)
        }
    }

    /// Pins the redirect target of a source for all further ranges of this run.
    func pin(_ state: inout State, _ attempt: Attempt) {
        if attempt.hops > 0 { state.pinned[attempt.source] = attempt.url }
    }

    // MARK: Unrequested parts

    /// Handles a part beginning at byte 0 that was sent in place of the whole.
    func receivedFirstPart(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ range: ByteRange,
        _ total: Int64?
    ) -> ReadDecision {
        self.transfer.memory.withLock { $0.sendsRangesOnly = true }
        switch self.state.withLock({ $0.file }) {
        case .none: return self.openFile(attempt, head, total, part: range)
        case .stream where self.state.withLock({ $0.planner?.completed ?? 0 }) == 0:
            return self.wholeForStream(attempt, head, total, part: range)
        case .partial:
            let response = self.facts(of: head, from: attempt, length: total)
            let held = self.state.withLock { $0.facts } ?? response
            return self.replace(attempt, head, response, of: held, beside: false, part: range)
        case .stream, .existing:
            return self.rangesFailed(attempt, "the server sent a part that was not requested", atOnce: false)
        case .small: return .close
        }
    }

    /// Handles an unusable response to a range request: falls back to requests without ranges if it repeats.
    func rangesFailed(_ attempt: Attempt, _ reason: String, atOnce: Bool) -> ReadDecision {
        let hasOthers = self.state.withLock { $0.attempts.count > 1 }
        if hasOthers {
            self.note("\(attempt.url.redacted): \(reason); the others continue")
            self.dismiss(attempt, isRefusal: true)
            return .close
        }
        let refusesRanges = self.transfer.memory.withLock { memory in
            memory.malformedRanges += 1
            let repeats = atOnce || memory.malformedRanges > 1
            let wasRefused = memory.rangesRefused
            if repeats { memory.rangesRefused = true }
            return repeats && !wasRefused
        }
        if refusesRanges, self.state.withLock({ _ in attempt.range != nil }) {
            return self.restart(attempt, reason)
        }
        self.attemptFailed(attempt, TransferFailure(.badResponse, reason, isRetryable: true))
        return .close
    }

    /// Handles a 416 response, which alone does not prove where the file ends.
    func notSatisfiable(_ attempt: Attempt, _ head: ResponseHead) -> ReadDecision {
        let hasOthers = self.state.withLock { $0.attempts.count > 1 }
        if attempt.isEndProbe, !hasOthers {
            // The previous response, of the same version, ended at the end of the held bytes.
            let isComplete = self.state.withLock { state in
                let length = state.planner?.completed ?? 0
                guard state.planner?.setLength(length) ?? false else { return false }
                state.facts?.length = length
                self.retire(&state, attempt)
                return state.planner?.isComplete ?? false
            }
            if isComplete {
                self.commit()
                return .close
            }
        }
        if self.state.withLock({ _ in attempt.range }) == nil {
            let isNews = self.transfer.memory.withLock { memory in
                defer { memory.sendsRangesOnly = true }
                return !memory.sendsRangesOnly && !memory.rangesRefused
            }
            // Some servers send large files in ranges only.
            if isNews, !hasOthers {
                return self.drain(attempt, head, then: .repeat)
            }
            let failure = TransferFailure(.badResponse, "the server has no such range (416)", status: 416)
            return self.drain(attempt, head, then: .fail(failure))
        }
        return self.refuse(attempt, "the server has no such range (416)")
    }
}
