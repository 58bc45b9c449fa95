// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
package import Control
internal import FileStorage
internal import HTTPTransport
internal import Logging
internal import Martlet
package import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// The daemon's queue: runs stored transfers on engines, and stores their ends before it reports them.
///
/// The store is authoritative for waiting, paused and ended transfers; memory holds those that run or are about to run.
/// All decisions are made on this actor; the transferred bytes never cross it.
package actor DaemonCore: TransferService {
    /// The state that can be read without entering the actor.
    struct Snapshot: Sendable {
        var counts = QueueCounts()
        /// Body bytes received for the transfers that finished since the start.
        var receivedBytes: Int64 = 0
        var options: TransferOptions
        var hostLimits: [String: Int]
        var schedule: Schedule?
        /// The reason why the queue cannot be stored, or `nil`.
        var trouble: String?
        /// The problem of each file system that transfers wait for.
        var heldFileSystems: [String] = []
        /// The time of the last log message about ``trouble``.
        var troubleLogged: Int64?
        var stop = Stop.no

        enum Stop: Sendable, Hashable { case no, asked, done }
    }

    nonisolated let configuration: CoreConfiguration
    nonisolated let store: QueueStore
    nonisolated let snapshot: Mutex<Snapshot>
    nonisolated let broadcast = EventBroadcast()
    nonisolated let outbox: ReportQueue
    /// The total rate of the last minutes.
    nonisolated let rates = Mutex(RateHistory())
    /// The lists that clients are reading.
    nonisolated let lists = ListBook()
    private nonisolated let signals: AsyncStream<Void>
    private nonisolated let signal: AsyncStream<Void>.Continuation
    let parts: EngineParts
    private nonisolated let beginning: Int64

    /// Decides which transfers are claimed from the store, staged on engines and withdrawn.
    var machine = QueueMachine()
    var lanes: [String?: Lane] = [:]
    var sessions: [String: SessionState]
    /// The programs that wake commands started, by session.
    var woken: [String: WokenProgram]
    var nextReader = 0
    /// The recorded ends and events for the next transaction.
    var pending = EndBatch()
    /// The events that the drain in progress reports at its end; `nil` outside of a drain.
    var unreported: [ServiceEvent]?
    /// The recent events of transfers, for their details.
    var history = TransferHistory()
    /// The number of transfers that have ended since the start.
    var endedInAll = 0
    /// The transfers that were added recently.
    var added = AddedTransfers()
    var isStopping = false
    /// Whether requests that must not be repeated are interrupted, too.
    var isStopForced = false
    /// Ends the wait for them.
    var completion: CallOnce?
    var hasStopped = false
    var wasBusy = false
    var lastProgressWrite = 0.0
    var lastGateLook = 0.0
    var lastSessionSave: Double
    /// The continuations of callers whose changes have taken effect.
    var answered: [() -> Void] = []
    /// Removed transfers that an engine had started.
    var beingCancelled: Set<GID> = []
    /// The files of transfers that were removed while an engine was already cancelling them, and keeps them.
    var keptFiles: [GID: String] = [:]
    /// The callers that wait until a transfer has left its engine.
    var leaveWaiters: [GID: [CheckedContinuation<Void, Never>]] = [:]
    /// The callers that wait until the transfers staged for a session follow the store's order.
    var orderWaiters: [String?: [CheckedContinuation<Void, Never>]] = [:]
    var stopWaiters: [CheckedContinuation<Void, Never>] = []
    /// The last import of spools, until it has ended; each one waits for the one before.
    var spoolImport: Task<Void, Never>?
    /// The names of spools that could not be imported for a reason that may pass, and the problems with others: logged
    /// once.
    var keptSpools: Set<String> = []
    var lastSpoolLook = 0.0
    /// The timer for the machine's next wake-up.
    var timer: Task<Void, Never>?
    var work: [Task<Void, Never>] = []

    /// Opens the queue in a store and starts to run it.
    ///
    /// The core closes the store when it has stopped.
    ///
    /// - Throws: `storage`, `diskFull`, or `badParameter` if the configuration's own options are invalid.
    package static func open(
        _ configuration: CoreConfiguration,
        store: QueueStore
    ) async throws(ControlError) -> DaemonCore {
        let start: CoreStart
        do throws(QueueStoreError) {
            let (limits, now) = (configuration.wake, configuration.clock.now())
            start = try await store.read { (reader) throws(QueueStoreError) in
                try CoreStart(reader, limits: limits, at: now)
            }
        } catch {
            throw ControlError(error)
        }
        let core = DaemonCore(configuration, store, start)
        try await core.begin()
        await core.importSpools()
        return core
    }

    private init(_ configuration: CoreConfiguration, _ store: QueueStore, _ start: CoreStart) {
        self.configuration = configuration
        self.store = store
        self.beginning = configuration.clock.uptime()
        self.parts = EngineParts(
            resources: configuration.resources ?? .live(),
            notes: UploadNotes(stateDirectory: configuration.stateDirectory),
            allowedAddresses: configuration.allowedAddresses
        )
        self.sessions = start.sessions
        self.woken = start.woken
        self.lastSessionSave = configuration.clock.now()
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
        self.outbox = ReportQueue { signal.yield() }
        for (session, counts) in start.counts { self.machine.counted(session, counts) }
    }

    /// Returns the time for which events are collected before the next drain: longer after many events.
    private static func gathering(after heard: Int) -> Duration { .milliseconds(heard < 64 ? 10 : 30) }

    private func begin() throws(ControlError) {
        _ = try LaneSettings(shared: self.configuration.shared, options: self.globalOptions)
        self.wasBusy = self.machine.totals.waiting > 0
        self.watchStore()
        self.store.onRemoved { [outbox = self.outbox] transfers, deletesPartial in
            outbox.put(.answer { $0.deleteFiles(of: transfers, deletingPartial: deletesPartial) })
        }
        self.machine.setMostAtOnce(self.configuration.mostAtOnce)
        self.setHistory()
        let sleep = self.configuration.clock.sleep
        self.work = [
            Task { [weak self, signals = self.signals] in
                for await _ in signals {
                    let heard = await self?.drain() ?? 0
                    // Events of this time are handled, stored and reported together: with many small files this is
                    // most of a transfer's cost here.
                    await sleep(Self.gathering(after: heard))
                }
            },
            Task { [weak self] in
                while !Task.isCancelled {
                    guard let pause = await self?.tick() else { return }
                    await sleep(.seconds(pause))
                }
            },
        ]
        self.parts.pool.run { [notes = self.parts.notes] in notes.sweep() }
        if self.machine.counts(of: nil).waiting > 0 { self.lane(nil) }
        for identifier in self.sessions.keys where self.machine.counts(of: identifier).waiting > 0 {
            self.lane(identifier)
        }
        self.pump()
        self.publish()
    }

    // MARK: Lanes

    /// Returns the lane of a session or of the shared queue; creates it if there is none.
    @discardableResult
    func lane(_ session: String?) -> Lane {
        if let lane = self.lanes[session] { return lane }
        let lane = Lane(
            session: session,
            settings: self.settings(session),
            hostLimits: self.hostLimits,
            parts: self.parts,
            outbox: self.outbox
        )
        self.lanes[session] = lane
        self.machine.open(session, limit: lane.settings.engine.concurrentTransfers)
        if !self.isInSchedule { self.machine.hold(.schedule) }
        if lane.settings.gate?.isOpen == false { self.machine.hold(.conditions, session) }
        return lane
    }

    /// Returns a lane's settings; stored configurations and options were checked before they were stored.
    func settings(_ session: String?) -> LaneSettings {
        guard let session, let state = self.sessions[session] else {
            let usual = LaneSettings(session: self.configuration.shared)
            return (try? LaneSettings(shared: self.configuration.shared, options: self.globalOptions)) ?? usual
        }
        var configuration = self.configuration.shared
        do {
            configuration = try SessionConfiguration(json: try JSON(parsing: state.text))
            configuration.cookies = state.cookies
        } catch {
            self.configuration.logger.error("the configuration of session \(session) cannot be read: \(error)")
        }
        configuration.conditions = self.configuration.conditions
        var settings = LaneSettings(session: configuration)
        if configuration.outageTimeout == nil {
            settings.defaults[.outageTimeout] = self.globalOptions[.outageTimeout]
        }
        return settings
    }

    // MARK: Nonisolated state

    /// The current counts.
    package nonisolated var counts: QueueCounts { self.snapshot.withLock { $0.counts } }
    /// Whether the queue can continue, and whether transfers wait for a file system; for `/health`.
    package nonisolated var health: DaemonHealth {
        self.snapshot.withLock { snapshot in
            if let trouble = snapshot.trouble { return .failing(trouble) }
            guard let cause = snapshot.heldFileSystems.first else { return .ok }
            let count = snapshot.heldFileSystems.count
            let what = count == 1 ? "a file system is \(cause)" : "\(count) file systems are full or read-only"
            return .degraded("\(what): transfers wait for it; see the log and the transfers")
        }
    }

    /// Observes failing writes: keeps the reason for `/health` and logs it at most once a minute.
    private func watchStore() {
        self.store.onFailure { [weak self] failure in
            guard let self, let failure else { return }
            let text = failure.code == .full ? "the queue's disk is full" : failure.message
            let now = self.uptime
            let isDue = self.snapshot.withLock { snapshot in
                snapshot.trouble = text
                guard snapshot.troubleLogged.map({ now - $0 >= 60_000_000_000 }) ?? true else { return false }
                snapshot.troubleLogged = now
                return true
            }
            if isDue { self.configuration.logger.error("the queue cannot be stored: \(text)") }
        }
    }

    /// Clears the trouble after a successful write.
    func storeWorks() {
        // On a full disk small changes may succeed while ends do not.
        guard !self.isFull else { return }
        let hadTrouble = self.snapshot.withLock { snapshot in
            defer { (snapshot.trouble, snapshot.troubleLogged) = (nil, nil) }
            return snapshot.trouble != nil
        }
        if hadTrouble { self.configuration.logger.notice("the queue can be stored again") }
    }

    /// Body bytes received for the transfers that finished since the start.
    package nonisolated var receivedBytes: Int64? { self.snapshot.withLock { $0.receivedBytes } }
    /// The queue's own options, and the defaults for transfers.
    package nonisolated var globalOptions: TransferOptions { self.snapshot.withLock { $0.options } }
    /// The connection limits by host name.
    package nonisolated var hostLimits: [String: Int] { self.snapshot.withLock { $0.hostLimits } }
    /// The times at which transfers run; `nil` means always.
    package nonisolated var schedule: Schedule? { self.snapshot.withLock { $0.schedule } }

    var now: Double { self.configuration.clock.now() }

    /// Updates the counts of the snapshot, and reports `drained` when no transfer is waiting or running any more.
    func publish() {
        var counts = QueueCounts()
        var rate: Int64 = 0
        var retrying = 0
        let now = self.uptime
        for lane in self.lanes.values {
            for live in lane.live.values {
                rate += live.rate(at: now)
                if live.retry != nil { retrying += 1 }
            }
        }
        let totals = self.machine.totals
        let started = self.machine.activeCount
        counts.held = min(started, self.lanes.values.reduce(0) { $0 + $1.heldCount })
        counts.retrying = min(started - counts.held, max(0, retrying - counts.held))
        counts.active = started - counts.held - counts.retrying
        counts.waiting = max(0, totals.waiting - started)
        counts.paused = totals.paused
        counts.finished = totals.finished
        counts.failed = totals.failed
        counts.removed = totals.removed
        counts.endedInAll = self.endedInAll
        counts.rate = rate
        let isBusy = counts.waiting + started > 0
        let heldFileSystems = self.heldFileSystems
        self.snapshot.withLock {
            $0.counts = counts
            $0.heldFileSystems = heldFileSystems
        }
        if self.wasBusy, !isBusy { self.tell(.drained) }
        self.wasBusy = isBusy
    }

    /// Nanoseconds since the core was created.
    nonisolated var uptime: Int64 {
        self.configuration.clock.uptime() - self.beginning
    }

    /// Changes the store, then the core's state, in the order of the store's transactions.
    ///
    /// - Parameters:
    ///   - work: The change.
    ///   - touched: The sessions whose transfers are counted after the change.
    ///   - apply: Called on the core after the commit; then the machine's effects are performed.
    ///   - drop: Called in its place if nothing was stored.
    /// - Returns: The result of `work`.
    /// - Throws: The store's error.
    @discardableResult
    func change<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        touching touched: @escaping @Sendable (T) -> Set<String?> = { _ in [] },
        then apply: @escaping @Sendable (isolated DaemonCore, T) -> Void = { _, _ in },
        otherwise drop: @escaping @Sendable (isolated DaemonCore) -> Void = { _ in }
    ) async throws(ControlError) -> T {
        guard !self.isStopping else {
            drop(self)
            throw Self.stopping
        }
        let result: Result<T, QueueStoreError> = await withCheckedContinuation { continuation in
            self.later(work, touching: touched, isAwaited: true) { core, result in
                if case .success(let value) = result { apply(core, value) } else { drop(core) }
                core.answered.append { continuation.resume(returning: result) }
            }
        }
        do throws(QueueStoreError) {
            return try result.get()
        } catch {
            throw ControlError(error)
        }
    }

    /// Enqueues a change of the store; `done` is called on the core, in the order of the store's transactions.
    func later<T: Sendable>(
        _ work: @escaping @Sendable (borrowing QueueWriter) throws(QueueStoreError) -> T,
        touching touched: @escaping @Sendable (T) -> Set<String?> = { _ in [] },
        isAwaited: Bool = false,
        writes: Bool = true,
        done: @escaping @Sendable (isolated DaemonCore, Result<T, QueueStoreError>) -> Void
    ) {
        self.store.writeLater(
            { (writer) throws(QueueStoreError) -> (T, [(String?, LaneCounts)]) in
                let value = try work(writer)
                var counts: [(String?, LaneCounts)] = []
                for session in touched(value) {
                    counts.append((session, LaneCounts(try writer.reader.counts(session: session))))
                }
                return (value, counts)
            },
            done: { [outbox = self.outbox, weak self] result in
                outbox.put(
                    .answer { core in
                        if case .success(let (_, counts)) = result {
                            if writes { core.storeWorks() }
                            for (session, counts) in counts { core.machine.counted(session, counts) }
                        }
                        done(core, result.map(\.0))
                    }
                )
                // A client waits: drain without delay.
                if isAwaited { Task { await self?.drain() } }
            }
        )
    }

    static let stopping = ControlError(.stopping, "the daemon is stopping", remedy: "start it again")

    /// Whether the queue's disk is full, so that nothing can be stored.
    var isFull: Bool { self.machine.holds.contains(.databaseFull) }

    func endSignals() { self.signal.finish() }
}
