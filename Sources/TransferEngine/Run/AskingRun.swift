internal import Synchronization
internal import TransferCore

/// A run that follows redirects and answers challenges as its caller's policy says.
protocol AskingRun: TransferRun {
    associatedtype Asked: AskedAttempt

    var engine: TransferEngine { get }
    var options: DownloadOptions { get }
    var policy: (any TransferPolicy)? { get }

    /// Calls `body` under the lock of the run's and its attempts' variables.
    func whileLocked<Value: Sendable>(_ body: () -> Value) -> Value
    func requestFacts(_ attempt: Asked) -> RequestFacts
    /// Reads the rest of a response that nobody wants where that keeps its connection, then goes on.
    func drain(_ attempt: Asked, _ head: ResponseHead, then next: Asked.Next) -> ReadDecision
    /// Reading goes on after it was held.
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

/// What is done once a response is over.
protocol AfterResponse {
    static func fail(_ failure: TransferFailure) -> Self
    /// Ask the same again.
    static var `repeat`: Self { get }
}

extension AskingRun {
    /// Asks the policy; where it takes its time, reading waits for the decision.
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

    /// The server wants credentials.
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

    /// Where a redirect leads.
    ///
    /// - Throws: Where it is not to be followed, whatever the policy says.
    func target(of location: String, _ attempt: Asked) throws(TransferFailure) -> HTTPURL {
        let next: HTTPURL
        do {
            next = try attempt.url.resolving(location)
        } catch {
            throw TransferFailure(.redirects, "redirected to where Martlet does not go: \(error.message)")
        }
        if attempt.url.scheme == .https, next.scheme == .http, !self.options.allowsDowngrade {
            throw TransferFailure(.redirects, "redirected from https to \(next.redacted), which is not encrypted")
        }
        guard attempt.hops < self.options.maximumRedirects else {
            throw TransferFailure(.redirects, "more than \(self.options.maximumRedirects) redirects")
        }
        return next
    }

    /// Asks the policy about a redirect, which is then followed, left alone, or the end of the transfer.
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

    /// Tells something worth knowing.
    func note(_ text: String) {
        if self.engine.hub.wants(.notes) { self.engine.hub.emit(self.transfer.event(.note(text))) }
    }
}
