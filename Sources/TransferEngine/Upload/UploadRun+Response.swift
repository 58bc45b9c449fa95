internal import Synchronization
internal import TransferCore

/// What the responses to an upload's requests lead to.
extension UploadRun {
    func connected(_ attempt: UploadAttempt) {
        self.state.withLock { _ in
            attempt.isConnected = true
            attempt.lastActivity = self.now
        }
    }

    func received(interim status: Int, fields: HTTPFields, on attempt: UploadAttempt) {
        let resource: UploadResource? = self.state.withLock { state in
            guard !attempt.isOver else { return nil }
            attempt.lastActivity = self.now
            return state.machine.received(interim: status, fields, from: attempt.url)
        }
        if let resource { self.remember(resource) {} }
    }

    func received(_ head: ResponseHead, on attempt: UploadAttempt) -> ReadDecision {
        let isLive = self.state.withLock { _ in
            guard !attempt.isOver else { return false }
            attempt.head = head
            attempt.lastActivity = self.now
            return true
        }
        guard isLive else { return .close }
        if let policy = self.policy { policy.received(head, to: self.requestFacts(attempt)) }
        switch head.status {
        case 301, 302, 303, 307, 308:
            if let location = head.fields["Location"], !location.isEmpty {
                return self.redirected(attempt, head, to: location)
            }
        case 401 where self.policy != nil: return self.challenged(attempt, head)
        case 417 where self.transfer.memory.withLock({ !$0.upload.refusesExpect }):
            self.transfer.memory.withLock { $0.upload.refusesExpect = true }
            return self.drain(attempt, head, then: self.isSpent ? .fail(Self.cannotRepeat) : .repeat)
        default: break
        }
        if let refusal = attempt.refusal { return self.compared(attempt, head, refusal) }
        return self.act(on: self.state.withLock { $0.machine.received(head, from: attempt.url) }, attempt, head)
    }

    private func act(on action: UploadAction, _ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        let acknowledged = self.state.withLock { $0.machine.acknowledged }
        if let acknowledged {
            let isNews = self.transfer.memory.withLock { memory in
                defer { memory.upload.acknowledged = max(acknowledged, memory.upload.acknowledged) }
                return acknowledged > memory.upload.acknowledged
            }
            self.state.withLock { state in
                state.kept = max(state.kept, acknowledged)
                if isNews { state.hasAdvanced = true }
            }
        }
        switch action {
        case .accept: return self.answered(attempt, head)
        case .judge:
            let failure = self.failure(of: head)
            let compares = head.status == 409 && self.mayCompare
            return self.drain(attempt, head, then: compares ? .compare(failure) : .fail(failure))
        case .fail(let fault): return self.drain(attempt, head, then: .fail(Self.failure(fault, head)))
        case .complete, .ask, .remember, .forget: return self.drain(attempt, head, then: .act(action))
        }
    }

    private static func failure(_ fault: UploadFault, _ head: ResponseHead) -> TransferFailure {
        let (code, isRetryable): (TransferFailure.Code, Bool) =
            switch fault.code {
            case .tooLarge: (.tooLarge, false)
            case .brokenProtocol: (.badResponse, false)
            case .notSpoken: (.cannotResume, false)
            case .busy: (.badResponse, true)
            }
        return TransferFailure(code, fault.message, isRetryable: isRetryable, status: head.status)
    }

    func failure(of head: ResponseHead) -> TransferFailure {
        var failure = ResponseJudge.failure(
            head,
            retrying: self.options.retryStatuses,
            wallNow: self.engine.time.wallNow
        )
        switch head.status {
        case 404: failure.remedy = "check the URL: what it names must be able to take content"
        case 405: failure.remedy = "this URL does not take a \(self.request.method); try another method"
        case 409: failure.remedy = "its folder may be missing, or the name taken"
        case 413: failure.code = .tooLarge
        case 507:
            failure.code = .noSpace
            failure.remedy = "the server has no space left"
        default: break
        }
        return failure
    }

    // MARK: Bodies

    /// The response says that everything is there.
    private func answered(_ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        if let stretch = self.state.withLock({ _ in attempt.stretch }), !stretch.isWhole {
            let failure = TransferFailure(
                .badResponse,
                "the server answered \(head.status) before it had the whole content",
                isRetryable: true,
                status: head.status
            )
            return self.drain(attempt, head, then: .fail(failure))
        }
        guard self.policy != nil, !self.transfer.memory.withLock({ $0.isResponseDecided }) else {
            return self.take(attempt, head)
        }
        return self.ask(.response(head, length: ResponseJudge.length(head)), attempt) { decision in
            self.transfer.memory.withLock { $0.isResponseDecided = true }
            if case .cancel = decision {
                self.end(.cancelled(keeping: false), except: attempt)
                return .close
            }
            return self.take(attempt, head)
        }
    }

    private func take(_ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        self.state.withLock { state in
            attempt.after = .take
            state.hasAdvanced = true
        }
        if self.engine.hub.wants(.responses) {
            let info = TransferEvent.ResponseInfo(
                status: head.status,
                fields: head.fields,
                expected: self.state.withLock { $0.length },
                path: self.request.name,
                resumedFrom: 0
            )
            self.engine.hub.emit(self.transfer.event(.response(info)))
        }
        return .read
    }

    /// Reads a short body that nobody wants, to keep its connection; closes on a long one.
    func drain(_ attempt: UploadAttempt, _ head: ResponseHead, then next: UploadAttempt.Next) -> ReadDecision {
        // What is still being sent would have to be sent to its end before the connection could carry another request.
        let isSending = self.state.withLock { _ in attempt.stretch.map { !$0.isWhole } ?? false }
        var wantsPrefix = false
        if case .fail = next { wantsPrefix = self.policy != nil }
        if !isSending || (wantsPrefix && head.framing != .none) {
            self.state.withLock { _ in attempt.after = next }
            return .read
        }
        self.perform(next, attempt)
        return .close
    }

    func received(_ body: UnsafeRawBufferPointer, on attempt: UploadAttempt) -> ReadDecision {
        let (isLive, takes, isTooLong): (Bool, Bool, Bool) = self.state.withLock { state in
            guard !attempt.isOver else { return (false, false, false) }
            attempt.lastActivity = self.now
            guard case .take = attempt.after else {
                attempt.drained += body.count
                attempt.prefix += body.prefix(FailedResponse.prefixLimit - attempt.prefix.count)
                return (true, false, attempt.drained > DownloadRun.drainable)
            }
            state.received += Int64(body.count)
            return (true, true, false)
        }
        guard isLive else { return .close }
        if isTooLong, let after = self.state.withLock({ _ in attempt.after }) {
            self.perform(after, attempt)
            return .close
        }
        guard takes, let receiver = self.request.receiver else { return .read }
        do throws(TransferFailure) {
            try receiver.take(body)
        } catch {
            self.end(.failed(error), except: attempt)
            return .close
        }
        return .read
    }

    func responseEnded(_ attempt: UploadAttempt) {
        guard let after = self.state.withLock({ _ in attempt.isOver ? nil : attempt.after }) else { return }
        self.perform(after, attempt)
    }

    func exchangeFailed(_ attempt: UploadAttempt, _ error: TransportError) {
        let (after, stretch) = self.state.withLock { _ in (attempt.isOver ? nil : attempt.after, attempt.stretch) }
        // What is to be done was clear already, unless the answer itself was cut off.
        if let after {
            if case .take = after {} else { return self.perform(after, attempt) }
        }
        if error.code == .content, let failure = self.contentFailure(stretch) {
            return self.attemptFailed(attempt, failure)
        }
        if error.onReusedConnection, self.mayRepeatAtOnce(attempt) {
            self.state.withLock { self.retire(&$0, attempt) }
            return self.launch(attempt.step, self.way(of: attempt, isSecond: true))
        }
        self.attemptFailed(attempt, TransferFailure(error))
    }

    /// Why the content could not be given.
    private func contentFailure(_ stretch: UploadStretch?) -> TransferFailure? {
        if let failure = stretch?.failure { return failure }
        do throws(TransferFailure) {
            try self.state.withLock { $0.parts }?.check()
            return nil
        } catch {
            return error
        }
    }

    /// Whether a pooled connection's end says nothing of the server (RFC 9112 §9.3.1), and asking twice is safe.
    private func mayRepeatAtOnce(_ attempt: UploadAttempt) -> Bool {
        guard !attempt.isSecond, attempt.step.isRepeatable || attempt.isRewritten else { return false }
        if case .stream = self.request.content { return false }
        return true
    }

    func way(of attempt: UploadAttempt, isSecond: Bool = false) -> Way {
        Way(
            url: attempt.url,
            hops: attempt.hops,
            isRewritten: attempt.isRewritten,
            refusals: attempt.refusals,
            isSecond: isSecond,
            refusal: attempt.refusal
        )
    }
}
