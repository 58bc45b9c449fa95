// SPDX-License-Identifier: Apache-2.0
/// Handles response heads, policies' decisions, and unwanted bodies.
extension DownloadMachine {
    /// The request was written to a connection.
    package mutating func connected(_ number: DownloadAction.RequestNumber, _ now: Int64) {
        guard let index = self.index(of: number) else { return }
        self.requests[index].isConnected = true
        if !self.mayRepeat(self.method(of: self.requests[index])) { self.hasSentUnrepeatable = true }
        self.requests[index].lastActivity = now
    }

    /// The head of the final response arrived.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - number: The request.
    ///   - now: The time.
    ///   - wallNow: The time in seconds since 1970.
    ///   - hasCredentials: Whether the request had credentials.
    /// - Returns: The actions.
    package mutating func headReceived(
        _ head: ResponseHead,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64,
        wallNow: Int64,
        hasCredentials: Bool = false
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        self.wallNow = wallNow
        self.requests[index].headTime = now - self.requests[index].startedAt
        self.requests[index].lastActivity = now
        if self.isCommitting {
            // Other connections have delivered the last byte.
            self.retire(index)
            return self.takeActions()
        }
        self.requests[index].hasCredentials = hasCredentials
        switch self.requests[index].flow.received(head, method: self.terms.method, self.terms.requests) {
        case .final: self.finalHead(head, index, now)
        case .next(let flow): self.send(flow, after: head, index, now)
        case .ask(let question): self.ask(index, .request(question), question.asked)
        case .fail(let failure): self.drain(index, head, then: .fail(failure), now)
        }
        return self.takeActions()
    }

    /// Sends the flow's next request, once the response has been read.
    private mutating func send(_ flow: RequestFlow, after head: ResponseHead, _ index: Int, _ now: Int64) {
        if flow.hops > self.requests[index].flow.hops { self.note(flow.note(after: head)) }
        self.drain(index, head, then: .next(flow), now)
    }

    /// Handles the head of a response after which its flow sends no other request.
    private mutating func finalHead(_ head: ResponseHead, _ index: Int, _ now: Int64) {
        let verdict = ResponseJudge.judge(
            head,
            ResponseJudge.Question(
                range: self.requests[index].range,
                isConditional: self.requests[index].isConditional,
                isOwnRange: !self.terms.asksForWhole,
                retryStatuses: self.terms.requests.retryStatuses,
                wallNow: self.wallNow,
                hasCredentials: self.requests[index].hasCredentials
            )
        )
        if case .examine(let byGET) = self.requests[index].purpose {
            self.examined(index, head, verdict, byGET: byGET, now)
        } else {
            self.act(on: verdict, head, index, now)
        }
    }

    private mutating func act(
        on verdict: ResponseJudge.Verdict,
        _ head: ResponseHead,
        _ index: Int,
        _ now: Int64
    ) {
        switch verdict {
        case .notModified:
            let facts = ResourceFacts(
                url: "",
                length: head.fields["Content-Length"].flatMap { Int64($0) },
                fields: head.fields,
                received: self.wallNow
            )
            self.drain(index, head, then: .notModified(Boxed(facts)), now)
        case .failed(let failure): self.refused(index, head, failure, now)
        case .whole(let length): self.askForDecision(index, head, length, verdict, now)
        case .range(_, let total), .firstPart(_, let total):
            self.askForDecision(index, head, total, verdict, now)
        case .preconditionFailed: self.restart(index, "the server reports that the file changed (412)", now)
        case .otherStart:
            self.rangesFailed(index, "the server sent bytes outside the requested range", atOnce: true, now)
        case .malformedRange(let reason): self.rangesFailed(index, reason, atOnce: false, now)
        case .multipart:
            let reason = "the server sent several parts in response to a request for one"
            self.rangesFailed(index, reason, atOnce: true, now)
        case .notSatisfiable:
            if self.acceptsAnyStatus, self.requests[index].range == nil { return self.accept(index, head, now) }
            self.notSatisfiable(index, head, now)
        }
    }

    /// Whether every status is the result: not of a file, and not after a part of another response was received.
    private var acceptsAnyStatus: Bool {
        guard case .opening(.awaiting) = self.phase else { return false }
        return self.terms.requests.acceptsAnyStatus && self.destination != .file
    }

    /// Handles a status other than success: the failure of the attempt, or the result.
    private mutating func refused(_ index: Int, _ head: ResponseHead, _ failure: TransferFailure, _ now: Int64) {
        if self.acceptsAnyStatus { return self.accept(index, head, now) }
        self.drain(index, head, then: .fail(failure), now)
    }

    /// Accepts a response regardless of its status: its body is the whole result.
    private mutating func accept(_ index: Int, _ head: ResponseHead, _ now: Int64) {
        let length = ResponseJudge.length(head)
        self.askForDecision(index, head, length, .whole(length: length), now)
    }

    /// Accepts a response whose bytes may be wanted, once the policy has decided about the transfer's first one.
    private mutating func askForDecision(
        _ index: Int,
        _ head: ResponseHead,
        _ length: Int64?,
        _ verdict: ResponseJudge.Verdict,
        _ now: Int64
    ) {
        guard self.terms.requests.hasPolicy, !self.history.isResponseDecided else {
            return self.take(verdict, head, index, now)
        }
        self.ask(index, .response(head, verdict), .response(head, length: length))
    }

    /// Accepts a response that carries the whole or the requested range.
    mutating func take(_ verdict: ResponseJudge.Verdict, _ head: ResponseHead, _ index: Int, _ now: Int64) {
        switch verdict {
        case .whole(let length): self.receivedWhole(index, head, length, now)
        case .range(let range, let total): self.receivedRange(index, head, range, total, now)
        case .firstPart(let range, let total): self.receivedFirstPart(index, head, range, total, now)
        case .otherStart, .malformedRange, .multipart, .notSatisfiable, .preconditionFailed, .notModified, .failed:
            break
        }
    }

    /// Handles the response to a request that compares a finished file with the server's.
    private mutating func examined(
        _ index: Int,
        _ head: ResponseHead,
        _ verdict: ResponseJudge.Verdict,
        byGET: Bool,
        _ now: Int64
    ) {
        switch verdict {
        case .whole:
            let freshness = self.existing.map { self.freshness(of: $0.value, head) } ?? .different
            self.drain(index, head, then: .examined(freshness), now)
        case .failed(let failure):
            // Who refused the credentials of one method would be asked again for the other.
            let isUnmet = head.status == 401 && self.terms.requests.answersChallenges
            if failure.isRetryable || isUnmet { return self.drain(index, head, then: .fail(failure), now) }
            // Some servers refuse HEAD, and a signed URL is valid for one method only.
            if !byGET, self.terms.method == "GET" { return self.drain(index, head, then: .examineByGET, now) }
            // No other name is used: the failure of the comparison is that of the file.
            let fails = self.existingFiles.keepsName
            self.drain(index, head, then: fails ? .fail(failure) : .examined(.different), now)
        case .range, .firstPart, .preconditionFailed, .otherStart, .malformedRange, .multipart, .notSatisfiable,
            .notModified:
            self.drain(index, head, then: .examined(.different), now)
        }
    }

    // MARK: The policy's decisions

    /// Requests the policy's decision; reading pauses until then.
    private mutating func ask(_ index: Int, _ question: FetchRequest.Question, _ asked: PolicyQuestion) {
        self.requests[index].stage = .deciding(question)
        self.requests[index].isPaused = true
        self.emit(.ask(asked, self.requests[index].number))
    }

    package mutating func policyDecided(
        _ decision: PolicyDecision,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number), case .deciding(let question) = self.requests[index].stage else {
            return []
        }
        self.requests[index].stage = .waiting
        self.requests[index].isPaused = false
        self.requests[index].lastActivity = now
        if case .cancel = decision {
            self.decideResponse(question)
            self.end(.cancelled(keeping: false))
            return self.takeActions()
        }
        switch question {
        case .request(let question):
            if let next = question.next(after: decision) {
                self.send(next, after: question.head, index, now)
            } else {
                self.refused(question, index, now)
            }
        case .response(let head, let verdict):
            self.decideResponse(question)
            if self.isCommitting {
                self.retire(index)
                break
            }
            if case .divert(let diversion) = decision { self.divert(to: diversion) }
            self.take(verdict, head, index, now)
        }
        // No actions follow the end, and a refusal may be asked about once more, as the response.
        if !self.isEnded, !self.isDeciding(number) { self.emit(.resume(number)) }
        return self.takeActions()
    }

    private func isDeciding(_ number: DownloadAction.RequestNumber) -> Bool {
        guard let index = self.index(of: number), case .deciding = self.requests[index].stage else { return false }
        return true
    }

    /// Records the decision about the response; a decision that arrives after the end is ignored, and requested again.
    private mutating func decideResponse(_ question: FetchRequest.Question) {
        if case .response = question { self.history.isResponseDecided = true }
    }

    /// Redirects a body from memory to a file.
    private mutating func divert(to diversion: Diversion) {
        guard case .opening(.awaiting) = self.phase, self.destination != .file else { return }
        self.history.diversion = diversion
        self.name.base = diversion.name ?? self.name.base
        self.name.isGivenByUser = diversion.name != nil
        self.name.rule = diversion.ifExists
        self.name.isDiverted = true
    }

    /// The policy does not let the next request be sent: the response is final.
    private mutating func refused(_ question: RequestFlow.Question, _ index: Int, _ now: Int64) {
        switch question.subject {
        case .challenge: self.finalHead(question.head, index, now)
        case .redirect:
            // To memory or a sink, the redirect itself is the response.
            if self.destination != .file { return self.accept(index, question.head, now) }
            let failure = RedirectRule.refused(question.next.url, status: question.head.status)
            self.drain(index, question.head, then: .fail(failure), now)
        }
    }

    // MARK: Unwanted bodies

    /// Discards a short unwanted body to keep its connection; closes the connection of a long one.
    mutating func drain(_ index: Int, _ head: ResponseHead, then next: FetchRequest.AfterResponse, _ now: Int64) {
        var keepsPrefix = false
        if case .fail = next { keepsPrefix = self.terms.requests.hasPolicy }
        guard let draining = Draining(head, keepsPrefix: keepsPrefix, then: next) else {
            return self.responseIsOver(index, next, nil, now)
        }
        self.requests[index].stage = .draining(draining)
    }

    /// The rest of an unwanted response is too long, or its connection was lost: its step follows.
    package mutating func drainingEnded(_ number: DownloadAction.RequestNumber, _ now: Int64) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        self.endDraining(index, now)
        return self.takeActions()
    }

    /// Performs the step that follows an unwanted response.
    ///
    /// - Returns: Whether the response was being drained.
    @discardableResult
    mutating func endDraining(_ index: Int, _ now: Int64) -> Bool {
        guard case .draining(let draining) = self.requests[index].stage else { return false }
        self.responseIsOver(index, draining.next, draining.failedResponse(from: self.requests[index].url), now)
        return true
    }

    private mutating func responseIsOver(
        _ index: Int,
        _ next: FetchRequest.AfterResponse,
        _ response: FailedResponse?,
        _ now: Int64
    ) {
        let request = self.requests[index]
        switch next {
        case .fail(var failure):
            failure.response = response
            self.fail(index, failure, now)
        case .next(let flow): self.follow(index, FetchRequest.Successor(flow: flow, purpose: request.purpose), now)
        case .repeatInRanges:
            self.follow(index, FetchRequest.Successor(flow: request.flow, purpose: request.purpose), now)
        case .examineByGET:
            self.follow(index, FetchRequest.Successor(flow: request.flow, purpose: .examine(byGET: true)), now)
        case .notModified(let facts): self.notModified(index, facts.value, now)
        case .examined(let freshness): self.examined(index, freshness, now)
        }
    }

    mutating func report(_ head: ResponseHead, _ expected: Int64?) {
        self.emit(.respond(head, expected: expected))
    }
}
