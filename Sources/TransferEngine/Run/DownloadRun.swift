internal import Synchronization
internal import TransferCore

/// One transfer while it runs: from being admitted to finished, failed, paused or waiting for another attempt.
///
/// Events arrive from the event loops, the pool and the clock. Each handler changes the state under the lock and
/// performs its effects after the unlock.
/// Lock order: run, then engine, then transfer memory, then hub.
final class DownloadRun: AskingRun {
    let engine: TransferEngine
    let earlier: EarlierRuns
    let transfer: Transfer
    let request: DownloadRequest
    let lane: Int
    let startedAt: Int64
    let state: Mutex<State>
    /// Runs this run's blocking operations, one at a time.
    let line: OperationLine

    enum Phase {
        /// Surveying the name; comparing an existing file with the server's.
        case locating
        /// Awaiting the first response, or creating its file.
        case opening
        /// The file is open; connections fetch its bytes.
        case active
        case committing
        case ending
    }

    enum RunFile {
        case none
        case small(any SmallFile)
        case partial(any PartialFile)
        case stream(StreamSink)
        /// A finished file that is copied and continued once the overlap agrees (`--if-exists resume`).
        case existing(ExistingFile)
    }

    /// The destination of a stream's bytes.
    enum StreamSink {
        case blocking(any ByteSink)
        case immediate(any BodyReceiver)
    }

    typealias Outcome = RunOutcome

    struct State {
        var phase: Phase = .locating
        var target: FileTarget
        var baseName: String
        var overwrite = false
        var isNamedByUser: Bool
        var ifExists: DownloadOptions.IfExists
        /// Whether the body was diverted from memory to a file, whose name has not been surveyed yet.
        var isDiverted = false
        var file: RunFile = .none
        /// The facts of the response that the held bytes are from.
        var facts: ResourceFacts?
        var planner: SegmentPlanner?
        var attempts: [Attempt] = []
        var nextAttempt = 0
        var heldSlot: Origin?
        var existing: ExistingFile?
        var serverDigests: [ExpectedDigest] = []
        var serverDoesRanges = false
        var verifiedLength = true
        var smallLength: Int64 = 0
        var smallReceived: Int64 = 0
        var resumedFrom: Int64 = 0
        var received: Int64 = 0
        /// The maximum number of kept bytes that a response continued; see ``RetryBudget/kept(_:)``.
        var kept: Int64 = 0
        var advisor: ConnectionAdvisor
        var fixedConnections: Int?
        var window = RateWindow()
        var reported: Int64 = -1
        var sinceCheckpoint: Int64 = 0
        var lastCheckpoint: Int64 = 0
        /// Whether the file is open but must not grow before the first response.
        var awaitsFirst = false
        /// Whether the next request is for the whole, because the held bytes may be of another version.
        var requestsWhole = false
        /// Whether the next request must confirm that the file ends at the end of the held bytes.
        var probesEnd = false
        /// Whether the partial file was created by a transfer of another URL.
        var isForeign = false
        /// Whether this run has taken a response.
        var hasTaken = false
        /// The redirect targets of sources; further ranges are requested there directly.
        var pinned: [Int: HTTPURL] = [:]
        /// The highest rate of a connection of this run; `bestHeadTime` is the shortest time to a response head.
        var bestRate: Double = 0
        var bestHeadTime: Int64?
        /// How often a connection's last piece was taken over.
        var takeovers = 0
        /// How many connections were closed while others continued, because their responses could not be used.
        var dismissals = 0
        /// The older partial file, kept while a response without validators is written to a second one.
        var olderPartial: (target: FileTarget, bytes: Int64)?
        /// Whether held bytes are known to be wrong, so that the file must not be resumed.
        var holdsWrongBytes = false
        /// The outcome of an interruption during a commit; it applies only if the commit fails.
        var ending: Outcome?
    }

    init(
        host engine: TransferEngine,
        transfer: Transfer,
        request: DownloadRequest,
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
        var fixed: Int?
        var most = 1
        switch request.options.connections {
        case .fixed(let count): fixed = max(1, count)
        case .adaptive(let count): most = count
        }
        let (known, diversion) = transfer.memory.withLock { ($0.target, $0.diversion) }
        var state = State(
            target: known ?? transfer.reserved,
            baseName: transfer.baseName,
            isNamedByUser: transfer.isNamedByUser,
            ifExists: request.options.ifExists,
            advisor: ConnectionAdvisor(most: most)
        )
        if let diversion {
            state.isNamedByUser = diversion.name != nil
            state.ifExists = diversion.ifExists
            state.baseName = diversion.name ?? transfer.baseName
        }
        state.fixedConnections = fixed
        state.heldSlot = transfer.origin
        state.lastCheckpoint = now
        self.state = Mutex(state)
        self.line = OperationLine(on: engine.pool)
    }

    var options: DownloadOptions { self.request.options }
    var now: Int64 { self.engine.time.now }
    func whileLocked<Value: Sendable>(_ body: () -> Value) -> Value { self.state.withLock { _ in body() } }
    var tally: RunTally {
        let (received, kept) = self.state.withLock { ($0.received, $0.kept) }
        return RunTally(received: received, hasAdvanced: received > 0, kept: kept)
    }

    // MARK: Beginning

    /// Begins the run; called on its event loop.
    func begin() {
        let (path, isOver) = self.state.withLock { ($0.target.path, $0.phase == .ending) }
        // It was interrupted before this call.
        if isOver { return }
        switch self.options.destination {
        case .stream(let sink):
            self.tellStarted(path: "")
            self.beginStream(.blocking(sink))
        case .memory(let receiver) where self.transfer.memory.withLock({ $0.diversion == nil }):
            self.tellStarted(path: "")
            self.beginStream(.immediate(receiver))
        case .file, .memory:
            self.tellStarted(path: path)
            self.locate()
        }
    }

    private func tellStarted(path: String) {
        if self.engine.hub.wants(.states) { self.engine.hub.emit(self.transfer.event(.started(path: path))) }
    }

    /// Starts the first request of a run, with the connection slot of its admission.
    func launchFirst(_ purpose: Attempt.Purpose) {
        let attempt: Attempt? = self.state.withLock { state in
            guard state.phase != .ending else { return nil }
            let source = self.pickSource(&state)
            let (url, isPinned) = self.url(of: source, state)
            guard let slot = self.takeSlot(&state, for: url.origin) else { return nil }
            let attempt = self.makeAttempt(&state, source: source, url: url, purpose: purpose, slot: slot, hops: 0)
            attempt.isPinned = isPinned
            if attempt.isFetch {
                state.awaitsFirst = false
                if state.planner != nil { self.assignPiece(&state, attempt) }
                if case .none = state.file { state.phase = .opening }
            }
            return attempt
        }
        if let attempt { self.launch(attempt) }
    }

    /// Takes the connection slot of the admission, or a new one if that was released or belongs to another origin.
    ///
    /// The first connection of a run never waits for the connection limit: the admission has counted it already.
    private func takeSlot(_ state: inout State, for origin: Origin) -> Origin? {
        if let held = state.heldSlot {
            state.heldSlot = nil
            if held == origin { return held }
            self.engine.releaseConnection(held, of: self.transfer.id)
        }
        self.engine.takeConnection(origin, for: self.transfer.id)
        return origin
    }

    func makeAttempt(
        _ state: inout State,
        source: Int,
        url: HTTPURL,
        purpose: Attempt.Purpose,
        slot: Origin,
        hops: Int,
        lane: Int? = nil
    ) -> Attempt {
        state.nextAttempt += 1
        let attempt = Attempt(
            run: self,
            number: state.nextAttempt,
            lane: lane ?? self.lane,
            source: source,
            url: url,
            purpose: purpose,
            slot: slot,
            hops: hops,
            now: self.now
        )
        state.attempts.append(attempt)
        return attempt
    }

    // MARK: Ending

    /// Ends the run from outside.
    ///
    /// Returns immediately; the engine is notified when the run has ended.
    func interrupt(_ outcome: Outcome) {
        self.end(outcome, except: nil)
    }

    /// Ends the run: closes its connections on their event loops, keeps or discards the file, then notifies the engine.
    ///
    /// - Parameters:
    ///   - asked: The requested outcome.
    ///   - current: The attempt whose callback is running; the callback's return value closes it.
    func end(_ asked: Outcome, except current: Attempt?) {
        var outcome = asked
        let attempts: [Attempt]? = self.state.withLock { state in
            guard state.phase != .ending else { return nil }
            if state.phase == .committing {
                // A commit is short and cannot be undone: an interruption takes effect only if the commit fails.
                switch asked {
                case .finished: break
                case .failed, .retry: outcome = state.ending ?? asked
                case .paused, .stopped, .cancelled:
                    state.ending = asked
                    return nil
                }
            }
            state.phase = .ending
            let attempts = state.attempts
            state.attempts = []
            for attempt in attempts { self.retire(&state, attempt) }
            if let held = state.heldSlot {
                state.heldSlot = nil
                self.engine.releaseConnection(held, of: self.transfer.id)
            }
            return attempts.filter { $0 !== current }
        }
        guard let attempts else { return }
        self.quiesce(attempts) { [outcome] in self.closeFile(outcome) }
    }

    /// Removes an attempt from the run and releases its piece and its connection slot.
    func retire(_ state: inout State, _ attempt: Attempt) {
        attempt.isOver = true
        state.planner?.release(attempt.number)
        if let extent = attempt.extent, case .partial(let file) = state.file { file.endExtent(extent) }
        attempt.extent = nil
        state.attempts.removeAll { $0 === attempt }
        if let slot = attempt.slot {
            attempt.slot = nil
            self.engine.releaseConnection(slot, of: self.transfer.id)
        }
    }

    /// Closes exchanges on their event loops, so that none of their callbacks runs after `then` is called.
    func quiesce(_ attempts: [Attempt], then: @escaping @Sendable () -> Void) {
        guard !attempts.isEmpty else { return then() }
        let left = Countdown(attempts.count)
        for attempt in attempts {
            self.engine.transport.execute(onLane: attempt.lane) {
                let exchange = self.state.withLock { _ in
                    defer { attempt.exchange = nil }
                    return attempt.exchange
                }
                exchange?.cancel()
                if left.isLast() { then() }
            }
        }
    }

    private func closeFile(_ outcome: Outcome) {
        // A running operation may be creating the file or writing to it: wait for it.
        if self.line.isBusy {
            self.line.run { self.letGoOfFile(outcome) }
        } else {
            self.letGoOfFile(outcome)
        }
    }

    private func letGoOfFile(_ outcome: Outcome) {
        let (file, isWrong) = self.state.withLock { state in
            defer { state.file = .none }
            return (state.file, state.holdsWrongBytes)
        }
        switch file {
        case .none:
            // The file is from an earlier run, or is being created or opened: deleted after that, in the line's order.
            guard case .cancelled(keeping: false) = outcome, let left = self.transfer.deletable else {
                return self.engine.runEnded(self, outcome)
            }
            self.line.run {
                try? self.engine.store.discardPartial(left)
                self.engine.runEnded(self, outcome)
            }
        case .stream, .existing:
            self.engine.runEnded(self, outcome)
        case .small(let small):
            if case .finished = outcome { return self.engine.runEnded(self, outcome) }
            self.line.run {
                self.keep(small, outcome)
                self.engine.runEnded(self, outcome)
            }
        case .partial(let partial):
            if case .finished = outcome { return self.engine.runEnded(self, outcome) }
            let isCancelled = if case .cancelled(keeping: false) = outcome { true } else { false }
            self.line.run {
                if isWrong, self.options.keepBad {
                    partial.setAside()
                } else if isWrong || isCancelled {
                    partial.discard()
                } else {
                    partial.keep()
                }
                self.settleOlderPartial(isCancelled: isCancelled)
                self.engine.runEnded(self, outcome)
            }
        }
    }

    /// Stores the received bytes of a small file as a partial file, so that the next attempt continues it.
    private func keep(_ small: any SmallFile, _ outcome: Outcome) {
        defer { small.discard() }
        if case .cancelled(keeping: false) = outcome { return }
        let (facts, target, received, length) = self.state.withLock { state in
            (state.facts, state.target, state.smallReceived, state.smallLength)
        }
        guard let facts, received >= Self.smallestKept, received < length, self.transfer.asksForWhole else { return }
        // A failure loses only these bytes.
        guard let bytes = try? small.read(0..<received),
            let partial = try? self.engine.store.createPartial(target, facts: facts)
        else { return }
        guard let extent = partial.beginExtent(at: 0),
            (try? bytes.withUnsafeBytes { try partial.write($0, extent: extent) }) != nil
        else { return partial.discard() }
        partial.endExtent(extent)
        partial.keep()
    }

    /// The minimum number of bytes worth keeping; fewer are faster to fetch again.
    private static let smallestKept: Int64 = 16 << 10

    /// Converts an error of the transport into a failure of the transfer.
    static func failure(_ error: TransportError) -> TransferFailure { TransferFailure(error) }

    static func failure(_ error: StorageError) -> TransferFailure { TransferFailure(error) }
}

/// Counts down to the last of several callbacks.
final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { self.left = Mutex(count) }

    /// Whether this call was the last one awaited.
    func isLast() -> Bool {
        self.left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}
