internal import Synchronization
internal import TransferCore

/// One upload while it runs: its content is opened, then its machine's requests are made one after the other.
///
/// Events come from the lanes, the pool and the clock. Each takes the lock, changes the state, and acts after the unlock.
/// Lock order: run, then engine, then transfer memory, then hub.
final class UploadRun: AskingRun {
    let engine: TransferEngine
    let earlier: EarlierRuns
    let transfer: Transfer
    let request: UploadRequest
    let lane: Int
    let startedAt: Int64
    let state: Mutex<State>
    /// What may block, one after the other.
    let line: OperationLine

    enum Phase {
        /// The content is opened, the journal read.
        case opening
        case active
        case ending
    }

    struct State {
        var phase = Phase.opening
        var machine: UploadMachine
        var parts: SourceParts?
        var attempt: UploadAttempt?
        /// The connection of the admission, or of the request before.
        var heldSlot: Origin?
        /// Where the request under way began in the content.
        var base: Int64 = 0
        /// What the kernel took of the request under way.
        var underWay: Int64 = 0
        var sent: Int64 = 0
        var received: Int64 = 0
        var length: Int64?
        var window = RateWindow()
        var reported: Int64 = -1
        /// Whether the server has more than it had, or answered.
        var hasAdvanced = false
        /// The maximum number of bytes that the server acknowledged in this run.
        var kept: Int64 = 0
    }

    init(
        host engine: TransferEngine,
        transfer: Transfer,
        request: UploadRequest,
        lane: Int,
        now: Int64,
        earlier: EarlierRuns
    ) {
        self.earlier = earlier
        self.engine = engine
        self.transfer = transfer
        self.request = request
        self.lane = lane
        self.startedAt = now
        var state = State(machine: UploadMachine(.plain, method: request.method, length: nil))
        state.heldSlot = transfer.origin
        self.state = Mutex(state)
        self.line = OperationLine(on: engine.pool)
    }

    var options: DownloadOptions { self.request.options }
    var policy: (any TransferPolicy)? { self.request.policy }
    var now: Int64 { self.engine.time.now }
    func whileLocked<Value: Sendable>(_ body: () -> Value) -> Value { self.state.withLock { _ in body() } }
    var isEnding: Bool { self.state.withLock { $0.phase == .ending } }
    var tally: RunTally {
        self.state.withLock { state in
            RunTally(received: state.received, sent: state.sent, hasAdvanced: state.hasAdvanced, kept: state.kept)
        }
    }
    func yieldConnection(_ origin: Origin) {}

    var position: (bytes: Int64, total: Int64?) { self.state.withLock { $0.position } }

    // MARK: Beginning

    func begin() {
        if self.isEnding { return }
        if self.engine.hub.wants(.states) {
            self.engine.hub.emit(self.transfer.event(.started(path: self.request.name)))
        }
        switch self.request.content {
        case .parts(let parts): self.open(parts)
        case .stream(let stream): self.open(stream)
        }
    }

    private func readJournal() -> UploadRecord? {
        do throws(StorageError) {
            return try self.request.journal?.read()
        } catch {
            self.note("what was kept of an earlier upload cannot be read: \(error.message)")
            return nil
        }
    }

    /// Opens the content, and looks for what an earlier process has begun of it.
    private func open(_ content: [UploadContent.Part]) {
        let parts: SourceParts
        do throws(StorageError) {
            parts = try SourceParts(content, in: self.engine.store)
        } catch {
            return self.end(.failed(TransferFailure(error)), except: nil)
        }
        let way = self.way(parts.length)
        let needsJournal =
            self.request.journal != nil && way != .plain
            && self.transfer.memory.withLock { !$0.upload.hasReadJournal }
        guard needsJournal else { return self.begin(parts, way) }
        self.line.run {
            let record = self.readJournal()
            self.transfer.memory.withLock { memory in
                memory.upload.hasReadJournal = true
                memory.upload.record = record
            }
            self.engine.transport.execute(onLane: self.lane) { self.begin(parts, way) }
        }
    }

    private func begin(_ parts: SourceParts, _ way: UploadMachine.Way) {
        let endpoint = self.request.url.withoutUserInfo
        let (known, begun): ([FileIdentity], UploadRecord?) = self.transfer.memory.withLock { memory in
            let begun = memory.upload.record ?? memory.upload.lost ?? self.request.record
            memory.upload.record = begun.flatMap { $0.isVoid || $0.endpoint != endpoint ? nil : $0 }
            memory.upload.lost = nil
            defer { memory.upload.files = memory.upload.files ?? parts.files }
            return (memory.upload.files ?? parts.files, begun)
        }
        // The upload of an earlier process sent the file as it was then.
        guard known.matches(parts.files), begun.map({ $0.isVoid || $0.files.matches(parts.files) }) ?? true else {
            return self.end(.failed(self.changedSince(begun)), except: nil)
        }
        let record = self.resumedRecord(parts)
        self.launchFirst { state in
            state.parts = parts
            state.length = parts.length
            state.machine = UploadMachine(
                way,
                method: self.request.method,
                length: parts.length,
                metadata: self.request.metadata,
                checksum: self.request.checksum
            )
            return state.machine.begin(record)
        }
    }

    /// The record to resume from, with the files' change times added to one that an earlier version wrote without them.
    private func resumedRecord(_ parts: SourceParts) -> UploadRecord? {
        let (record, isCompleted) = self.transfer.memory.withLock { memory -> (UploadRecord?, Bool) in
            guard let record = memory.upload.record, record.files != parts.files else {
                return (memory.upload.record, false)
            }
            memory.upload.record?.files = parts.files
            return (memory.upload.record, true)
        }
        if isCompleted, let record, let journal = self.request.journal { self.line.run { try? journal.write(record) } }
        return record
    }

    private func open(_ stream: any ContentStream) {
        if self.isSpent { return self.end(.failed(Self.cannotRepeat), except: nil) }
        self.launchFirst { state in
            state.length = stream.length
            state.machine = UploadMachine(.plain, method: self.request.method, length: stream.length)
            return state.machine.begin(nil)
        }
    }

    private func launchFirst(_ prepare: (inout State) -> UploadStep) {
        let step: UploadStep? = self.state.withLock { state in
            guard state.phase != .ending else { return nil }
            state.phase = .active
            return prepare(&state)
        }
        if let step { self.launch(step) }
    }

    /// The failure of an upload whose file has changed since the upload started.
    private func changedSince(_ record: UploadRecord?) -> TransferFailure {
        self.abandon(record)
        let name = self.request.name.isEmpty ? "the file" : self.request.name
        return TransferFailure(
            .fileIO,
            "\(name) changed since its upload started, so the upload cannot be resumed; what the server had is deleted",
            remedy: "send it again from the start: run the same command once more"
        )
    }

    /// Deletes what the server has of the upload; no later run resumes it.
    private func abandon(_ record: UploadRecord?) {
        if let record { self.engine.terminate(record, of: self.transfer) }
        self.line.run {
            // The next run would resume from the caller's record again.
            if let given = self.request.record {
                try? self.request.journal?.write(given.voided)
            } else {
                try? self.request.journal?.remove()
            }
        }
    }

    private func way(_ length: Int64) -> UploadMachine.Way {
        switch self.request.way {
        case .plain: .plain
        case .by(let speaks): .by(speaks)
        // Asking costs a round trip: what is soon sent again is not worth it.
        case .automatic:
            if length < Self.leastAutomatic {
                .plain
            } else if self.transfer.memory.withLock({ $0.upload.ignoresQuestion }) {
                .by(.ietf6)
            } else {
                .automatic
            }
        }
    }

    /// The least bytes for which a server is asked by which protocol it goes on.
    static let leastAutomatic: Int64 = 1 << 20

    /// Whether some of the content was taken from a source that gives it once.
    var isSpent: Bool {
        guard case .stream = self.request.content else { return false }
        return self.transfer.memory.withLock { $0.upload.isStreamTaken }
    }

    static let cannotRepeat = TransferFailure(
        .cannotResume,
        "the upload broke off, and what its source gave cannot be given again",
        remedy: "upload from a file"
    )

    // MARK: Ending

    func interrupt(_ outcome: RunOutcome) {
        if case .paused = outcome, self.transfer.memory.withLock({ $0.upload.record == nil }),
            self.state.withLock({ $0.sent > 0 })
        {
            self.note("this server's uploads cannot go on where they stopped: resumed, it begins anew")
        }
        self.end(outcome, except: nil)
    }

    /// Ends the run: the exchange is closed on its lane, then the engine is told.
    ///
    /// - Parameters:
    ///   - outcome: How it ends.
    ///   - current: The attempt whose callback is running; it closes itself by what the callback answers.
    func end(_ outcome: RunOutcome, except current: UploadAttempt?) {
        let attempt: UploadAttempt?? = self.state.withLock { state in
            guard state.phase != .ending else { return nil }
            state.phase = .ending
            let attempt = state.attempt
            if let attempt { self.retire(&state, attempt) }
            if let held = state.heldSlot {
                state.heldSlot = nil
                self.engine.releaseConnection(held, of: self.transfer.id)
            }
            return .some(attempt === current ? nil : attempt)
        }
        guard let attempt else { return }
        guard let attempt else { return self.leave(outcome) }
        self.engine.transport.execute(onLane: attempt.lane) {
            let exchange = self.state.withLock { _ in
                defer { attempt.exchange = nil }
                return attempt.exchange
            }
            exchange?.cancel()
            self.leave(outcome)
        }
    }

    private func leave(_ outcome: RunOutcome) {
        if case .stream(let stream) = self.request.content {
            switch outcome {
            case .finished, .failed, .cancelled: stream.cancel()
            case .retry, .paused, .stopped: break
            }
        }
        if case .cancelled(keeping: false) = outcome { self.engine.terminate(self.transfer) }
        if case .failed = outcome, self.state.withLock({ $0.parts })?.haveChanged == true {
            let record = self.transfer.memory.withLock { $0.upload.record ?? $0.upload.lost }
            if let record { self.abandon(record) }
        }
        // The journal's writes come first: a later run reads it.
        guard self.line.isBusy else { return self.engine.runEnded(self, outcome) }
        self.line.run { self.engine.runEnded(self, outcome) }
    }

    /// Takes an attempt out of the run; its connection is kept for the next.
    func retire(_ state: inout State, _ attempt: UploadAttempt) {
        attempt.isOver = true
        if state.attempt === attempt { state.attempt = nil }
        if let slot = attempt.slot {
            attempt.slot = nil
            if let held = state.heldSlot { self.engine.releaseConnection(held, of: self.transfer.id) }
            state.heldSlot = slot
        }
    }
}

extension UploadRun.State {
    /// The bytes that are with the kernel or at the server, and the whole length where it is known.
    var position: (bytes: Int64, total: Int64?) {
        (max(self.base + self.underWay, self.machine.acknowledged ?? 0), self.length)
    }
}
