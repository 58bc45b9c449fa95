// SPDX-License-Identifier: Apache-2.0
/// Interruptions, failures, and the end of a run.
extension UploadMachine {
    /// The run is ended from outside.
    package mutating func interrupted(by reason: Interruption) -> [Action] {
        if self.isEnding { return [] }
        if case .stoppedAfterRequest = reason, self.mayBeProcessed { return [] }
        if self.mayBeProcessed, self.isWholeSent { self.history.mayBeProcessed = true }
        switch reason {
        case .stopped, .stoppedAfterRequest: return self.end(.stopped)
        case .cancelled(let keeping): return self.end(.cancelled(keeping: keeping))
        case .paused:
            guard self.history.record == nil, self.traffic.sent > 0 else { return self.end(.paused) }
            return [.note("the server cannot resume this upload: it restarts when resumed")] + self.end(.paused)
        }
    }

    /// Whether a request that must not be repeated was sent, and its protocol cannot determine whether it was processed
    /// (RFC 9110 §9.2.2).
    private var mayBeProcessed: Bool { self.unrepeatable == .sent && self.history.record == nil }

    /// Whether all the content of the request that was sent last, or before a redirect, has been sent.
    private var isWholeSent: Bool {
        guard case .requesting(let exchange) = self.phase, !exchange.request.flow.isRewritten else { return true }
        return self.isWhole(exchange) && exchange.head.map { (200..<300).contains($0.status) } ?? true
    }

    /// The note that a request must not be repeated is removed.
    package mutating func noteWithdrawn() -> [Action] {
        guard case .withdrawingNote(let outcome) = self.phase else { return [] }
        var actions: [Action] = []
        self.leave(outcome, &actions)
        return actions
    }

    /// Whether a run that ends this way must not leave a note: its request was not sent, or not completely and the user
    /// ended it.
    private func withdrawsNote(_ outcome: Outcome) -> Bool {
        guard self.plan.notesUnrepeatable else { return false }
        switch (self.unrepeatable, outcome) {
        case (.none, _), (_, .finished), (_, .failed), (_, .cancelled(keeping: false)): return false
        case (.prepared, _): return true
        case (.sent, .paused), (.sent, .cancelled):
            return !self.history.mayBeProcessed && self.history.record == nil && !self.plan.isStream
        case (.sent, .retry), (.sent, .stopped): return false
        }
    }

    /// The caller or the content ended the run.
    package mutating func failed(_ failure: TransferFailure) -> [Action] {
        self.isEnding ? [] : self.end(.failed(failure))
    }

    package mutating func contentChecked(_ state: ContentState, now: Int64) -> [Action] {
        switch self.phase {
        case .confirming(let status, let wasPresent):
            switch state {
            case .unchanged: return self.complete(status, wasPresent, now)
            case .changed(let failure), .unreadable(let failure):
                let actions = self.releaseConnection()
                self.phase = .failing(failure)
                return actions + self.contentChecked(state, now: now)
            }
        case .failing(let failure):
            var actions: [Action] = []
            if case .changed = state, let record = self.history.record ?? self.history.lost {
                actions = self.abandon(record)
            }
            self.leave(.failed(failure), &actions)
            return actions
        default: return []
        }
    }

    /// Finishes an upload; `wasPresent` if the server had the same content before.
    mutating func finish(status: Int?, wasPresent: Bool = false) -> [Action] {
        self.phase = .confirming(status: status, wasPresent: wasPresent)
        return [.checkContent]
    }

    private mutating func complete(_ status: Int?, _ wasPresent: Bool, _ now: Int64) -> [Action] {
        var actions: [Action] = []
        let isKept = self.history.record != nil || self.history.lost != nil || self.plan.record != nil
        if self.plan.hasJournal, isKept { actions.append(.removeJournal) }
        let completion = Completion(
            length: self.length ?? self.traffic.sent,
            received: self.earlierReceived + self.traffic.received,
            sent: self.history.sent + self.traffic.sent,
            duration: self.earlierTime + now - self.startedAt,
            status: status,
            link: self.link,
            wasPresent: wasPresent
        )
        return actions + self.end(.finished(completion))
    }

    /// Ends the run: cancels its request and releases its connection.
    mutating func end(_ outcome: Outcome) -> [Action] {
        var actions: [Action] = []
        actions.reserveCapacity(3)
        if case .requesting(let exchange) = self.phase { actions.append(.cancel(exchange.id)) }
        if let slot = self.slot.take() { actions.append(.releaseConnection(slot)) }
        if self.withdrawsNote(outcome) {
            self.unrepeatable = .none
            self.phase = .withdrawingNote(outcome)
            return actions + [.withdrawNote]
        }
        switch outcome {
        case .failed(let failure) where self.mayHaveChanged:
            self.phase = .failing(failure)
            actions.append(.checkContent)
            return actions
        case .cancelled(keeping: false): actions += self.terminate()
        default: break
        }
        self.leave(outcome, &actions)
        return actions
    }

    mutating func releaseConnection() -> [Action] {
        guard let slot = self.slot else { return [] }
        self.slot = nil
        return [.releaseConnection(slot)]
    }

    /// Whether the server may have a resource that mixes two versions of the content.
    private var mayHaveChanged: Bool {
        guard !self.plan.isStream, self.length != nil else { return false }
        return self.history.record != nil || self.history.lost != nil
    }

    private mutating func leave(_ outcome: Outcome, _ actions: inout [Action]) {
        self.phase = .ended
        switch outcome {
        case .finished, .failed, .cancelled: if self.plan.isStream { actions.append(.cancelStream) }
        case .retry, .paused, .stopped: break
        }
        actions.append(.end(outcome))
    }

    /// Deletes the resource of a cancelled upload.
    private mutating func terminate() -> [Action] {
        if let record = self.history.record ?? self.history.lost {
            return self.forget(record) + (self.plan.hasJournal ? [.removeJournal] : [])
        }
        guard !self.history.hasReadJournal, self.plan.hasJournal || self.plan.record != nil else { return [] }
        return [.giveUp]
    }

    /// Deletes the resource of an upload whose content changed; no later run resumes it.
    mutating func abandon(_ record: UploadRecord?) -> [Action] {
        var actions = record.map { self.forget($0) } ?? []
        guard self.plan.hasJournal else { return actions }
        // Without a void record, the next run would resume the caller's.
        actions.append(self.plan.record.map { .writeJournal($0.voided, number: nil) } ?? .removeJournal)
        return actions
    }

    private mutating func forget(_ record: UploadRecord) -> [Action] {
        self.history.record = nil
        self.history.lost = nil
        return [.terminate(record)]
    }

    // MARK: Failures of requests

    /// A request or its response was interrupted.
    ///
    /// - Parameters:
    ///   - id: The request.
    ///   - error: The transport's error.
    ///   - content: The failure of the content, if the error's code is `content` and it is known.
    /// - Returns: The actions.
    package mutating func requestFailed(_ id: Int, _ error: TransportError, content: TransferFailure?) -> [Action] {
        guard let exchange = self.exchange(id) else { return [] }
        if case .draining(let draining) = exchange.answer {
            return self.perform(draining.next, exchange, prefix: draining.prefix)
        }
        self.phase = .betweenRequests
        if error.code == .content, let content { return self.attemptFailed(exchange, content) }
        if error.onReusedConnection, self.mayRepeat(exchange.request) {
            var request = exchange.request
            request.isRepetition = true
            return self.launch(request)
        }
        return self.attemptFailed(exchange, TransferFailure(error))
    }

    /// Whether a request may be repeated because a pooled connection was closed before its response (RFC 9112 §9.3.1).
    private func mayRepeat(_ request: Boxed<Request>) -> Bool {
        !request.isRepetition && !self.plan.isStream && (request.step.isRepeatable || request.flow.isRewritten)
    }

    /// Handles the failure of a request that has ended.
    mutating func attemptFailed(_ exchange: Exchange, _ failure: TransferFailure) -> [Action] {
        if exchange.isConnected, exchange.head == nil, let step = self.machine.unanswered() {
            self.history.ignoresOptions = true
            return [.note("the server does not respond to OPTIONS: sending the upload without it")] + self.launch(step)
        }
        var failure = failure
        if failure.evidence?.cause == .errors { failure.evidence?.peer = exchange.request.flow.url.origin }
        // A request that may have been processed must not be repeated (RFC 9110 §9.2.2), unless its protocol can
        // determine that.
        if self.mayBeProcessed { failure.isRetryable = false }
        if self.isSpent, failure.isRetryable {
            failure.isRetryable = false
            failure.message += "; its source cannot be read again"
        }
        let actions = self.end(failure.isRetryable ? .retry(failure) : .failed(failure))
        if case .taking = exchange.answer { return [.discardAnswer] + actions }
        return actions
    }
}
