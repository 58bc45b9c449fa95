internal import Synchronization
public import TransferCore

/// A queue of downloads and uploads, run concurrently up to limits that can change while it runs.
///
/// Every method may be called from any thread, and from an observer. Observers hear of everything in one order.
public final class TransferEngine: Sendable, RunHost {
    /// The limits over all transfers.
    public struct Configuration: Sendable {
        /// The transfers that run at once.
        public var concurrentTransfers = 5
        /// The connections to one host (scheme, host and port), or `nil` for as many as run at once, at least 4.
        public var connectionsPerHost: Int?
        /// Bytes a second over all transfers, or `nil`.
        public var rateLimit: Int64?
        /// Whether a name is free again once its transfer has ended.
        ///
        /// A run over a list keeps them, so that no two of its files share one whatever becomes of the files; a queue
        /// without end does not.
        public var releasesNames = false

        /// Creates the defaults.
        public init() {}
    }

    /// How many transfers stand where.
    public struct Counts: Sendable, Hashable {
        /// Waiting for their turn.
        public var waiting = 0
        /// Running.
        public var running = 0
        /// Paused.
        public var paused = 0
        /// Waiting for their next attempt.
        public var retrying = 0
        /// Fetched and whole.
        public var finished = 0
        /// Found to be there already.
        public var skipped = 0
        /// Ended without the file.
        public var failed = 0
        /// Cancelled.
        public var cancelled = 0
        /// Bytes of body received by runs that have ended.
        public var receivedBytes: Int64 = 0
        /// Bytes of content sent by runs of uploads that have ended.
        public var sentBytes: Int64 = 0

        /// Creates counts of zero.
        public init() {}
    }

    struct State {
        var scheduler: Scheduler
        var perHost: Int?
        var transfers: [TransferID: Transfer] = [:]
        var running: [TransferID: any TransferRun] = [:]
        /// What was asked of those that run, until they have ended.
        var wishes: [TransferID: Wish] = [:]
        var names = NameRegistry()
        var nextID: UInt64 = 0
        var counts = Counts()
        var isStarted = false
        var isClosed = false
        var isStopping = false
        var isTicking = false
        var laneLoad: [Int]
        var isPumping: [Bool]
        var pumpAgain: [Bool]
        var slotWaiters: [(origin: Origin, wake: @Sendable () -> Void)] = []
        var drainWaiters: [CheckedContinuation<Void, Never>] = []
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
        var feedWaiters: [(atMost: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var hostFailures: [Origin: Int] = [:]
        /// Small files that are written and wait to be synced together.
        var unsynced: [(transfer: Transfer, completion: TransferEvent.Completion)] = []
        var isSyncing = false
        var syncing = 0
        /// The requests under way that delete uploads at their servers.
        var terminations = 0
    }

    let transport: any Transport
    let store: any FileStore
    let time: any TimeSource
    let pool: any BlockingPool
    let hub = EventHub()
    var events: any EventSink { self.hub }
    let state: Mutex<State>
    let limiter: Mutex<RateLimiter>
    let releasesNames: Bool
    let throttles: Atomic<Bool>
    let buffers = Mutex<[EventBuffer.Reference]>([])

    /// Creates an engine that waits for `start()`.
    public init(
        configuration: Configuration = Configuration(),
        transport: any Transport,
        store: any FileStore,
        time: any TimeSource,
        pool: any BlockingPool
    ) {
        self.transport = transport
        self.store = store
        self.time = time
        self.pool = pool
        self.releasesNames = configuration.releasesNames
        let limit = max(1, configuration.concurrentTransfers)
        let lanes = transport.laneCount
        self.state = Mutex(
            State(
                scheduler: Scheduler(limit: limit, perHost: max(1, configuration.connectionsPerHost ?? max(limit, 4))),
                perHost: configuration.connectionsPerHost,
                laneLoad: Array(repeating: 0, count: lanes),
                isPumping: Array(repeating: false, count: lanes + 1),
                pumpAgain: Array(repeating: false, count: lanes + 1)
            )
        )
        self.limiter = Mutex(RateLimiter(rate: configuration.rateLimit))
        self.throttles = Atomic(configuration.rateLimit != nil)
    }

    // MARK: Hearing of what happens

    /// Calls `observer` with every event it wants, one at a time, in order.
    ///
    /// It is called on the threads that move data: it must be quick and must not block. It may call the engine.
    ///
    /// - Returns: What ends it; it is kept until then.
    @discardableResult
    public func observe(
        _ interest: TransferEvent.Interest = .all,
        _ observer: @escaping @Sendable (TransferEvent) -> Void
    ) -> Observation {
        Observation(hub: self.hub, number: self.hub.add(interest, observer))
    }

    /// An observer's place among those who hear of events.
    public struct Observation: Sendable {
        let hub: EventHub
        let number: Int

        /// Calls the observer no more; a call under way may come to its end after this returns.
        public func cancel() { self.hub.remove(self.number) }
    }

    /// The events as a sequence with a bounded buffer; see ``TransferEvents``.
    public func events(bufferingAtMost capacity: Int = 1024) -> TransferEvents {
        let buffer = EventBuffer(capacity: capacity)
        let reference = EventBuffer.Reference(buffer)
        let number = self.hub.add(.all) { reference.buffer?.put($0) }
        buffer.whenUnused { [hub = self.hub] in hub.remove(number) }
        self.buffers.withLock { references in
            references.removeAll { $0.buffer == nil }
            references.append(reference)
        }
        return TransferEvents(buffer: buffer)
    }

    /// How many transfers stand where.
    public var counts: Counts {
        self.state.withLock { self.currentCounts($0) }
    }

    func currentCounts(_ state: State) -> Counts {
        var counts = state.counts
        counts.waiting = state.scheduler.waitingCount
        counts.running = state.running.count + state.syncing + state.unsynced.count
        return counts
    }

    /// Where a transfer stands; `nil` once it has ended, or where there is none with this id.
    public func state(of id: TransferID) -> TransferState? {
        self.state.withLock { $0.transfers[id] }?.state
    }

    /// How far a transfer has come, exactly and at this moment; `nil` where it does not run.
    ///
    /// - Returns: The bytes that are there, those of earlier runs included, and the whole length where it is known.
    public func progress(of id: TransferID) -> (bytes: Int64, total: Int64?)? {
        self.state.withLock { $0.running[id] }?.position
    }

    /// Where a transfer's file will be, as far as it is known; `nil` once it has ended, or where it has none.
    public func target(of id: TransferID) -> FileTarget? {
        self.state.withLock { $0.transfers[id] }?.memory.withLock { $0.target }
    }

    // MARK: Filling the queue

    /// Adds a download.
    ///
    /// - Returns: Its id; the same URL twice is two transfers.
    /// - Throws: ``EngineError`` with `closed` after `close()`, with `badName` where the user's name is no file name, with
    ///   `nameTaken` where it must be exact and another transfer has it.
    @discardableResult
    public func add(_ request: DownloadRequest) throws(EngineError) -> TransferID {
        let (directory, name) = try Self.place(request)
        if request.options.rateLimit != nil { self.throttles.store(true, ordering: .relaxed) }
        let base = name ?? FileName.choose(user: nil, disposition: nil, url: request.sources[0])
        let isFile: Bool = if case .file = request.options.destination { true } else { false }
        let result: Result<TransferID, EngineError> = self.state.withLock { state in
            guard !state.isClosed else {
                return .failure(EngineError(.closed, "the queue is closed: nothing more can be added"))
            }
            if isFile, request.nameIsExact {
                let path = FileTarget(directory: directory, name: base).path
                guard state.names.isFree(path) else {
                    return .failure(
                        EngineError(.nameTaken, "another transfer is writing \(path); wait for it or name another file")
                    )
                }
            }
            state.nextID += 1
            let id = TransferID(state.nextID)
            let transfer = Transfer(
                id: id,
                request: request,
                reserved: isFile
                    ? Self.takeName(&state, directory: directory, base: base)
                    : FileTarget(directory: directory, name: base),
                baseName: base,
                isNamedByUser: name != nil
            )
            state.transfers[id] = transfer
            state.scheduler.enqueue(id, origin: transfer.origin, priority: request.options.priority)
            return .success(id)
        }
        let id = try result.get()
        self.pump(lane: nil)
        return id
    }

    /// Adds an upload.
    ///
    /// - Returns: Its id.
    /// - Throws: ``EngineError`` with `closed` after `close()`.
    @discardableResult
    public func add(_ request: UploadRequest) throws(EngineError) -> TransferID {
        if request.options.rateLimit != nil { self.throttles.store(true, ordering: .relaxed) }
        let id: TransferID? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.nextID += 1
            let transfer = Transfer(id: TransferID(state.nextID), upload: request)
            state.transfers[transfer.id] = transfer
            state.scheduler.enqueue(transfer.id, origin: transfer.origin, priority: request.options.priority)
            return transfer.id
        }
        guard let id else { throw EngineError(.closed, "the queue is closed: nothing more can be added") }
        self.pump(lane: nil)
        return id
    }

    /// No more will come: the queue ends by itself when the last transfer has.
    public func close() {
        self.state.withLock { $0.isClosed = true }
        self.settle()
    }

    /// Begins to run transfers.
    public func start() {
        self.state.withLock { $0.isStarted = true }
        self.pump(lane: nil)
        self.settle()
    }

    /// Ends what runs at once, keeping what can be resumed; returns when everything has really stopped.
    ///
    /// What waits stays waiting. The engine starts nothing any more.
    public func stop() async {
        let runs = self.state.withLock { state in
            state.isStopping = true
            return Array(state.running.values)
        }
        for run in runs { run.interrupt(.stopped) }
        await withCheckedContinuation { continuation in
            let isDone = self.state.withLock { state in
                if state.running.isEmpty, state.unsynced.isEmpty, state.syncing == 0 { return true }
                state.stopWaiters.append(continuation)
                return false
            }
            if isDone { self.resumeBehindEvents(continuation) }
        }
        self.settle()
        for reference in self.buffers.withLock({ $0 }) { reference.buffer?.finish() }
    }

    /// Returns when the closed queue has nothing left, or has been stopped.
    ///
    /// Also waits until abandoned uploads are deleted at their servers, for at most 10 seconds.
    public func waitUntilDrained() async {
        await withCheckedContinuation { continuation in
            let isDone = self.state.withLock { state in
                if state.isStopping ? state.running.isEmpty : self.isDrained(state) { return true }
                state.drainWaiters.append(continuation)
                return false
            }
            if isDone { self.resumeBehindEvents(continuation) }
        }
    }

    /// Lets somebody go on who must have heard of every end by then: the last one may be on its way.
    private func resumeBehindEvents(_ continuation: CheckedContinuation<Void, Never>) {
        self.hub.post(then: { continuation.resume() })
        self.hub.deliver()
    }

    /// Returns when at most this many transfers wait, or the engine is being stopped: for whoever feeds it a long list.
    public func waitUntilWaiting(atMost count: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = self.state.withLock { state in
                if state.scheduler.waitingCount <= count || state.isStopping { return true }
                state.feedWaiters.append((count, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    // MARK: Limits

    /// Changes how many transfers run at once; those beyond a lower limit run to their end.
    public func setConcurrentTransfers(_ count: Int) {
        self.state.withLock { state in
            state.scheduler.limit = max(1, count)
            if state.perHost == nil { state.scheduler.perHost = max(4, count) }
        }
        self.pump(lane: nil)
    }

    /// Changes the cap of connections per host.
    public func setConnectionsPerHost(_ count: Int) {
        self.state.withLock { state in
            state.perHost = count
            state.scheduler.perHost = max(1, count)
        }
        self.pump(lane: nil)
    }

    /// Changes the caps of connections to single hosts, by their names in lower case; they hold in place of the one for all.
    public func setConnectionLimits(ofHosts limits: [String: Int]) {
        self.state.withLock { $0.scheduler.hostLimits = limits.mapValues { max(1, $0) } }
        self.pump(lane: nil)
    }

    /// Changes the rate over all transfers, in bytes a second; `nil` lifts the limit.
    public func setRateLimit(_ rate: Int64?) {
        let now = self.time.now
        self.limiter.withLock { $0.setRate(rate, now: now) }
        if rate != nil { self.throttles.store(true, ordering: .relaxed) }
    }

    /// Changes the rate of one transfer, in bytes a second; `nil` lifts the limit.
    public func setRateLimit(_ rate: Int64?, of id: TransferID) {
        let now = self.time.now
        self.state.withLock { $0.transfers[id] }?.memory
            .withLock { memory in
                memory.rateLimit = rate
                memory.limiter.setRate(rate, now: now)
            }
        if rate != nil { self.throttles.store(true, ordering: .relaxed) }
    }

    /// Changes a transfer's priority; one that runs keeps running.
    public func setPriority(_ priority: Priority, of id: TransferID) {
        self.state.withLock { state in
            state.transfers[id]?.memory.withLock { $0.priority = priority }
            state.scheduler.setPriority(priority, of: id)
        }
    }
}
