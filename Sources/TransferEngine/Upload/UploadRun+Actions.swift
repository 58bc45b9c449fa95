// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Performing the machine's actions, on the event loop, without the lock.
extension UploadRun {
    func perform(_ action: UploadMachine.Action) {
        switch action {
        case .openContent: self.openContent()
        case .readJournal: self.readJournal()
        case .writeJournal(let record, let number): self.writeJournal(record, number)
        case .removeJournal:
            if let journal = self.upload.request.journal { self.line.run { try? journal.remove() } }
        case .waitForConnection(let origin): self.waitForConnection(origin)
        case .releaseConnection(let origin): self.host.releaseConnection(origin, of: self.transfer.id)
        case .noteUnrepeatable: self.noteUnrepeatable()
        case .withdrawNote:
            let withdraw = self.upload.request.withdrawNote
            self.line.run {
                withdraw?()
                self.applyOnLane { $0.noteWithdrawn() }
            }
        case .computeDigest(let algorithm, let range): self.computeDigest(algorithm, range)
        case .send(let request): self.send(request)
        case .cancel(let id): self.cancel(id)
        case .resumeReading(let id): self.resumeReading(id)
        case .ask(let question, let id): self.ask(question, id)
        case .checkContent: self.checkContent()
        case .discardAnswer: self.upload.request.receiver?.beginAnew()
        case .terminate(let record): self.host.terminate(record, of: self.transfer)
        case .giveUp: self.host.giveUp(self.upload.request)
        case .cancelStream:
            if case .stream(let stream) = self.upload.request.content { stream.cancel() }
        case .reportStart: self.emit(.states) { .started(path: self.upload.request.name) }
        case .reportResponse(let head): self.report(head)
        case .reportProgress(let progress): self.emit(.progress) { .progress(TransferEvent.Progress(progress)) }
        case .note(let text): self.emit(.notes) { .note(text) }
        case .end(let outcome): self.end(outcome)
        }
    }

    private func emit(_ interest: TransferEvent.Interest, _ kind: () -> TransferEvent.Kind) {
        if self.host.events.wants(interest) { self.host.events.emit(self.transfer.event(kind())) }
    }

    private func report(_ head: ResponseHead) {
        self.emit(.responses) {
            .response(
                TransferEvent.ResponseInfo(
                    status: head.status,
                    fields: head.fields,
                    expected: self.state.withLock { $0.machine.length },
                    path: self.upload.request.name,
                    resumedFrom: 0
                )
            )
        }
    }

    // MARK: Content

    private func openContent() {
        switch self.upload.request.content {
        case .stream(let stream): self.apply { $0.opened(length: stream.length, files: []) }
        case .parts(let content):
            do throws(StorageError) {
                let parts = try SourceParts(content, in: self.host.store)
                self.state.withLock { $0.parts = parts }
                self.apply { $0.opened(length: parts.length, files: parts.files) }
            } catch {
                self.apply { $0.openFailed(error) }
            }
        }
    }

    private func checkContent() {
        let (parts, now) = (self.state.withLock { $0.parts }, self.now)
        let content = parts?.state ?? .unchanged
        self.apply { $0.contentChecked(content, now: now) }
    }

    private func computeDigest(_ algorithm: DigestAlgorithm, _ range: Range<Int64>) {
        guard let parts = self.state.withLock({ $0.parts }) else {
            return self.apply { $0.digestComputed(.success(nil)) }
        }
        let store = self.host.store
        self.line.run {
            let result = Result { () throws(TransferFailure) in
                try parts.digest(algorithm, of: range, in: store)
            }
            self.applyOnLane { $0.digestComputed(result) }
        }
    }

    // MARK: Journal

    private func readJournal() {
        let journal = self.upload.request.journal
        self.line.run {
            let result = Result { () throws(StorageError) in try journal?.read() }
            self.applyOnLane { $0.journalRead(result) }
        }
    }

    private func writeJournal(_ record: UploadRecord, _ number: Int?) {
        guard let journal = self.upload.request.journal else { return }
        self.line.run {
            let error = Self.error { () throws(StorageError) in try journal.write(record) }
            if let number { self.applyOnLane { $0.journalWritten(number, error: error) } }
        }
    }

    private func noteUnrepeatable() {
        let note = self.upload.request.noteUnrepeatable
        self.line.run {
            let error = Self.error { () throws(StorageError) in try note?() }
            self.applyOnLane { $0.unrepeatableNoted(error) }
        }
    }

    private static func error(_ body: () throws(StorageError) -> Void) -> StorageError? {
        do throws(StorageError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Requests

    private func waitForConnection(_ origin: Origin) {
        self.host.whenConnectionIsFree(origin, for: self.transfer.id) {
            // A run that has ended must not use its event loop.
            if self.isEnding {
                self.host.releaseConnection(origin, of: self.transfer.id)
                return self.host.connectionsReleased(lane: nil)
            }
            self.applyOnLane { $0.connectionGranted(origin) }
        }
    }

    private func send(_ outgoing: UploadMachine.OutgoingRequest) {
        var fields = self.upload.request.fields(
            of: outgoing.step,
            outgoing.flow,
            describes: outgoing.describesContent,
            self.facts(of: outgoing)
        )
        if let checksum = outgoing.checksum { fields.append("Upload-Checksum", checksum) }
        var request = ExchangeRequest(
            method: outgoing.method,
            url: outgoing.flow.url,
            fields: fields,
            connectTimeout: self.upload.request.options.connectTimeout.inNanoseconds
        )
        request.addresses = self.upload.request.options.addresses
        let content = self.content(of: outgoing)
        request.content = content
        if content == nil, outgoing.content != nil { request.body = [] }
        if outgoing.expectsContinue { request.continueTimeout = self.upload.request.askTimeout.inNanoseconds }
        let receiver = UploadReceiver(
            self,
            outgoing,
            content,
            hasCredentials: fields.contains("Authorization")
        )
        let exchange = self.host.transport.start(request, onLane: self.lane, receiver: receiver)
        self.state.withLock { $0.exchange = Current(request: outgoing, exchange: exchange) }
    }

    private func content(of outgoing: UploadMachine.OutgoingRequest) -> UploadStretch? {
        guard let range = outgoing.content else { return nil }
        // A stream that is declared to be empty must prove it.
        if case .stream(let stream) = self.upload.request.content { return UploadStretch(self, outgoing.id, stream) }
        if range.isEmpty { return nil }
        return self.state.withLock { $0.parts }.map { UploadStretch(self, outgoing.id, $0, range) }
    }

    private func cancel(_ id: Int) {
        let exchange: (any Exchange)? = self.state.withLock { state in
            guard let current = state.exchange, current.request.id == id else { return nil }
            state.exchange = nil
            return state.handling == id ? nil : current.exchange
        }
        exchange?.cancel()
    }

    private func resumeReading(_ id: Int) {
        let exchange: (any Exchange)? = self.state.withLock { state in
            guard let current = state.exchange, current.request.id == id else { return nil }
            return state.handling == id ? nil : current.exchange
        }
        exchange?.resumeReading()
    }

    func facts(of outgoing: UploadMachine.OutgoingRequest) -> RequestFacts {
        RequestFacts(
            id: self.transfer.id,
            userInfo: self.transfer.userInfo,
            method: outgoing.method,
            flow: outgoing.flow,
            source: self.upload.request.url
        )
    }

    private func ask(_ question: PolicyQuestion, _ id: Int) {
        guard let current = self.state.withLock({ $0.exchange }), current.request.id == id else { return }
        let upload = self.upload.request
        let decision = upload.options.decide(
            question,
            about: self.facts(of: current.request),
            policy: upload.policy,
            own: upload.isOwnOrigin(current.request.flow) ? upload.fields : nil
        ) { decision in
            self.host.transport.execute(onLane: self.lane) { self.decided(decision, id) }
        }
        if let decision { self.decided(decision, id) }
    }

    private func decided(_ decision: PolicyDecision, _ id: Int) {
        let now = self.now
        self.apply { $0.policyDecided(decision, on: id, now: now) }
    }

    // MARK: Ending

    private func end(_ outcome: UploadMachine.Outcome) {
        let history = self.state.withLock { $0.machine.history }
        self.transfer.memory.withLock { $0.upload = history }
        let outcome = RunOutcome(outcome, name: self.upload.request.name)
        // The next run reads the journal, so pending writes are finished first.
        guard self.line.isBusy else { return self.host.runEnded(self, outcome) }
        self.line.run { self.host.runEnded(self, outcome) }
    }
}

extension RunOutcome {
    fileprivate init(_ outcome: UploadMachine.Outcome, name: String) {
        switch outcome {
        case .failed(let failure): self = .failed(failure)
        case .retry(let failure): self = .retry(failure)
        case .paused: self = .paused
        case .stopped: self = .stopped
        case .cancelled(let keeping): self = .cancelled(keeping: keeping)
        case .finished(let figures):
            var completion = TransferEvent.Completion(
                path: name,
                bytes: figures.length,
                received: figures.received,
                duration: .nanoseconds(figures.duration)
            )
            completion.sent = figures.sent
            completion.status = figures.status
            completion.link = figures.link
            completion.skipped = figures.wasPresent
            completion.unchanged = figures.wasPresent
            self = .finished(completion)
        }
    }
}

extension TransferEvent.Progress {
    fileprivate init(_ progress: UploadMachine.Progress) {
        self.init(
            bytes: progress.bytes,
            total: progress.total,
            rate: progress.rate,
            secondsLeft: progress.total.flatMap { total in
                progress.rate > 0 ? Double(total - progress.bytes) / progress.rate : nil
            },
            connections: 1
        )
        self.sent = progress.sent
        self.acknowledged = progress.acknowledged
    }
}
