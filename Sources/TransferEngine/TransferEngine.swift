// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import TransferCore

/// A queue of downloads and uploads that run concurrently, up to limits that can change while it runs.
///
/// Every method may be called from any thread, also by an observer. All observers receive events in the same order.
package final class TransferEngine: Sendable, RunHost {
    /// The limits over all transfers.
    package struct Configuration: Sendable {
        /// The maximum number of running transfers.
        package var concurrentTransfers = 5
        /// The maximum number of connections to one host (scheme, host and port).
        ///
        /// `nil` means ``concurrentTransfers``, but at least 4.
        /// A derived limit does not reduce a fixed number of connections for one file; a set limit does.
        package var connectionsPerHost: Int?
        /// Bytes per second over all transfers, or `nil` for no limit.
        package var rateLimit: Int64?
        /// Limits per registered domain, intervals between requests, and whether `robots.txt` is obeyed.
        package var politeness = PolitenessLimits()
        /// The list that determines the registered domains; by default the built-in one.
        package var suffixes: PublicSuffixes?
        /// The User-Agent field of requests for `robots.txt`, which also selects the rules.
        package var robotsAgent = "martlet/\(MartletVersion.text)"
        /// Whether a file name becomes available again when its transfer ends.
        ///
        /// Set it for a queue that runs indefinitely. Otherwise no two transfers of the queue share a name.
        package var releasesNames = false
        /// Whether outages of which this machine is the cause are waited out without a limit: no network, no name server
        /// that responds, no descriptors.
        package var waitsForMachine = false
        /// Whether transfers wait without a limit for a file system that is full or read-only; otherwise for
        /// ``DownloadOptions/outageTimeout``.
        package var waitsForFileSystems = false
        /// Whether all transfers of a host run on the same event loop, so that its idle connections are used again.
        package var keepsHostsOnLanes = false

        /// Creates the defaults.
        package init() {}
    }

    /// The number of transfers in each state.
    package struct Counts: Sendable, Hashable {
        /// Waiting to be admitted.
        package var waiting = 0
        package var running = 0
        package var paused = 0
        /// Waiting for their next attempt.
        package var retrying = 0
        /// The waiting ones that have started before.
        package var waitingAgain = 0
        /// The waiting and retrying ones that are held: by their host, by the network, or by a shortage.
        package var held = 0
        /// Finished with a complete file.
        package var finished = 0
        /// Skipped, because the file existed.
        package var skipped = 0
        package var failed = 0
        package var cancelled = 0
        /// Bytes of body received by runs that have ended.
        package var receivedBytes: Int64 = 0
        /// Bytes of content sent by runs of uploads that have ended.
        package var sentBytes: Int64 = 0

        /// Creates counts of zero.
        package init() {}
    }

    struct State {
        var machine: EngineMachine
        /// The transfers that have not ended.
        var transfers = TransferMap<Transfer>()
        var runs = TransferMap<any TransferRun>()
        /// Complete files that wait to be synced together.
        var unsynced: [(transfer: Transfer, completion: TransferEvent.Completion)] = []
        /// The callbacks of runs that wait for a connection.
        var claims: [WaiterID: (id: TransferID, wake: @Sendable () -> Void)] = [:]
        var waits: [WaiterID: CheckedContinuation<Void, Never>] = [:]
        /// Whether a thread is performing the machine's steps, for each lane; the last entry is for callers on no lane.
        var isDriven: [Bool]
    }

    let transport: any Transport
    let store: any FileStore
    let time: any TimeSource
    let pool: any BlockingPool
    let hub = EventHub()
    var events: EventHub { self.hub }
    let state: Mutex<State>
    let limiter: Mutex<RateLimiter>
    /// Whether each request may have to wait.
    let pacesRequests: Bool
    /// The rules of the origins; `nil` if they are not obeyed.
    let robots: RobotsBook?
    let releasesNames: Bool
    let throttles: Atomic<Bool>
    let subscribers = Mutex<[EventSubscriber.Reference]>([])

    /// Creates an engine that waits for `start()`.
    package init(
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
        var machine = EngineMachine(
            limit: max(1, configuration.concurrentTransfers),
            connectionsPerHost: configuration.connectionsPerHost,
            lanes: lanes,
            politeness: configuration.politeness,
            suffixes: configuration.suffixes ?? .builtIn
        )
        machine.waitsForMachine = configuration.waitsForMachine
        machine.waitsForFileSystems = configuration.waitsForFileSystems
        machine.keepsHostsOnLanes = configuration.keepsHostsOnLanes
        self.state = Mutex(
            State(
                machine: machine,
                isDriven: Array(repeating: false, count: lanes + 1)
            )
        )
        let politeness = configuration.politeness
        self.pacesRequests = politeness.hostInterval > 0 || politeness.domainInterval > 0 || politeness.obeysRobots
        self.robots =
            politeness.obeysRobots
            ? RobotsBook(
                agent: configuration.robotsAgent,
                addresses: politeness.addresses,
                transport: transport,
                time: time
            ) : nil
        self.limiter = Mutex(RateLimiter(rate: configuration.rateLimit))
        self.throttles = Atomic(configuration.rateLimit != nil)
    }

    // MARK: Events

    /// Calls `observer` with every event of interest, one at a time, in order.
    ///
    /// The observer is called on the threads that transfer data, so it must not block. It may call the engine.
    ///
    /// - Returns: The registration, which lasts until its `cancel()`.
    @discardableResult
    package func observe(
        _ interest: TransferEvent.Interest = .all,
        _ observer: @escaping @Sendable (TransferEvent) -> Void
    ) -> Observation {
        Observation(hub: self.hub, number: self.hub.add(interest, observer))
    }

    /// The registration of an observer.
    package struct Observation: Sendable {
        let hub: EventHub
        let number: Int

        /// Removes the observer; a call in progress may return after this method.
        package func cancel() { self.hub.remove(self.number) }
    }

    /// The events as a sequence with a bounded buffer; see ``TransferEvents``.
    package func events(bufferingAtMost capacity: Int = 1024) -> TransferEvents {
        let subscriber = EventSubscriber(capacity: capacity)
        let reference = EventSubscriber.Reference(subscriber: subscriber)
        let number = self.hub.add(.all) { reference.subscriber?.put($0) }
        subscriber.whenUnused { [hub = self.hub] in hub.remove(number) }
        self.subscribers.withLock { references in
            references.removeAll { $0.subscriber == nil }
            references.append(reference)
        }
        return TransferEvents(subscriber: subscriber)
    }

    /// The number of transfers in each state.
    ///
    /// O(n) in the number of hosts while anything is held.
    package var counts: Counts {
        let now = self.time.now
        return self.state.withLock { Counts($0.machine, now) }
    }

    /// The number of held transfers that have started before: they are active in a queue that knows no other states.
    ///
    /// O(n) in the number of hosts while anything is held.
    package var heldStarted: Int {
        let now = self.time.now
        return self.state.withLock { $0.machine.heldCounts(at: now).started }
    }

    /// The state of a transfer; `nil` if it has ended or the id is unknown.
    package func state(of id: TransferID) -> TransferState? { self.state.withLock { $0.machine.state(of: id) } }

    /// The current progress of a transfer; `nil` if it is not running.
    ///
    /// - Returns: The number of bytes present, including those of earlier runs, and the whole length if known.
    package func progress(of id: TransferID) -> (bytes: Int64, total: Int64?)? {
        self.state.withLock { $0.runs[id] }?.position
    }

    /// The target of a transfer's file as far as known; `nil` if it has ended or has no file.
    package func target(of id: TransferID) -> FileTarget? {
        self.state.withLock { $0.transfers[id] }?.memory.withLock { $0.target }
    }
}

extension TransferEngine.Counts {
    fileprivate init(_ machine: EngineMachine, _ now: Int64) {
        self.held = machine.heldCounts(at: now).all
        self.waitingAgain = machine.waitingAgainCount
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
