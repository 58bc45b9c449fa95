// SPDX-License-Identifier: Apache-2.0
/// Sending requests.
extension UploadMachine {
    mutating func launch(_ step: UploadStep) -> [Action] {
        let url =
            switch step.place {
            case .endpoint: self.plan.url
            case .collection: self.plan.collection ?? self.plan.url
            case .resource(let url): url
            }
        var step = step
        if self.plan.requests.mayBeRepeated { step.isRepeatable = true }
        return self.launch(Boxed(Request(step: step, flow: RequestFlow(url))))
    }

    /// Sends a request as soon as there is a connection to its host.
    mutating func launch(_ request: Boxed<Request>) -> [Action] {
        if request.flow.url.scheme == .http, self.plan.url.scheme == .https,
            !self.plan.requests.redirects.allowsDowngrade
        {
            let failure = TransferFailure(
                .redirects,
                "the upload's resource \(request.flow.url.redacted) is not encrypted"
            )
            return self.end(.failed(failure))
        }
        let origin = request.flow.url.origin
        if self.slot == origin { return self.prepare(request) }
        self.phase = .waitingForConnection(request)
        return self.releaseConnection() + [.waitForConnection(origin)]
    }

    /// A connection to a host was granted to this run.
    package mutating func connectionGranted(_ origin: Origin) -> [Action] {
        guard case .waitingForConnection(let request) = self.phase, request.flow.url.origin == origin else {
            return [.releaseConnection(origin)]
        }
        self.slot = origin
        return self.prepare(request)
    }

    private mutating func prepare(_ request: Boxed<Request>) -> [Action] {
        guard !request.step.isRepeatable, !request.flow.isRewritten else { return self.computeChecksum(request) }
        // It is sent again only after a response that refused it.
        self.unrepeatable = .prepared
        guard self.plan.notesUnrepeatable else { return self.computeChecksum(request) }
        self.phase = .notingUnrepeatable(request)
        return [.noteUnrepeatable]
    }

    /// The note that a request must not be repeated was stored.
    package mutating func unrepeatableNoted(_ error: StorageError?) -> [Action] {
        guard case .notingUnrepeatable(let request) = self.phase else { return [] }
        if let error { return self.end(.failed(TransferFailure(error))) }
        return self.computeChecksum(request)
    }

    private mutating func computeChecksum(_ request: Boxed<Request>) -> [Action] {
        guard let algorithm = request.step.checksum, let range = request.step.content, !self.plan.isStream else {
            return self.send(request, checksum: nil)
        }
        self.phase = .computingChecksum(request)
        return [.computeDigest(algorithm, range)]
    }

    /// A digest was computed, or the content could not be read.
    package mutating func digestComputed(_ result: Result<[UInt8]?, TransferFailure>) -> [Action] {
        switch (self.phase, result) {
        case (.computingChecksum(let request), .success(let digest)):
            let name = request.step.checksum?.rawValue ?? ""
            return self.send(request, checksum: digest.map { "\(name) \(Base64.encode($0))" })
        case (.comparing(let expected, let refusal), .success(let digest)):
            guard digest == expected.bytes else { return self.end(.failed(refusal)) }
            return [.note("the server already has the same content")] + self.finish(status: nil, wasPresent: true)
        case (.computingChecksum, .failure(let failure)), (.comparing, .failure(let failure)):
            return self.end(.failed(failure))
        default: return []
        }
    }

    private mutating func send(_ request: Boxed<Request>, checksum: String?) -> [Action] {
        self.requestID += 1
        let content = request.flow.isRewritten ? nil : request.step.content
        let hasContent = content.map { !$0.isEmpty } ?? false
        if let content {
            self.traffic.base = content.lowerBound
            self.traffic.current = 0
            self.traffic.length = self.plan.isStream ? self.length : content.upperBound - content.lowerBound
        }
        self.traffic.isHeld = false
        self.phase = .requesting(Exchange(id: self.requestID, request: request, hasContent: hasContent))
        let outgoing = OutgoingRequest(
            self.requestID,
            request.value,
            checksum: checksum,
            expectsContinue: hasContent && self.expectsContinue
        )
        return [.send(outgoing)]
    }

    private var expectsContinue: Bool {
        guard let least = self.plan.expectsFrom, !self.history.refusesExpect else { return false }
        return self.traffic.length.map { $0 >= least } ?? true
    }

    // MARK: Content

    /// The kernel has accepted bytes of a request's content.
    package mutating func contentSent(_ count: Int, of id: Int, now: Int64) {
        self.traffic.sent += Int64(count)
        guard id == self.requestID else { return }
        self.traffic.current += Int64(count)
        self.traffic.lastActivity = now
    }

    /// A request's content waits for its source or a rate limit, or no longer does.
    package mutating func contentHeld(_ isHeld: Bool, of id: Int, now: Int64) {
        // A stream is read from as soon as the content waits for it.
        if isHeld, self.plan.isStream { self.history.isStreamTaken = true }
        guard id == self.requestID else { return }
        self.traffic.isHeld = isHeld
        self.traffic.lastActivity = now
        self.speed.restart()
    }

    /// The content of a request ended after this many bytes, which only its end determined.
    package mutating func contentEnded(at count: Int64, of id: Int) {
        if id == self.requestID { self.traffic.length = count }
    }

    /// Whether the kernel has accepted all the content of a request.
    func isWhole(_ exchange: Exchange) -> Bool {
        !exchange.hasContent || self.traffic.current == self.traffic.length
    }

    // MARK: Journal

    /// Records the location of the upload's resource.
    ///
    /// - Returns: The number of the write, or `nil` without a journal.
    mutating func remember(_ resource: UploadResource) -> (number: Int, action: Action)? {
        let record = UploadRecord(
            speaks: resource.speaks,
            endpoint: self.endpoint,
            resource: resource.url.withoutUserInfo,
            length: self.length ?? 0,
            files: self.history.files ?? [],
            expires: resource.expires
        )
        self.history.record = record
        self.history.lost = nil
        guard self.plan.hasJournal else { return nil }
        self.writes += 1
        return (self.writes, .writeJournal(record, number: self.writes))
    }

    package mutating func journalWritten(_ number: Int, error: StorageError?) -> [Action] {
        if case .ended = self.phase { return [] }
        let notes: [Action] =
            error.map { [.note("the upload cannot be resumed after a crash: \($0.message)")] } ?? []
        guard case .writingJournal(number, let next) = self.phase else { return notes }
        return notes + self.launch(next)
    }

    // MARK: Time

    /// Time has passed.
    ///
    /// - Parameters:
    ///   - now: The time, in nanoseconds.
    ///   - floor: The lowest rate, or `nil`.
    ///   - reports: Whether the progress has an observer.
    ///   - content: The content's state.
    /// - Returns: The actions.
    package mutating func ticked(
        _ now: Int64,
        floor: SpeedFloor? = nil,
        reports: Bool,
        content: ContentState
    ) -> [Action] {
        if self.isEnding { return [] }
        if let failure = self.plan.requests.overdue(after: self.earlierTime + now - self.startedAt) {
            return self.end(.failed(failure))
        }
        guard case .requesting(let exchange) = self.phase else { return self.ticked(content) }
        let progress = self.progress(now, reports)
        // The kernel cannot send the rest of a file that was truncated.
        let ending = self.ticked(content)
        if !ending.isEmpty { return progress + ending }
        if let floor, self.isBelow(floor, exchange, now) { return progress + self.end(.failed(floor.failure)) }
        return progress + self.endStalled(exchange, now)
    }

    /// Whether content is sent more slowly than the floor, to a server that would continue it.
    private mutating func isBelow(_ floor: SpeedFloor, _ exchange: Exchange, _ now: Int64) -> Bool {
        let isSending = exchange.isConnected && exchange.hasContent && exchange.head == nil && !self.isWhole(exchange)
        guard isSending, !self.traffic.isHeld, self.history.record != nil else {
            self.speed.restart()
            return false
        }
        return self.speed.isTooSlow(self.traffic.sent, at: now, floor: floor)
    }

    private mutating func ticked(_ content: ContentState) -> [Action] {
        switch content {
        case .unchanged: []
        case .changed(let failure), .unreadable(let failure): self.end(.failed(failure))
        }
    }

    private mutating func progress(_ now: Int64, _ reports: Bool) -> [Action] {
        let bytes = self.position
        // The first report has a rate, too.
        if self.window.isEmpty { self.window.record(max(0, bytes - self.traffic.sent), at: self.startedAt) }
        self.window.record(bytes, at: now)
        guard reports, bytes != self.reported else { return [] }
        self.reported = bytes
        let progress = Progress(
            bytes: bytes,
            total: self.length,
            rate: self.window.rate,
            sent: self.history.sent + self.traffic.sent,
            acknowledged: self.machine.acknowledged
        )
        return [.reportProgress(progress)]
    }

    /// The time allowed for a response to `OPTIONS`, which a server may not support.
    private static var optionsPatience: Int64 { 10_000_000_000 }

    private mutating func endStalled(_ exchange: Exchange, _ now: Int64) -> [Action] {
        var patience = self.plan.requests.stallTimeout
        guard patience > 0, exchange.isConnected, !self.traffic.isHeld else { return [] }
        if case .asking = exchange.answer { return [] }
        if exchange.request.step == TusMachine.question { patience = min(patience, Self.optionsPatience) }
        guard now - self.traffic.lastActivity > patience else { return [] }
        let event =
            exchange.head != nil
            ? "no data arrived" : self.isWhole(exchange) ? "no response arrived" : "no data could be sent"
        self.phase = .betweenRequests
        return [.cancel(exchange.id)] + self.attemptFailed(exchange, RequestTerms.stalled(event, for: patience))
    }
}
