package import Control
internal import FileStorage
internal import HTTPTransport
internal import Logging
internal import Martlet
package import QueueStore
internal import Synchronization
internal import TransferEngine

/// The daemon's queue: what the store has is run by engines, and what becomes of it is stored before it is told.
///
/// The store is the truth about what waits, is paused and has ended; memory holds what runs or is about to. It decides on
/// one actor; the bytes never come here.
package actor DaemonCore: TransferService {
    /// What can be asked without waiting.
    struct Snapshot: Sendable {
        var counts = QueueCounts()
        /// Bytes of bodies, over the transfers that have ended.
        var receivedBytes: Int64 = 0
        var options: TransferOptions
        var hostLimits: [String: Int]
        var schedule: Schedule?
        /// Why the queue does not go on, where it cannot.
        var trouble: String?
        var stop = Stop.no

        enum Stop: Sendable, Hashable { case no, asked, done }
    }

    nonisolated let configuration: CoreConfiguration
    nonisolated let store: QueueStore
    nonisolated let snapshot: Mutex<Snapshot>
    nonisolated let broadcast = EventBroadcast()
    nonisolated let outbox: Outbox
    private nonisolated let signals: AsyncStream<Void>
    private nonisolated let signal: AsyncStream<Void>.Continuation
    let parts: EngineParts

    var lanes: [String?: Lane] = [:]
    var nextSerial = 0
    var sessions: [String: SessionState]
    var nextReader = 0
    var book: CountBook
    var pending = EndBatch()
    var isWriting = false
    /// Whether the disk under the store is full.
    var isFull = false
    /// What is forgetting the oldest of the history.
    var trimming: Task<Void, Never>?
    var lastTrim = 0.0
    var isStopping = false
    var wasBusy = false
    var lastProgressWrite = 0.0
    var lastGateLook = 0.0
    /// Those who wait until a transfer has left its engine.
    var leaveWaiters: [GID: [CheckedContinuation<Void, Never>]] = [:]
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// Whether something that is stored whole is being read, changed and written.
    var isChanging = false
    var changeWaiters: [CheckedContinuation<Void, Never>] = []
    var work: [Task<Void, Never>] = []

    /// Opens the queue that a store holds, and begins to run it.
    ///
    /// The core closes the store when it has stopped.
    ///
    /// - Throws: `storage`, `diskFull`, or `badParameter` where the configuration's own options cannot be used.
    package static func open(
        _ configuration: CoreConfiguration,
        store: QueueStore
    ) async throws(ControlError) -> DaemonCore {
        let start: CoreStart
        do throws(QueueStoreError) {
            start = try await store.read { (reader) throws(QueueStoreError) in try CoreStart(reader) }
        } catch {
            throw ControlError(error)
        }
        let core = DaemonCore(configuration, store, start)
        try await core.begin()
        return core
    }

    private init(_ configuration: CoreConfiguration, _ store: QueueStore, _ start: CoreStart) {
        self.configuration = configuration
        self.store = store
        self.parts = EngineParts(
            loops: SharedLoops(laneCount: 2),
            store: DiskStore(),
            pool: NIOBlockingPool(threadCount: 4),
            notes: UploadNotes(stateDirectory: configuration.stateDirectory)
        )
        self.book = CountBook(start.counts)
        self.sessions = start.sessions
        self.snapshot = Mutex(
            Snapshot(
                options: configuration.options.merging(start.options),
                hostLimits: start.hostLimits,
                schedule: start.schedule
            )
        )
        let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.signals = signals
        self.signal = signal
        self.outbox = Outbox { signal.yield() }
    }

    /// The time in which events are gathered before they are looked at again: more where there are many.
    private static func gathering(after heard: Int) -> Duration { .milliseconds(heard < 64 ? 10 : 30) }
    /// The time in which changes of the order are gathered where there are many.
    private static let reordering = Duration.milliseconds(100)

    private func begin() throws(ControlError) {
        _ = try LaneSettings(shared: self.configuration.shared, options: self.globalOptions)
        self.wasBusy = self.book[.waiting] > 0
        self.work = [
            Task { [weak self, signals = self.signals] in
                for await _ in signals {
                    let heard = await self?.drain() ?? 0
                    // What comes meanwhile is looked at, stored and told together: with many small files that is most of
                    // what a transfer costs here.
                    try? await Task.sleep(for: Self.gathering(after: heard))
                }
            },
            Task { [weak self] in
                while !Task.isCancelled {
                    guard let pause = await self?.tick() else { return }
                    try? await Task.sleep(for: .seconds(pause))
                }
            },
        ]
        self.parts.pool.run { [notes = self.parts.notes] in notes.sweep() }
        if self.book[nil, .waiting] > 0 { self.refill(self.lane(nil)) }
        for identifier in self.sessions.keys where self.book[identifier, .waiting] > 0 {
            self.refill(self.lane(identifier))
        }
        self.trim()
        self.publish()
    }

    // MARK: Lanes

    /// A session's lane, or the shared queue's; made where there is none.
    func lane(_ session: String?) -> Lane {
        if let lane = self.lanes[session] { return lane }
        self.nextSerial += 1
        let lane = Lane(
            session: session,
            serial: self.nextSerial,
            settings: self.settings(session),
            hostLimits: self.hostLimits,
            parts: self.parts,
            outbox: self.outbox
        )
        self.lanes[session] = lane
        if self.isFull { _ = lane.queue.hold(.diskFull, cutsRunning: false) }
        if self.isStopping { _ = lane.queue.hold(.stopping, cutsRunning: false) }
        if !self.isInSchedule { _ = lane.queue.hold(.schedule, cutsRunning: true) }
        if lane.settings.gate?.isOpen == false { _ = lane.queue.hold(.conditions, cutsRunning: true) }
        return lane
    }

    /// How a lane's transfers are made; what was stored is what was checked when it came.
    func settings(_ session: String?) -> LaneSettings {
        guard let session, let state = self.sessions[session] else {
            let usual = LaneSettings(session: self.configuration.shared)
            return (try? LaneSettings(shared: self.configuration.shared, options: self.globalOptions)) ?? usual
        }
        var configuration = self.configuration.shared
        do {
            configuration = try SessionConfiguration(json: try JSON(parsing: state.text))
        } catch {
            self.configuration.logger.error("the configuration of session \(session) cannot be read: \(error)")
        }
        configuration.conditions = self.configuration.conditions
        return LaneSettings(session: configuration)
    }

    /// Reads what is next, where there is room for it.
    func refill(_ lane: Lane) {
        guard !self.isStopping else { return }
        guard let fetch = lane.queue.nextFetch() else {
            // A session that has nothing left needs no engine.
            if let session = lane.session, lane.queue.entries.isEmpty, self.book[session, .waiting] == 0 {
                self.lanes[session] = nil
            }
            return
        }
        let (session, serial, store) = (lane.session, lane.serial, self.store)
        Task {
            var found: [StoredTransfer]?
            do throws(QueueStoreError) {
                found = try await store.read { (reader) throws(QueueStoreError) in
                    try reader.nextToRun(session: session, limit: fetch.limit, excluding: fetch.excluded)
                }
            } catch {
                self.configuration.logger.error("the queue cannot be read: \(error.message)")
            }
            self.fetched(session, serial, fetch, found)
        }
    }

    private func fetched(_ session: String?, _ serial: Int, _ fetch: LaneQueue.Fetch, _ found: [StoredTransfer]?) {
        guard let lane = self.lanes[session], lane.serial == serial else { return }
        guard let found else {
            // The next tick asks again.
            return lane.queue.fetchFailed(fetch)
        }
        for entry in lane.queue.fetched(fetch, found) {
            do throws(StagingFailure) {
                try lane.stage(entry)
            } catch {
                self.ended(lane, entry.transfer.id, run: entry.run, failure: error.failure)
            }
        }
        self.flush()
        self.refill(lane)
    }

    /// Takes back what has not begun, for it may no longer be next, and reads anew.
    ///
    /// That passes over everything taken: where it is asked for very often it is done now and then, for all of them.
    func reorder(_ lane: Lane) {
        guard !lane.isReorderPlanned else { return }
        guard lane.reorders.allows(at: .now) else {
            lane.isReorderPlanned = true
            Task { [weak lane] in
                try? await Task.sleep(for: Self.reordering)
                guard let lane, self.lanes[lane.session] === lane else { return }
                lane.isReorderPlanned = false
                self.reorderNow(lane)
            }
            return
        }
        self.reorderNow(lane)
    }

    private func reorderNow(_ lane: Lane) {
        for entry in lane.queue.takeBackStaged() { lane.giveBack(entry.transfer.id) }
        self.refill(lane)
    }

    // MARK: What everyone may ask

    /// The counts of now.
    package nonisolated var counts: QueueCounts { self.snapshot.withLock { $0.counts } }
    /// Why the queue does not go on, where it cannot: for `/health`.
    nonisolated var trouble: String? { self.snapshot.withLock { $0.trouble } }
    /// Bytes of bodies that were received for the transfers that have ended since the start.
    package nonisolated var receivedBytes: Int64? { self.snapshot.withLock { $0.receivedBytes } }
    /// The queue's own options, and the defaults.
    package nonisolated var globalOptions: TransferOptions { self.snapshot.withLock { $0.options } }
    /// The limits set for hosts.
    package nonisolated var hostLimits: [String: Int] { self.snapshot.withLock { $0.hostLimits } }
    /// When transfers run.
    package nonisolated var schedule: Schedule? { self.snapshot.withLock { $0.schedule } }

    /// What happens from now on.
    package nonisolated func events(capacity: Int) -> AsyncStream<ServiceEvent> {
        self.broadcast.listen(capacity: capacity)
    }

    /// Whether somebody wants to hear of single transfers.
    var isHeard: Bool { self.configuration.onEvent != nil || self.broadcast.isHeard }

    func tell(_ event: ServiceEvent) {
        self.configuration.onEvent?(event)
        self.broadcast.send(event)
    }

    var now: Double { self.configuration.clock.now() }

    /// Makes the counts visible.
    func publish() {
        var counts = QueueCounts()
        var rate: Int64 = 0
        for lane in self.lanes.values {
            counts.active += lane.queue.activeCount
            for live in lane.live.values { rate += live.rate }
        }
        counts.waiting = max(0, self.book[.waiting] - counts.active)
        counts.paused = self.book[.paused]
        counts.finished = self.book[.finished]
        counts.failed = self.book[.failed]
        counts.removed = self.book[.removed]
        counts.endedInAll = self.book.endedInAll
        counts.rate = rate
        let isBusy = counts.waiting + counts.active > 0
        self.snapshot.withLock { $0.counts = counts }
        if self.wasBusy, !isBusy { self.tell(.drained) }
        self.wasBusy = isBusy
    }

    /// Writes in a transaction; errors are in the interface's words.
    func write<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T
    ) async throws(ControlError) -> T {
        guard !self.isStopping else { throw Self.stopping }
        do throws(QueueStoreError) {
            return try await self.store.write(work)
        } catch {
            throw ControlError(error)
        }
    }

    /// Reads a consistent state; errors are in the interface's words.
    func read<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueReader) throws(QueueStoreError) -> T
    ) async throws(ControlError) -> T {
        guard !self.isStopping else { throw Self.stopping }
        do throws(QueueStoreError) {
            return try await self.store.read(work)
        } catch {
            throw ControlError(error)
        }
    }

    static let stopping = ControlError(.stopping, "the daemon is stopping", remedy: "start it again")

    func endSignals() { self.signal.finish() }
}
