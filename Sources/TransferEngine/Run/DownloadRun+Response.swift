internal import Synchronization
internal import TransferCore

/// What a response's head leads to.
extension DownloadRun {
    func connected(_ attempt: Attempt) {
        self.state.withLock { _ in
            attempt.isConnected = true
            attempt.lastActivity = self.now
        }
    }

    func received(_ head: ResponseHead, on attempt: Attempt) -> ReadDecision {
        let question: ResponseJudge.Question? = self.state.withLock { state in
            guard !attempt.isOver else { return nil }
            attempt.hasHead = true
            attempt.lastActivity = self.now
            return ResponseJudge.Question(
                range: attempt.range,
                known: self.known(state, to: attempt),
                ignoresTags: self.transfer.memory.withLock { $0.tagsUnreliable },
                isConditional: attempt.isConditional,
                isOwnRange: !self.transfer.asksForWhole,
                have: state.planner?.completed ?? state.existing?.size ?? 0,
                retryStatuses: self.options.retryStatuses,
                wallNow: self.engine.time.wallNow
            )
        }
        guard let question else { return .close }
        if let policy = self.policy { policy.received(head, to: self.requestFacts(attempt)) }
        switch ResponseJudge.judge(head, question) {
        case .redirect(let location):
            return self.redirected(attempt, head, to: location)
        case .notModified:
            return self.drain(attempt, head, then: .notModified)
        case .failed(let failure):
            if head.status == 401, self.policy != nil { return self.challenged(attempt, head, otherwise: failure) }
            if case .examine = attempt.purpose, !failure.isRetryable {
                // Some servers, and signed URLs, answer GET only.
                return self.drain(attempt, head, then: .examined(agrees: false))
            }
            return self.drain(attempt, head, then: .fail(failure))
        case .startOver(let reason):
            return self.startOver(attempt, reason, head: head)
        case .alreadyComplete:
            return self.alreadyComplete(attempt)
        case .whole(let length):
            return self.receivedWhole(attempt, head, length)
        case .range(let total):
            return self.receivedRange(attempt, head, total)
        }
    }

    // MARK: Redirects and unwanted bodies

    private func redirected(_ attempt: Attempt, _ head: ResponseHead, to location: String) -> ReadDecision {
        let next: HTTPURL
        do {
            next = try self.target(of: location, attempt)
        } catch {
            return self.drain(attempt, head, then: .fail(error))
        }
        let method = self.method(of: attempt, redirectedBy: head.status)
        return self.redirected(attempt, head, to: next, by: method) {
            self.state.withLock { _ in attempt.isRewritten = method != self.request.method }
            return self.drain(attempt, head, then: .redirect(next))
        } leave: { failure in
            if case .stream = self.state.withLock({ $0.file }) {
                return self.receivedWhole(attempt, head, ResponseJudge.length(head))
            }
            return self.drain(attempt, head, then: .fail(failure))
        }
    }

    /// Reads a short body that nobody wants, to keep its connection; closes on a long one.
    func drain(_ attempt: Attempt, _ head: ResponseHead, then next: Attempt.Next) -> ReadDecision {
        let isShort =
            switch head.framing {
            case .none: true
            case .length(let length): length <= Int64(Self.drainable)
            case .chunked: true
            case .untilClose: false
            }
        var wantsPrefix = false
        if case .fail = next { wantsPrefix = self.policy != nil && head.framing != .none }
        if isShort || wantsPrefix {
            self.state.withLock { _ in
                attempt.afterDrain = next
                attempt.drainLimit = isShort ? Self.drainable : FailedResponse.prefixLimit
                if wantsPrefix { attempt.failedHead = head }
            }
            return .read
        }
        self.afterDrain(attempt, next)
        return .close
    }

    /// The bytes worth reading to keep a connection.
    static let drainable = 65_536

    func afterDrain(_ attempt: Attempt, _ next: Attempt.Next) {
        switch next {
        case .fail(var failure):
            if self.policy != nil {
                failure.response = self.state.withLock { _ in
                    attempt.failedHead.map { FailedResponse(url: attempt.url, head: $0, prefix: attempt.prefix) }
                }
            }
            self.attemptFailed(attempt, failure)
        case .repeat:
            self.state.withLock { _ in attempt.refusals += 1 }
            self.follow(attempt, to: attempt.url, isRedirect: false)
        case .notModified:
            self.notModified(attempt)
        case .skip:
            let size = self.state.withLock { $0.existing?.size ?? 0 }
            self.skip(self.state.withLock { $0.target }, size: size, except: attempt)
        case .examined(let agrees):
            self.examined(attempt, agrees: agrees)
        case .redirect(let url):
            self.follow(attempt, to: url, isRedirect: true)
        }
    }

    private func follow(_ attempt: Attempt, to url: HTTPURL, isRedirect: Bool) {
        let slot: Origin? = self.state.withLock { state in
            guard !attempt.isOver, let slot = attempt.slot else { return nil }
            attempt.slot = nil
            // It may wait for a connection to the next host now: that is no stall.
            attempt.isHeld = true
            return slot
        }
        guard let slot else { return }
        let next: @Sendable () -> Void = {
            let follower: Attempt? = self.state.withLock { state in
                guard state.phase != .ending, !attempt.isOver else { return nil }
                attempt.isOver = true
                state.attempts.removeAll { $0 === attempt }
                state.planner?.release(attempt.number)
                let follower = self.makeAttempt(
                    &state,
                    source: attempt.source,
                    url: url,
                    purpose: attempt.purpose,
                    slot: url.origin,
                    hops: attempt.hops + (isRedirect ? 1 : 0),
                    lane: attempt.lane
                )
                follower.isRewritten = attempt.isRewritten
                follower.refusals = attempt.refusals
                if case .fetch = attempt.purpose, state.planner != nil { self.assignPiece(&state, follower) }
                return follower
            }
            guard let follower else {
                // The one that gave the connection away has gone on by now: somebody else may wait for it.
                self.engine.releaseConnection(url.origin)
                return self.engine.pump(lane: attempt.lane)
            }
            self.launch(follower)
        }
        if slot == url.origin { return next() }
        self.engine.releaseConnection(slot)
        self.engine.whenConnectionIsFree(url.origin) { self.engine.transport.execute(onLane: attempt.lane, next) }
    }

    private func examined(_ attempt: Attempt, agrees: Bool) {
        let target: FileTarget? = self.state.withLock { state in
            guard !attempt.isOver else { return nil }
            state.heldSlot = attempt.slot
            attempt.slot = nil
            self.retire(&state, attempt)
            return state.target
        }
        guard let target else { return }
        if agrees { return self.skip(target, size: self.state.withLock { $0.existing?.size ?? 0 }) }
        if self.state.withLock({ $0.ifExists }) == .resume {
            self.state.withLock { $0.overwrite = true }
            return self.launchFirst(.fetch)
        }
        self.note("\(target.name) is there and is not known to be the server's file; another name is taken")
        self.takeNextName()
        self.locate()
    }

    /// The server has nothing newer than what the caller has.
    private func notModified(_ attempt: Attempt) {
        let target = self.state.withLock { state in
            self.retire(&state, attempt)
            return state.target
        }
        var completion = TransferEvent.Completion(
            path: target.path,
            bytes: 0,
            received: 0,
            duration: .nanoseconds(self.now - self.startedAt),
            skipped: true
        )
        completion.notModified = true
        self.end(.finished(completion), except: attempt)
    }

    // MARK: Wholes

    func receivedWhole(_ attempt: Attempt, _ head: ResponseHead, _ length: Int64?) -> ReadDecision {
        switch attempt.purpose {
        case .examine:
            let agrees = self.state.withLock { $0.existing.map { Self.agrees($0, with: head) } ?? false }
            return self.drain(attempt, head, then: .examined(agrees: agrees))
        case .probe(let probe):
            if case .adopt = probe.then {
                return self.drain(
                    attempt,
                    head,
                    then: .fail(
                        TransferFailure(
                            .cannotResume,
                            "the server does not send parts, so the existing file cannot be gone on with",
                            setting: .existingFiles
                        )
                    )
                )
            }
            if let decision = self.compareWholeStream(attempt, head, length) { return decision }
            if self.canDoWithout(attempt) {
                self.sourceDisagrees(attempt)
                return .close
            }
            return self.rangesRefused(attempt)
        case .fetch: break
        }
        return self.decide(attempt, head, length) {
            switch self.state.withLock({ $0.file }) {
            case .none: return self.openFile(attempt, head, length)
            case .small: return .close
            case .stream: return self.wholeForStream(attempt, head, length)
            case .partial: return self.wholeInsteadOfPart(attempt, head)
            }
        }
    }

    /// A whole answer to a request for a part: the file changed, or the server does no ranges.
    private func wholeInsteadOfPart(_ attempt: Attempt, _ head: ResponseHead) -> ReadDecision {
        let (known, others, isFresh) = self.state.withLock { state in
            (self.known(state, to: attempt), state.attempts.count - 1, state.planner?.completed == 0)
        }
        let agreement = known.map { ResponseJudge.agreement(head, with: $0, ignoringTags: false) } ?? .unknown
        if agreement == .changed, !isFresh {
            return self.startOver(attempt, "the file changed on the server", head: head)
        }
        if others > 0 {
            // The others have what this one was to fetch; the server just does not do it twice at once.
            self.state.withLock { state in
                state.advisor.refused(having: others)
                state.fixedConnections = state.fixedConnections.map { min($0, others) }
                self.retire(&state, attempt)
            }
            self.fill(preferring: attempt.lane)
            return .close
        }
        return self.rangesRefused(attempt)
    }

    /// The server sends no parts of this file: what is there cannot be gone on from.
    private func rangesRefused(_ attempt: Attempt) -> ReadDecision {
        self.transfer.memory.withLock { memory in
            memory.rangesRefused = true
            memory.rangesProven = false
        }
        return self.startOver(attempt, "the server does not resume", head: nil)
    }

    // MARK: Parts

    private func receivedRange(_ attempt: Attempt, _ head: ResponseHead, _ total: Int64?) -> ReadDecision {
        if case .probe(let probe) = attempt.purpose {
            if let total, total < probe.range.upperBound {
                return self.startOver(attempt, "the server's file is shorter", head: head)
            }
            self.state.withLock { _ in attempt.validators = Validators(fields: head.fields) }
            return .read
        }
        guard case .fetch = attempt.purpose, let asked = attempt.range else { return .close }
        return self.decide(attempt, head, total) { self.takeRange(attempt, head, asked, total) }
    }

    private func takeRange(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ asked: ByteRange,
        _ total: Int64?
    ) -> ReadDecision {
        self.transfer.memory.withLock { memory in
            memory.rangesProven = true
            memory.budget.kept(asked.lowerBound)
        }
        let outcome: ReadDecision? = self.state.withLock { state in
            guard !attempt.isOver else { return .close }
            state.serverDoesRanges = true
            if let total, state.planner?.length == nil {
                guard state.planner?.setLength(total) ?? false else { return nil }
                state.facts?.length = total
            }
            switch state.file {
            case .partial(let file):
                if let facts = state.facts, facts != file.facts { try? file.update(facts: facts) }
                guard let extent = file.beginExtent(at: asked.lowerBound) else { return nil }
                attempt.extent = extent
                attempt.bodySince = self.now
            case .stream: attempt.bodySince = self.now
            case .none, .small: return .close
            }
            return .read
        }
        guard let outcome else {
            self.attemptFailed(attempt, TransferFailure(.fileIO, "the part does not fit the file", isRetryable: true))
            return .close
        }
        self.takeDigests(head, attempt)
        if self.state.withLock({ $0.attempts.first === attempt }) {
            self.report(head, total ?? self.state.withLock { $0.facts?.length })
        }
        self.fill(preferring: attempt.lane)
        return outcome
    }

    private func alreadyComplete(_ attempt: Attempt) -> ReadDecision {
        let (isComplete, existing): (Bool, Bool) = self.state.withLock { state in
            let length = state.planner?.completed ?? 0
            guard state.planner?.setLength(length) ?? false else { return (false, state.existing != nil) }
            return (state.planner?.isComplete ?? false, state.existing != nil)
        }
        if isComplete {
            self.state.withLock { self.retire(&$0, attempt) }
            self.commit()
            return .close
        }
        if existing, case .probe = attempt.purpose {
            self.attemptFailed(
                attempt,
                TransferFailure(.cannotResume, "the server's file is shorter than the existing one")
            )
            return .close
        }
        return self.startOver(attempt, "the server has no such range (416)", head: nil)
    }

    func report(_ head: ResponseHead, _ expected: Int64?) {
        guard self.engine.hub.wants(.responses) else { return }
        let (path, resumed) = self.state.withLock { state in
            if case .stream = state.file { return ("", state.resumedFrom) }
            return (state.target.path, state.resumedFrom)
        }
        self.engine.hub.emit(
            self.transfer.event(
                .response(
                    TransferEvent.ResponseInfo(
                        status: head.status,
                        fields: head.fields,
                        expected: expected,
                        path: path,
                        resumedFrom: resumed
                    )
                )
            )
        )
    }
}
