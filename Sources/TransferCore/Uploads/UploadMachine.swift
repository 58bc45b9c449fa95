// SPDX-License-Identifier: Apache-2.0
/// Makes all decisions of one run of an upload: the next request, the effect of a response, the time of a retry.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock. Each event is a method that returns the actions to
/// perform, in order. An event that no longer applies, such as one of a cancelled request, is ignored.
///
/// - Invariant: At most one request and one connection at a time; the connection is released before `.end`, which is
///   the last action. A connection granted after that is released immediately.
package struct UploadMachine: Sendable {
    /// The state of the run.
    ///
    /// Large values of rare states are on the heap, because the state is copied with each event.
    enum Phase: Sendable {
        /// The run has not started.
        case idle
        case openingContent
        case readingJournal(files: [FileIdentity])
        case waitingForConnection(Boxed<Request>)
        case notingUnrepeatable(Boxed<Request>)
        case computingChecksum(Boxed<Request>)
        /// The run ends when the note that its request must not be repeated is removed: the request was not sent.
        indirect case withdrawingNote(Outcome)
        case requesting(Exchange)
        /// A request has ended; the next step is decided in the same event.
        case betweenRequests
        indirect case writingJournal(number: Int, next: UploadStep)
        /// The content's digest is compared with that of an existing resource.
        indirect case comparing(ExpectedDigest, refusal: TransferFailure)
        /// The server has everything; the content is checked for changes.
        case confirming(status: Int?, wasPresent: Bool)
        /// The upload failed; the content is checked for changes.
        indirect case failing(TransferFailure)
        case ended
    }

    /// The state of a request that must not be repeated.
    enum Unrepeatable: Sendable {
        /// There is none.
        case none
        /// It is about to be sent; its note, if notes are made, is or will be on disk.
        case prepared
        /// It is sent, and not refused with a response.
        case sent
    }

    /// One of the protocol's requests, including its redirects, challenges and repetitions.
    struct Request: Sendable {
        var step: UploadStep
        var flow: RequestFlow
        /// Whether it was repeated because a pooled connection had been closed.
        var isRepetition = false
        /// Of a request for an existing resource's digest: the failure unless that is the same content.
        var refusal: TransferFailure?
    }

    /// A request in flight, and its response.
    struct Exchange: Sendable {
        let id: Int
        /// On the heap, because an exchange is copied with each of its events.
        let request: Boxed<Request>
        let hasContent: Bool
        var isConnected = false
        /// Whether the request had credentials.
        var hasCredentials = false
        var head: ResponseHead?
        var answer = Answer.awaited

        /// The request that follows in a flow.
        func successor(_ flow: RequestFlow) -> Boxed<Request> {
            var next = self.request.value
            next.flow = flow
            next.isRepetition = false
            return Boxed(next)
        }
    }

    /// The state of a response.
    enum Answer: Sendable {
        case awaited
        /// Reading is paused until the policy has decided.
        indirect case asking(Inquiry)
        indirect case draining(Draining<Next>)
        /// The body is passed to the caller.
        case taking
    }

    /// The subject of a policy's decision.
    enum Inquiry: Sendable {
        case request(RequestFlow.Question)
        case response
    }

    /// The step that follows the end of a response.
    enum Next: Sendable {
        case fail(TransferFailure)
        case launch(Boxed<Request>)
        case act(UploadAction)
        /// Compare the existing resource with the content; if they differ, fail with this failure.
        case compare(TransferFailure)
        case match(ExpectedDigest, refusal: TransferFailure)
    }

    /// The bytes of this run.
    struct Traffic: Sendable {
        /// The offset at which the last request with content started.
        var base: Int64 = 0
        /// The number of its bytes that the kernel has accepted.
        var current: Int64 = 0
        /// The length of its content, once known.
        var length: Int64?
        var sent: Int64 = 0
        var received: Int64 = 0
        /// The time at which the body of a success started.
        var answerBegan: Int64 = 0
        /// Whether the content waits for its source or a rate limit; the stall timeout is suspended.
        var isHeld = false
        var lastActivity: Int64 = 0
    }

    /// The minimum length in bytes for `OPTIONS` to be worth a round trip; see ``UploadProtocolMachine/Way/automatic``.
    package static var leastAutomatic: Int64 { 1 << 20 }

    let plan: UploadPlan
    let startedAt: Int64
    let earlierTime: Int64
    let earlierReceived: Int64
    /// The state that outlives the run.
    package internal(set) var history: UploadHistory
    var phase = Phase.idle
    var machine: UploadProtocolMachine
    /// The connection that the run holds.
    var slot: Origin?
    /// The length of the content, once known.
    package internal(set) var length: Int64?
    var traffic = Traffic()
    /// The wall time of the last response, in seconds since 1970.
    var wallNow: Int64 = 0
    /// The number of the last request.
    var requestID = 0
    var writes = 0
    var unrepeatable = Unrepeatable.none
    var window = RateWindow()
    var speed = SpeedWatch()
    var reported: Int64 = -1
    /// The link to the file that the server has made.
    var link: String?
    /// Whether the server acknowledged more than before, or responded with a success.
    package internal(set) var hasAdvanced = false

    /// Creates the machine of a run.
    ///
    /// - Parameters:
    ///   - plan: The upload.
    ///   - history: The history from the previous run's machine.
    ///   - slot: The host of the connection that the run holds at its start.
    ///   - now: The time, in nanoseconds.
    ///   - earlierTime: The time of earlier runs, in nanoseconds.
    ///   - earlierReceived: The bytes received by earlier runs.
    package init(
        _ plan: UploadPlan,
        history: UploadHistory,
        slot: Origin?,
        now: Int64,
        earlierTime: Int64 = 0,
        earlierReceived: Int64 = 0
    ) {
        self.plan = plan
        self.history = history
        self.slot = slot
        self.startedAt = now
        self.earlierTime = earlierTime
        self.earlierReceived = earlierReceived
        self.machine = UploadProtocolMachine(.plain, method: plan.method, length: nil)
    }

    // MARK: State

    /// Whether the run has ended, or ends when its content has been checked.
    package var isEnding: Bool {
        switch self.phase {
        case .withdrawingNote, .confirming, .failing, .ended: true
        default: false
        }
    }

    /// Bytes of response body received by this run.
    package var received: Int64 { self.traffic.received }

    /// Bytes of content sent by this run.
    package var sent: Int64 { self.traffic.sent }

    /// The bytes that the server acknowledged in this run; see ``RetryBudget/kept(_:)``.
    package var kept: Int64 { self.machine.acknowledged ?? 0 }

    /// The number of bytes accepted by the kernel or acknowledged by the server.
    package var position: Int64 { max(self.traffic.base + self.traffic.current, self.kept) }

    /// Whether and how to continue reading the response to a request.
    package func reading(_ id: Int) -> ReadDecision {
        guard case .requesting(let exchange) = self.phase, exchange.id == id else { return .close }
        if case .asking = exchange.answer { return .pause }
        return .read
    }

    var isSpent: Bool { self.plan.isStream && self.history.isStreamTaken }

    static let cannotRepeat = TransferFailure(
        .cannotResume,
        "the upload was interrupted, and its source cannot be read again",
        remedy: "upload from a file"
    )

    // MARK: Opening

    /// The run starts.
    package mutating func began() -> [Action] {
        guard case .idle = self.phase else { return [] }
        if self.isSpent { return [.reportStart] + self.end(.failed(Self.cannotRepeat)) }
        if self.history.mayBeProcessed { return [.reportStart] + self.end(.failed(.mayBeProcessed)) }
        self.phase = .openingContent
        return [.reportStart, .openContent]
    }

    /// The content was opened.
    ///
    /// - Parameters:
    ///   - length: Its length, or `nil` if only its end determines it.
    ///   - files: The current identities of the files.
    /// - Returns: The actions.
    package mutating func opened(length: Int64?, files: [FileIdentity]) -> [Action] {
        guard case .openingContent = self.phase else { return [] }
        self.length = length
        guard let length, !self.plan.isStream else { return self.start(nil) }
        if self.plan.hasJournal, self.way(length) != .plain, !self.history.hasReadJournal {
            self.phase = .readingJournal(files: files)
            return [.readJournal]
        }
        return self.resume(files)
    }

    /// The content could not be opened.
    package mutating func openFailed(_ error: StorageError) -> [Action] {
        guard case .openingContent = self.phase else { return [] }
        let failure = TransferFailure(error)
        return self.end(failure.isShortage ? .retry(failure) : .failed(failure))
    }

    package mutating func journalRead(_ result: Result<UploadRecord?, StorageError>) -> [Action] {
        guard case .readingJournal(let files) = self.phase else { return [] }
        self.history.hasReadJournal = true
        switch result {
        case .success(let record):
            self.history.record = record
            return self.resume(files)
        case .failure(let error):
            self.history.record = nil
            return [.note("the journal of an earlier upload cannot be read: \(error.message)")] + self.resume(files)
        }
    }

    /// Resumes the upload of an earlier run or process, unless its files have changed.
    private mutating func resume(_ files: [FileIdentity]) -> [Action] {
        let earlier = self.history.record ?? self.history.lost ?? self.plan.record
        let known = self.history.files ?? files
        self.history.record = earlier.flatMap { $0.isVoid || $0.endpoint != self.endpoint ? nil : $0 }
        self.history.lost = nil
        self.history.files = known
        let isUnchanged = earlier.map { $0.isVoid || $0.files.matches(files) } ?? true
        guard known.matches(files), isUnchanged else {
            let name = self.plan.name.isEmpty ? "the file" : self.plan.name
            // Without a valid record nothing can be deleted: the server may have got all of a file that changed meanwhile.
            let hasRecord = earlier.map { !$0.isVoid } ?? false
            let rest =
                hasRecord ? "the server's data was deleted" : "the server may have a mixture of both versions"
            let failure = TransferFailure(
                .fileIO,
                "\(name) changed since its upload started, so the upload cannot be resumed; \(rest)",
                remedy: "send it again from the start"
            )
            return self.abandon(earlier) + self.end(.failed(failure))
        }
        var actions: [Action] = []
        // The record of an earlier version lacks the files' change times.
        if var record = self.history.record, record.files != files {
            record.files = files
            self.history.record = record
            if self.plan.hasJournal { actions.append(.writeJournal(record, number: nil)) }
        }
        return actions + self.start(self.history.record)
    }

    private mutating func start(_ record: UploadRecord?) -> [Action] {
        self.machine = UploadProtocolMachine(
            self.length.map { self.way($0) } ?? .plain,
            method: self.plan.method,
            length: self.length,
            metadata: self.plan.metadata,
            checksum: self.plan.checksum
        )
        return self.launch(self.machine.begin(record))
    }

    private func way(_ length: Int64) -> UploadProtocolMachine.Way {
        if self.plan.isStream { return .plain }
        guard case .automatic = self.plan.way else { return self.plan.way }
        // OPTIONS costs a round trip, which is too expensive for a short upload.
        if length < Self.leastAutomatic { return .plain }
        // A tus server receives neither the method nor the media type of the caller, and another name; the request of a
        // draft is the caller's own.
        if self.plan.method != "PUT" { return .by(.ietf6) }
        return self.history.ignoresOptions ? .by(.ietf6) : .automatic
    }

    var endpoint: String { self.plan.url.withoutUserInfo }
}
