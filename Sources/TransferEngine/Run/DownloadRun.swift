internal import Synchronization
internal import TransferCore

/// One transfer while it runs: from being admitted to finished, failed, paused or waiting for another attempt.
///
/// Events come from the lanes, the pool and the clock. Each takes the lock, changes the state, and acts after the unlock.
/// Lock order: run, then engine, then transfer memory, then hub.
final class DownloadRun: AskingRun {
    let engine: TransferEngine
    let transfer: Transfer
    let request: DownloadRequest
    let lane: Int
    let startedAt: Int64
    let state: Mutex<State>
    /// What may block, one after the other.
    let line: OperationLine

    enum Phase {
        /// Looking at what exists under the name; comparing it with the server's.
        case locating
        /// A first response is awaited, or its file is being made.
        case opening
        /// The file is open; connections fetch.
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

    /// What takes a stream's bytes.
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
        /// Whether the body goes to a file though it was to go to memory, which nobody has looked for yet.
        var isDiverted = false
        var file: RunFile = .none
        /// What the held bytes were taken from.
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
        var advisor: ConnectionAdvisor
        var fixedConnections: Int?
        var window = RateWindow()
        var reported: Int64 = -1
        var sinceCheckpoint: Int64 = 0
        var lastCheckpoint: Int64 = 0
        /// What is held has been opened, but nothing may be added before the first response.
        var awaitsFirst = false
        /// Whether the next request is for the whole, because what is held may be of another version.
        var requestsWhole = false
        /// Whether a response that ended where the held bytes do is to be confirmed as the file's end.
        var probesEnd = false
        /// Whether the partial file was begun by a transfer of another URL.
        var isForeign = false
        /// Whether this run has taken a response.
        var hasTaken = false
        /// Where requests to a source were redirected to; further ranges go there directly.
        var pinned: [Int: HTTPURL] = [:]
        /// The highest rate and the shortest time to a head that a connection of this run has shown.
        var bestRate: Double = 0
        var bestHeadTime: Int64?
        /// How often a connection's last piece was taken over.
        var takeovers = 0
        /// How many connections were given up beside others because their responses could not be used.
        var dismissals = 0
        /// The older partial file that is kept while a response that proves nothing goes to a second one.
        var olderPartial: (target: FileTarget, bytes: Int64)?
        /// Bytes that are held are known to be wrong: nothing may continue from them.
        var holdsWrongBytes = false
        /// What an interruption made of the run while it could not end at once.
        var ending: Outcome?
    }

    init(engine: TransferEngine, transfer: Transfer, request: DownloadRequest, lane: Int, now: Int64) {
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
    var received: Int64 { self.state.withLock { $0.received } }
    var hasAdvanced: Bool { self.received > 0 }
    var sent: Int64 { 0 }

    // MARK: Beginning

    /// Begins; on the run's lane.
    func begin() {
        let (path, isOver) = self.state.withLock { ($0.target.path, $0.phase == .ending) }
        // It was interrupted before its turn on the lane came.
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

    /// Starts the first request of a run, with the connection that came with its admission.
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

    /// The connection of the admission, or a fresh one where that was given back or belongs to another host.
    ///
    /// The first connection of a run never waits behind the cap: the admission has counted it already.
    private func takeSlot(_ state: inout State, for origin: Origin) -> Origin? {
        if let held = state.heldSlot {
            state.heldSlot = nil
            if held == origin { return held }
            self.engine.releaseConnection(held)
        }
        self.engine.takeConnection(origin)
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

    /// Ends the run from outside; returns at once, the engine hears when it has really ended.
    func interrupt(_ outcome: Outcome) {
        self.end(outcome, except: nil)
    }

    /// Ends the run: every connection is closed on its lane, then the file is kept or discarded, then the engine is told.
    ///
    /// - Parameters:
    ///   - asked: How it ends.
    ///   - current: The attempt whose callback is running; it closes itself by what the callback answers.
    func end(_ asked: Outcome, except current: Attempt?) {
        var outcome = asked
        let attempts: [Attempt]? = self.state.withLock { state in
            guard state.phase != .ending else { return nil }
            if state.phase == .committing {
                // A commit is short and cannot be taken back: an interruption counts only where the commit fails.
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
                self.engine.releaseConnection(held)
            }
            return attempts.filter { $0 !== current }
        }
        guard let attempts else { return }
        self.quiesce(attempts) { [outcome] in self.closeFile(outcome) }
    }

    /// Takes an attempt out of the run: its piece and its connection are free again.
    func retire(_ state: inout State, _ attempt: Attempt) {
        attempt.isOver = true
        state.planner?.release(attempt.number)
        if let extent = attempt.extent, case .partial(let file) = state.file { file.endExtent(extent) }
        attempt.extent = nil
        state.attempts.removeAll { $0 === attempt }
        if let slot = attempt.slot {
            attempt.slot = nil
            self.engine.releaseConnection(slot)
        }
    }

    /// Closes exchanges on their lanes, so that none of their callbacks runs any more when `then` is called.
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
        // An operation under way may be making the file just now, or writing to it: it comes first.
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
            // What an earlier run left, or one that was being made or opened: behind that on the line.
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

    /// Keeps what arrived of a small file as a partial file, so that the next attempt continues it.
    private func keep(_ small: any SmallFile, _ outcome: Outcome) {
        defer { small.discard() }
        if case .cancelled(keeping: false) = outcome { return }
        let (facts, target, received, length) = self.state.withLock { state in
            (state.facts, state.target, state.smallReceived, state.smallLength)
        }
        guard let facts, received >= Self.smallestKept, received < length, self.transfer.asksForWhole else { return }
        // If it fails, no more than these bytes is lost.
        guard let bytes = try? small.read(0..<received),
            let partial = try? self.engine.store.createPartial(target, facts: facts)
        else { return }
        guard let extent = partial.beginExtent(at: 0),
            (try? bytes.withUnsafeBytes { try partial.write($0, extent: extent) }) != nil
        else { return partial.discard() }
        partial.endExtent(extent)
        partial.keep()
    }

    /// Fewer bytes are sooner fetched again than kept.
    private static let smallestKept: Int64 = 16 << 10

    /// Tells what an attempt's or a file's error means to the transfer.
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
