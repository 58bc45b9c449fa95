internal import Synchronization
internal import TransferCore

/// Redirects, challenges, and what else a policy decides about.
extension UploadRun {
    func redirected(_ attempt: UploadAttempt, _ head: ResponseHead, to location: String) -> ReadDecision {
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

    func challenged(_ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
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
    func ask(
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
    func letGo(_ attempt: UploadAttempt) {
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
}
