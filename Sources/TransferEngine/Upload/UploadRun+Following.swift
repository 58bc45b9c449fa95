internal import Synchronization
internal import TransferCore

/// What follows once the response to a request is over.
extension UploadRun {
    func perform(_ after: UploadAttempt.Next, _ attempt: UploadAttempt) {
        let isLive = self.state.withLock { state in
            guard !attempt.isOver else { return false }
            if case .fail = after { return true }
            self.retire(&state, attempt)
            return true
        }
        guard isLive else { return }
        switch after {
        case .fail(var failure):
            failure.message += self.words(attempt)
            // What a question was answered says nothing of the upload.
            if self.policy != nil, attempt.refusal == nil {
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
        case .compare(var refusal):
            refusal.message += self.words(attempt)
            self.launch(Self.comparison, Way(refusal: refusal))
        case .match(let digest, let refusal): self.match(digest, otherwise: refusal)
        }
    }

    /// What the server says of its refusal, where that is a line of plain text, to be put behind our own.
    private func words(_ attempt: UploadAttempt) -> String {
        let (head, prefix) = self.state.withLock { _ in (attempt.head, attempt.prefix) }
        guard let head, head.status >= 400, head.fields["Content-Type"]?.lowercased().hasPrefix("text/plain") == true,
            let line = String(validating: prefix.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self),
            1...200 ~= line.count, !line.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return "" }
        return ": \(line)"
    }

    func act(_ action: UploadAction) {
        switch action {
        case .ask(let step): self.launch(step)
        case .remember(let resource, let step): self.remember(resource) { self.launch(step) }
        case .forget(let step):
            self.note("the server has the upload no more: it begins anew")
            // Kept until there is another one: a server says so also to somebody who may not see it now.
            self.transfer.memory.withLock { memory in
                memory.upload.lost = memory.upload.record
                memory.upload.record = nil
            }
            self.launch(step)
        case .complete: self.finish(nil)
        case .accept, .judge, .fail: preconditionFailure("\(action) is decided with the head")
        }
    }

    /// Keeps where the upload's resource is before anything is sent to it.
    func remember(_ resource: UploadResource, then go: @escaping @Sendable () -> Void) {
        let record = UploadRecord(
            speaks: resource.speaks,
            endpoint: self.request.url.withoutUserInfo,
            resource: resource.url.withoutUserInfo,
            length: self.state.withLock { $0.length } ?? 0,
            files: self.transfer.memory.withLock { $0.upload.files } ?? [],
            expires: resource.expires
        )
        self.transfer.memory.withLock { memory in
            memory.upload.record = record
            memory.upload.lost = nil
        }
        guard let journal = self.request.journal else { return go() }
        self.line.run {
            do throws(StorageError) {
                try journal.write(record)
            } catch {
                self.note("the upload cannot go on after a crash: \(error.message)")
            }
            go()
        }
    }

    /// Everything is there.
    func finish(_ head: ResponseHead?) {
        do throws(TransferFailure) {
            try self.state.withLock { $0.parts }?.check()
        } catch {
            return self.end(.failed(error), except: nil)
        }
        let isKept = self.transfer.memory.withLock { $0.upload.record != nil || $0.upload.lost != nil }
        if let journal = self.request.journal, isKept || self.request.record != nil {
            self.line.run { try? journal.remove() }
        }
        let (length, received, sent) = self.state.withLock { ($0.length ?? $0.sent, $0.received, $0.sent) }
        var completion = TransferEvent.Completion(
            path: self.request.name,
            bytes: length,
            received: self.earlier.received + received,
            duration: .nanoseconds(self.earlier.activeTime + self.now - self.startedAt)
        )
        completion.sent = self.earlier.sent + sent
        completion.status = head?.status
        self.end(.finished(completion), except: nil)
    }

    // MARK: Failures

    /// What is asked instead where a server says nothing at all to the question what it can.
    private func withoutQuestion(_ attempt: UploadAttempt) -> UploadStep? {
        let step: UploadStep? = self.state.withLock { state in
            guard !attempt.isOver, state.phase == .active, let step = state.machine.unanswered() else { return nil }
            self.retire(&state, attempt)
            return step
        }
        guard step != nil else { return nil }
        self.transfer.memory.withLock { $0.upload.ignoresQuestion = true }
        self.note("the server does not answer OPTIONS: the upload is made without asking what it can")
        return step
    }

    func attemptFailed(_ attempt: UploadAttempt, _ failure: TransferFailure) {
        var failure = failure
        if attempt.isConnected, attempt.head == nil, let step = self.withoutQuestion(attempt) {
            return self.launch(step)
        }
        // Half an answer is none.
        if case .take = self.state.withLock({ _ in attempt.isOver ? nil : attempt.after }) {
            self.request.receiver?.beginAnew()
        }
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
