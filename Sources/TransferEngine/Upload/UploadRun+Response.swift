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
            return self.drain(attempt, head, then: .repeat)
        default: break
        }
        return self.act(on: self.state.withLock { $0.machine.received(head, from: attempt.url) }, attempt, head)
    }

    private func act(on action: UploadAction, _ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        let acknowledged = self.state.withLock { $0.machine.acknowledged }
        if let acknowledged {
            let isNews = self.transfer.memory.withLock { memory in
                defer { memory.budget.kept(acknowledged) }
                return acknowledged > memory.budget.highWater
            }
            if isNews { self.state.withLock { $0.hasAdvanced = true } }
        }
        switch action {
        case .accept: return self.answered(attempt, head)
        case .judge: return self.drain(attempt, head, then: .fail(self.failure(of: head)))
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

    private func failure(of head: ResponseHead) -> TransferFailure {
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

    // MARK: Redirects

    private func redirected(_ attempt: UploadAttempt, _ head: ResponseHead, to location: String) -> ReadDecision {
        let next: HTTPURL
        do {
            next = try attempt.url.resolving(location)
        } catch {
            let reason = "redirected to where Martlet does not go: \(error.message)"
            return self.drain(attempt, head, then: .fail(TransferFailure(.redirects, reason)))
        }
        if attempt.url.scheme == .https, next.scheme == .http, !self.options.allowsDowngrade {
            let reason = "redirected from https to \(next.redacted), which is not encrypted"
            return self.drain(attempt, head, then: .fail(TransferFailure(.redirects, reason)))
        }
        guard attempt.hops < self.options.maximumRedirects else {
            let reason = "more than \(self.options.maximumRedirects) redirects"
            return self.drain(attempt, head, then: .fail(TransferFailure(.redirects, reason)))
        }
        let isRewritten = attempt.isRewritten || Self.isRewritten(attempt.step, by: head.status)
        // Content that comes once cannot go to another place, too.
        if !isRewritten, case .stream = self.request.content,
            self.transfer.memory.withLock({ $0.upload.isStreamTaken })
        {
            return self.drain(attempt, head, then: .fail(Self.cannotRepeat))
        }
        let method = isRewritten ? "GET" : attempt.step.method
        return self.ask(.redirect(head, to: next, method: method), attempt) { decision in
            switch decision {
            case .proceed, .repeat, .divert:
                self.note("\(head.status): redirected to \(next.redacted)")
                return self.drain(attempt, head, then: .redirect(next, isRewritten: isRewritten))
            case .refuse:
                let reason = "the redirect (\(head.status)) to \(next.redacted) was not followed"
                return self.drain(attempt, head, then: .fail(TransferFailure(.redirects, reason, status: head.status)))
            case .cancel:
                self.end(.cancelled(keeping: false), except: attempt)
                return .close
            }
        }
    }

    /// Whether a redirect asks for the answer elsewhere by a GET without content (RFC 9110 §15.4: 303, and a POST at 301
    /// and 302); a protocol's own requests keep their method.
    private static func isRewritten(_ step: UploadStep, by status: Int) -> Bool {
        guard step.describesContent else { return false }
        return status == 303 || (status != 307 && status != 308 && step.method == "POST")
    }

    // MARK: The policy

    private func challenged(_ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        let failure = self.failure(of: head)
        var mayRepeat = attempt.refusals < Self.refusalLimit
        if case .stream = self.request.content {
            mayRepeat = !self.transfer.memory.withLock { $0.upload.isStreamTaken }
        }
        guard mayRepeat else { return self.drain(attempt, head, then: .fail(failure)) }
        return self.ask(.challenge(head), attempt) { decision in
            switch decision {
            case .repeat: return self.drain(attempt, head, then: .repeat)
            case .cancel:
                self.end(.cancelled(keeping: false), except: attempt)
                return .close
            case .proceed, .refuse, .divert: return self.drain(attempt, head, then: .fail(failure))
            }
        }
    }

    private static let refusalLimit = 8

    /// Asks the policy; where it takes its time, reading waits for the decision.
    private func ask(
        _ question: PolicyQuestion,
        _ attempt: UploadAttempt,
        then act: @escaping @Sendable (PolicyDecision) -> ReadDecision
    ) -> ReadDecision {
        guard let policy = self.policy else { return act(.proceed) }
        self.state.withLock { _ in attempt.isHeld = true }
        let isFirst = Countdown(1)
        let now = policy.decide(question, about: self.requestFacts(attempt)) { decision in
            guard isFirst.isLast() else { return }
            self.engine.transport.execute(onLane: attempt.lane) {
                guard self.state.withLock({ _ in !attempt.isOver }) else { return }
                switch act(decision) {
                case .read: self.letGo(attempt)
                case .pause: break
                case .close:
                    let exchange = self.state.withLock { _ in
                        defer { attempt.exchange = nil }
                        return attempt.exchange
                    }
                    exchange?.cancel()
                }
            }
        }
        guard let now else { return .pause }
        self.state.withLock { _ in attempt.isHeld = false }
        return act(now)
    }

    /// Reading goes on after it was held.
    private func letGo(_ attempt: UploadAttempt) {
        self.engine.transport.execute(onLane: attempt.lane) {
            let exchange = self.state.withLock { _ -> (any Exchange)? in
                guard !attempt.isOver else { return nil }
                attempt.isHeld = false
                attempt.lastActivity = self.now
                return attempt.exchange
            }
            exchange?.resumeReading()
        }
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
        let isFirst =
            self.policy != nil
            && self.transfer.memory.withLock { memory in
                defer { memory.isResponseDecided = true }
                return !memory.isResponseDecided
            }
        guard isFirst else { return self.take(attempt, head) }
        return self.ask(.response(head, length: ResponseJudge.length(head)), attempt) { decision in
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
    private func drain(_ attempt: UploadAttempt, _ head: ResponseHead, then next: UploadAttempt.After) -> ReadDecision {
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
            if try receiver.receive(body, resume: { self.letGo(attempt) }) { return .read }
        } catch {
            self.end(.failed(error), except: attempt)
            return .close
        }
        self.state.withLock { _ in attempt.isHeld = true }
        return .pause
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
        if error.code == .content, let failure = stretch?.failure { return self.attemptFailed(attempt, failure) }
        if error.onReusedConnection, self.mayRepeatAtOnce(attempt) {
            self.state.withLock { self.retire(&$0, attempt) }
            return self.launch(attempt.step, self.way(of: attempt, isSecond: true))
        }
        self.attemptFailed(attempt, TransferFailure(error))
    }

    /// Whether a pooled connection's end says nothing of the server (RFC 9112 §9.3.1), and asking twice is safe.
    private func mayRepeatAtOnce(_ attempt: UploadAttempt) -> Bool {
        guard !attempt.isSecond, attempt.step.isRepeatable || attempt.isRewritten else { return false }
        if case .stream = self.request.content { return false }
        return true
    }

    private func way(of attempt: UploadAttempt, isSecond: Bool = false) -> Way {
        Way(
            url: attempt.url,
            hops: attempt.hops,
            isRewritten: attempt.isRewritten,
            refusals: attempt.refusals,
            isSecond: isSecond
        )
    }

    // MARK: What follows a response

    private func perform(_ after: UploadAttempt.After, _ attempt: UploadAttempt) {
        let isLive = self.state.withLock { state in
            guard !attempt.isOver else { return false }
            if case .fail = after { return true }
            self.retire(&state, attempt)
            return true
        }
        guard isLive else { return }
        switch after {
        case .fail(var failure):
            if self.policy != nil {
                failure.response = self.state.withLock { _ in
                    attempt.head.map { FailedResponse(url: attempt.url, head: $0, prefix: attempt.prefix) }
                }
            }
            self.attemptFailed(attempt, failure)
        case .redirect(let url, let isRewritten):
            var way = self.way(of: attempt)
            way.url = url
            way.hops += 1
            way.isRewritten = isRewritten
            self.launch(attempt.step, way)
        case .repeat:
            var way = self.way(of: attempt)
            if attempt.head?.status == 401 { way.refusals += 1 }
            self.launch(attempt.step, way)
        case .act(let action): self.act(action)
        case .take: self.finish(attempt.head)
        }
    }

    private func act(_ action: UploadAction) {
        switch action {
        case .ask(let step): self.launch(step)
        case .remember(let resource, let step): self.remember(resource) { self.launch(step) }
        case .forget(let step):
            self.note("the server has the upload no more: it begins anew")
            self.transfer.memory.withLock { $0.upload.record = nil }
            if let journal = self.request.journal { self.operate { try? journal.remove() } }
            self.launch(step)
        case .complete: self.finish(nil)
        case .accept, .judge, .fail: preconditionFailure("\(action) is decided with the head")
        }
    }

    /// Keeps where the upload's resource is before anything is sent to it.
    private func remember(_ resource: UploadResource, then go: @escaping @Sendable () -> Void) {
        let record = UploadRecord(
            speaks: resource.speaks,
            endpoint: self.request.url.withoutUserInfo,
            resource: resource.url.withoutUserInfo,
            length: self.state.withLock { $0.length } ?? 0,
            files: self.transfer.memory.withLock { $0.upload.files } ?? [],
            expires: resource.expires
        )
        self.transfer.memory.withLock { $0.upload.record = record }
        guard let journal = self.request.journal else { return go() }
        self.operate {
            do throws(StorageError) {
                try journal.write(record)
            } catch {
                self.note("the upload cannot go on after a crash: \(error.message)")
            }
            go()
        }
    }

    /// Everything is there.
    private func finish(_ head: ResponseHead?) {
        do throws(TransferFailure) {
            try self.state.withLock { $0.parts }?.check()
        } catch {
            return self.end(.failed(error), except: nil)
        }
        if let journal = self.request.journal, self.transfer.memory.withLock({ $0.upload.record != nil }) {
            self.operate { try? journal.remove() }
        }
        let (length, received, sent) = self.state.withLock { ($0.length ?? $0.sent, $0.received, $0.sent) }
        let (before, time, sentBefore) = self.transfer.memory.withLock { memory in
            (memory.received, memory.activeTime, memory.upload.sent)
        }
        var completion = TransferEvent.Completion(
            path: self.request.name,
            bytes: length,
            received: before + received,
            duration: .nanoseconds(time + self.now - self.startedAt)
        )
        completion.sent = sentBefore + sent
        completion.status = head?.status
        self.end(.finished(completion), except: nil)
    }

    // MARK: Failures

    func attemptFailed(_ attempt: UploadAttempt, _ failure: TransferFailure) {
        var failure = failure
        let (hasRecord, isTaken) = self.transfer.memory.withLock { memory in
            (memory.upload.record != nil, memory.upload.isStreamTaken)
        }
        // What may have been carried out must not be asked for twice (RFC 9110 §9.2.2), unless its protocol can tell.
        if attempt.isConnected, !attempt.step.isRepeatable, !attempt.isRewritten, !hasRecord {
            failure.isRetryable = false
        }
        if isTaken, failure.isRetryable {
            failure.isRetryable = false
            failure.message += "; what the source gave cannot be given again"
        }
        let isLive = self.state.withLock { state in
            guard !attempt.isOver, state.phase != .ending else { return false }
            self.retire(&state, attempt)
            return true
        }
        guard isLive else { return }
        self.end(failure.isRetryable ? .retry(failure) : .failed(failure), except: nil)
    }
}
