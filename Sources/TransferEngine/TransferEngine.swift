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
        ///
        /// Only a limit that is set cuts the number of connections that a download's options fix for its file.
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
        var machine: EngineMachine
        /// The transfers that have not ended.
        var transfers: [TransferID: Transfer] = [:]
        var runs: [TransferID: any TransferRun] = [:]
        /// Complete files that wait to be synced together.
        var unsynced: [(transfer: Transfer, completion: TransferEvent.Completion)] = []
        /// The callbacks of runs that wait for a connection.
        var claims: [WaiterID: (id: TransferID, wake: @Sendable () -> Void)] = [:]
        var waits: [WaiterID: CheckedContinuation<Void, Never>] = [:]
        /// Whether a thread performs the machine's steps, for each lane and for callers that are on none.
        var isDriven: [Bool]
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
        let lanes = transport.laneCount
        self.state = Mutex(
            State(
                machine: EngineMachine(
                    limit: max(1, configuration.concurrentTransfers),
                    connectionsPerHost: configuration.connectionsPerHost,
                    lanes: lanes
                ),
                isDriven: Array(repeating: false, count: lanes + 1)
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
    public var counts: Counts { self.state.withLock { Counts($0.machine) } }

    /// Where a transfer stands; `nil` once it has ended, or where there is none with this id.
    public func state(of id: TransferID) -> TransferState? { self.state.withLock { $0.machine.state(of: id) } }

    /// How far a transfer has come, exactly and at this moment; `nil` where it does not run.
    ///
    /// - Returns: The bytes that are there, those of earlier runs included, and the whole length where it is known.
    public func progress(of id: TransferID) -> (bytes: Int64, total: Int64?)? {
        self.state.withLock { $0.runs[id] }?.position
    }

    /// Where a transfer's file will be, as far as it is known; `nil` once it has ended, or where it has none.
    public func target(of id: TransferID) -> FileTarget? {
        self.state.withLock { $0.transfers[id] }?.memory.withLock { $0.target }
    }
}

extension TransferEngine.Counts {
    fileprivate init(_ machine: EngineMachine) {
        self.waiting = machine.waitingCount
        self.running = machine.runningCount
        self.paused = machine.pausedCount
        self.retrying = machine.retryingCount
        self.finished = machine.totals.finished
        self.skipped = machine.totals.skipped
        self.failed = machine.totals.failed
        self.cancelled = machine.totals.cancelled
        self.receivedBytes = machine.totals.received
        self.sentBytes = machine.totals.sent
    }
}
