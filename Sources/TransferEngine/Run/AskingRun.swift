internal import Synchronization
internal import TransferCore

/// A run that follows redirects and responds to challenges according to its caller's policy.
protocol AskingRun: TransferRun {
    associatedtype Asked: AskedAttempt

    var engine: TransferEngine { get }
    var options: DownloadOptions { get }
    var policy: (any TransferPolicy)? { get }

    /// Calls `body` under the lock that protects the run's and its attempts' variables.
    func whileLocked<Value: Sendable>(_ body: () -> Value) -> Value
    func requestFacts(_ attempt: Asked) -> RequestFacts
    /// Discards the rest of an unwanted response, if that keeps its connection open, then performs `next`.
    func drain(_ attempt: Asked, _ head: ResponseHead, then next: Asked.Next) -> ReadDecision
    /// Resumes reading after a pause.
    func letGo(_ attempt: Asked)
    func end(_ outcome: RunOutcome, except current: Asked?)
}

/// One request of an ``AskingRun``; its variables are written under the run's lock only.
protocol AskedAttempt: ExchangeReceiver {
    associatedtype Next: AfterResponse

    var url: HTTPURL { get }
    var lane: Int { get }
    var hops: Int { get }
    var refusals: Int { get }
    var isOver: Bool { get }
    var isHeld: Bool { get set }
    var exchange: (any Exchange)? { get set }
}

/// The step that follows the end of a response.
protocol AfterResponse {
    static func fail(_ failure: TransferFailure) -> Self
    /// Repeats the same request.
    static var `repeat`: Self { get }
}

extension AskingRun {
    /// Requests a decision from the policy; reading pauses until an asynchronous decision arrives.
    func ask(
        _ question: PolicyQuestion,
        _ attempt: Asked,
        then act: @escaping @Sendable (PolicyDecision) -> ReadDecision
    ) -> ReadDecision {
        guard let policy = self.policy else { return act(.proceed) }
        self.whileLocked { attempt.isHeld = true }
        let isFirst = Countdown(1)
        let now = policy.decide(question, about: self.requestFacts(attempt)) { decision in
            guard isFirst.isLast() else { return }
            self.engine.transport.execute(onLane: attempt.lane) {
                guard self.whileLocked({ !attempt.isOver }) else { return }
                switch act(decision) {
                case .read: self.letGo(attempt)
                case .pause: break
                case .close:
                    let exchange = self.whileLocked {
                        defer { attempt.exchange = nil }
                        return attempt.exchange
                    }
                    exchange?.cancel()
                }
            }
        }
        guard let now else { return .pause }
        self.whileLocked { attempt.isHeld = false }
        return act(now)
    }

    /// Handles a response that demands credentials.
    func challenged(_ attempt: Asked, _ head: ResponseHead, otherwise failure: TransferFailure) -> ReadDecision {
        guard attempt.refusals < 8 else { return self.drain(attempt, head, then: .fail(failure)) }
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

    /// Resolves the target of a redirect.
    ///
    /// - Throws: If the redirect must not be followed, whatever the policy decides.
    func target(of location: String, _ attempt: Asked) throws(TransferFailure) -> HTTPURL {
        let next: HTTPURL
        do {
            next = try attempt.url.resolving(location)
        } catch {
            throw TransferFailure(.redirects, "unsupported redirect target: \(error.message)")
        }
        if attempt.url.scheme == .https, next.scheme == .http, !self.options.allowsDowngrade {
            throw TransferFailure(.redirects, "redirected from https to \(next.redacted), which is not encrypted")
        }
        guard attempt.hops < self.options.maximumRedirects else {
            throw TransferFailure(.redirects, "more than \(self.options.maximumRedirects) redirects")
        }
        return next
    }

    /// Requests the policy's decision about a redirect: follow it, ignore it, or cancel the transfer.
    func redirected(
        _ attempt: Asked,
        _ head: ResponseHead,
        to next: HTTPURL,
        by method: String,
        follow: @escaping @Sendable () -> ReadDecision,
        leave: @escaping @Sendable (TransferFailure) -> ReadDecision
    ) -> ReadDecision {
        self.ask(.redirect(head, to: next, method: method), attempt) { decision in
            switch decision {
            case .proceed, .repeat, .divert:
                self.note("\(head.status): redirected to \(next.redacted)")
                return follow()
            case .refuse:
                let reason = "the redirect (\(head.status)) to \(next.redacted) was not followed"
                return leave(TransferFailure(.redirects, reason, status: head.status))
            case .cancel:
                self.end(.cancelled(keeping: false), except: attempt)
                return .close
            }
        }
    }

    /// Emits a note if the hub has a subscriber for notes.
    func note(_ text: String) {
        if self.engine.hub.wants(.notes) { self.engine.hub.emit(self.transfer.event(.note(text))) }
    }
}
