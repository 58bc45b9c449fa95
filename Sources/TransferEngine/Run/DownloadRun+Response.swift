internal import Synchronization
internal import TransferCore

/// Handles response heads.
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
            let now = self.now
            attempt.hasHead = true
            attempt.lastActivity = now
            attempt.headTime = now - attempt.startedAt
            return ResponseJudge.Question(
                range: attempt.range,
                isConditional: attempt.isConditional,
                isOwnRange: !self.transfer.asksForWhole,
                retryStatuses: self.options.retryStatuses,
                wallNow: self.engine.time.wallNow
            )
        }
        guard let question else { return .close }
        if let policy = self.policy { policy.received(head, to: self.requestFacts(attempt)) }
        let verdict = ResponseJudge.judge(head, question)
        if case .examine(let byGET) = attempt.purpose {
            return self.examined(attempt, head, verdict, byGET: byGET)
        }
        switch verdict {
        case .redirect(let location):
            return self.redirected(attempt, head, to: location)
        case .notModified:
            return self.drain(attempt, head, then: .notModified)
        case .failed(let failure):
            if head.status == 401, self.policy != nil { return self.challenged(attempt, head, otherwise: failure) }
            return self.drain(attempt, head, then: .fail(failure))
        case .whole(let length):
            return self.receivedWhole(attempt, head, length)
        case .range(let range, let total):
            return self.decide(attempt, head, total) { self.receivedRange(attempt, head, range, total) }
        case .firstPart(let range, let total):
            return self.decide(attempt, head, total) { self.receivedFirstPart(attempt, head, range, total) }
        case .preconditionFailed:
            return self.restart(attempt, "the server says that the file changed (412)")
        case .otherStart:
            return self.rangesFailed(attempt, "the server sent other bytes than were requested", atOnce: true)
        case .malformedRange(let reason):
            return self.rangesFailed(attempt, reason, atOnce: false)
        case .multipart:
            return self.rangesFailed(
                attempt,
                "the server sent several parts in response to a request for one",
                atOnce: true
            )
        case .notSatisfiable:
            return self.notSatisfiable(attempt, head)
        }
    }

    /// Handles the response to a request that compares a finished file with the server's.
    private func examined(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ verdict: ResponseJudge.Verdict,
        byGET: Bool
    ) -> ReadDecision {
        switch verdict {
        case .redirect(let location):
            return self.redirected(attempt, head, to: location)
        case .whole:
            let isCurrent = self.state.withLock { $0.existing }.map { self.isCurrent($0, head) } ?? false
            return self.drain(attempt, head, then: .examined(agrees: isCurrent))
        case .failed(let failure):
            if head.status == 401, self.policy != nil { return self.challenged(attempt, head, otherwise: failure) }
            if failure.isRetryable { return self.drain(attempt, head, then: .fail(failure)) }
            // Some servers refuse HEAD, and a signed URL is valid for one method only.
            if !byGET, self.request.method == "GET" { return self.drain(attempt, head, then: .examineByGET) }
            return self.drain(attempt, head, then: .examined(agrees: false))
        case .range, .firstPart, .preconditionFailed, .otherStart, .malformedRange, .multipart, .notSatisfiable,
            .notModified:
            return self.drain(attempt, head, then: .examined(agrees: false))
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

    /// Discards a short unwanted body to keep its connection; closes the connection of a long one.
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

    /// The maximum number of bytes worth reading to keep a connection.
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
        case .examineByGET:
            self.follow(attempt, to: attempt.url, isRedirect: false, purpose: .examine(byGET: true))
        case .examined(let agrees):
            self.examined(attempt, agrees: agrees)
        case .redirect(let url):
            self.follow(attempt, to: url, isRedirect: true)
        }
    }

    private func follow(_ attempt: Attempt, to url: HTTPURL, isRedirect: Bool, purpose: Attempt.Purpose? = nil) {
        let slot: Origin? = self.state.withLock { state in
            guard !attempt.isOver, let slot = attempt.slot else { return nil }
            attempt.slot = nil
            // The stall timeout does not apply while the attempt waits for a connection to the next host.
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
                    purpose: purpose ?? attempt.purpose,
                    slot: url.origin,
                    hops: attempt.hops + (isRedirect ? 1 : 0),
                    lane: attempt.lane
                )
                follower.isRewritten = attempt.isRewritten
                follower.refusals = attempt.refusals
                follower.isAdditional = attempt.isAdditional
                follower.isPinned = attempt.isPinned && !isRedirect
                follower.isEndProbe = attempt.isEndProbe
                if follower.isFetch, state.planner != nil { self.assignPiece(&state, follower) }
                return follower
            }
            guard let follower else {
                // The attempt has ended: another transfer may be waiting for the connection.
                self.engine.releaseConnection(url.origin, of: self.transfer.id)
                return self.engine.connectionsReleased(lane: attempt.lane)
            }
            self.launch(follower)
        }
        if slot == url.origin { return next() }
        self.engine.releaseConnection(slot, of: self.transfer.id)
        self.engine.whenConnectionIsFree(url.origin, for: self.transfer.id) {
            self.engine.transport.execute(onLane: attempt.lane, next)
        }
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
        self.note("\(target.name) exists and is not known to be the server's file; using another name")
        self.takeNextName()
        self.locate()
    }

    /// Finishes a conditional request whose response is 304: the caller's copy is current.
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
