internal import Synchronization
internal import TransferCore

/// Redirects, challenges, and what else a policy decides about.
extension UploadRun {
    func redirected(_ attempt: UploadAttempt, _ head: ResponseHead, to location: String) -> ReadDecision {
        let next: HTTPURL
        do {
            next = try self.target(of: location, attempt)
        } catch {
            return self.drain(attempt, head, then: .fail(error))
        }
        let isRewritten = attempt.isRewritten || Self.isRewritten(attempt.step, by: head.status)
        // Content that comes once cannot go to another place, too.
        if !isRewritten, self.isSpent { return self.drain(attempt, head, then: .fail(Self.cannotRepeat)) }
        let method = isRewritten ? "GET" : attempt.step.method
        return self.redirected(attempt, head, to: next, by: method) {
            // What is asked for there by GET is no answer to content that never came.
            if isRewritten, let stretch = self.state.withLock({ _ in attempt.stretch }), !stretch.isWhole {
                let failure = TransferFailure(
                    .redirects,
                    "redirected (\(head.status)) to \(next.redacted) before the server had the content",
                    remedy: "it may want a login first; otherwise send to that URL",
                    status: head.status
                )
                return self.drain(attempt, head, then: .fail(failure))
            }
            return self.drain(attempt, head, then: .redirect(next, isRewritten: isRewritten))
        } leave: { failure in
            self.drain(attempt, head, then: .fail(failure))
        }
    }

    /// Whether a redirect asks for the answer elsewhere by a GET without content (RFC 9110 §15.4: 303, and a POST at 301
    /// and 302); a protocol's own requests keep their method.
    private static func isRewritten(_ step: UploadStep, by status: Int) -> Bool {
        guard step.describesContent else { return false }
        return status == 303 || (status != 307 && status != 308 && step.method == "POST")
    }

    func challenged(_ attempt: UploadAttempt, _ head: ResponseHead) -> ReadDecision {
        let failure = self.failure(of: head)
        if self.isSpent { return self.drain(attempt, head, then: .fail(failure)) }
        return self.challenged(attempt, head, otherwise: failure)
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
