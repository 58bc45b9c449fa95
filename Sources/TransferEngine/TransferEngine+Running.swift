internal import Synchronization
internal import TransferCore

/// Admitting transfers and taking them back.
extension TransferEngine {
    private enum Step {
        case begin(any TransferRun)
        case wake(@Sendable () -> Void)
        case done
    }

    /// Starts what may start.
    ///
    /// A call that comes while the same lane is at it leaves the work to that one: a transfer that ends as it
    /// begins so never nests.
    func pump(lane: Int?) {
        let slot = lane ?? self.transport.laneCount
        let enters = self.state.withLock { state in
            if state.isPumping[slot] {
                state.pumpAgain[slot] = true
                return false
            }
            state.isPumping[slot] = true
            return true
        }
        guard enters else { return }
        while true {
            let step: Step = self.state.withLock { state in
                state.pumpAgain[slot] = false
                let step = self.nextStep(&state, lane)
                if case .done = step { state.isPumping[slot] = false }
                return step
            }
            switch step {
            case .begin(let run): self.transport.execute(onLane: run.lane) { run.begin() }
            case .wake(let wake): wake()
            case .done: return
            }
        }
    }

    private func nextStep(_ state: inout State, _ lane: Int?) -> Step {
        let now = self.time.now
        for index in state.slotWaiters.indices {
            let waiter = state.slotWaiters[index]
            if state.scheduler.acquireConnection(waiter.origin, now: now) {
                state.slotWaiters.remove(at: index)
                return .wake(waiter.wake)
            }
        }
        guard state.isStarted, !state.isStopping, state.unsynced.count < Self.unsyncedLimit else { return .done }
        guard let id = state.scheduler.admitNext(now: now), let transfer = state.transfers[id] else { return .done }
        transfer.move(to: .running)
        transfer.memory.withLock { $0.attempts += 1 }
        var best = lane ?? 0
        for index in state.laneLoad.indices where state.laneLoad[index] < state.laneLoad[best] { best = index }
        state.laneLoad[best] += 1
        let run: any TransferRun =
            switch transfer.work {
            case .download(let request):
                DownloadRun(
                    host: self,
                    transfer: transfer,
                    request: request,
                    lane: best,
                    now: now,
                    earlier: transfer.memory.withLock { EarlierRuns(activeTime: $0.activeTime, received: $0.received) }
                )
            case .upload(let request):
                UploadRun(
                    host: self,
                    transfer: transfer,
                    request: request,
                    lane: best,
                    now: now,
                    earlier: transfer.memory.withLock { memory in
                        EarlierRuns(activeTime: memory.activeTime, received: memory.received, sent: memory.upload.sent)
                    }
                )
            }
        state.running[id] = run
        if !state.isTicking {
            state.isTicking = true
            self.time.schedule(after: Self.tickInterval) { self.tick() }
        }
        return .begin(run)
    }

    static let tickInterval: Int64 = 200_000_000
    private static let unsyncedLimit = 512

    private func tick() {
        let runs: [any TransferRun] = self.state.withLock { state in
            if state.running.isEmpty {
                state.isTicking = false
                return []
            }
            return Array(state.running.values)
        }
        guard !runs.isEmpty else { return }
        let now = self.time.now
        for run in runs { run.tick(now) }
        self.pump(lane: nil)
        self.time.schedule(after: Self.tickInterval) { self.tick() }
    }

    /// A run has ended: its connections are closed and its file is kept, named or gone.
    func runEnded(_ run: any TransferRun, _ outcome: RunOutcome) {
        let now = self.time.now
        let tally = run.tally
        let (received, sent, hasAdvanced) = (tally.received, tally.sent, tally.hasAdvanced)
        let transfer = run.transfer
        transfer.memory.withLock { memory in
            memory.activeTime += now - run.startedAt
            memory.received += received
            memory.upload.sent += sent
            memory.budget.kept(tally.kept)
        }
        var discarded: FileTarget?
        var givenUp: (Transfer, keeping: Bool)?
        self.state.withLock { state in
            state.running[transfer.id] = nil
            let asked = outcome
            let outcome = state.wishes.removeValue(forKey: transfer.id)?.applied(to: asked) ?? asked
            state.laneLoad[run.lane] -= 1
            state.scheduler.ended()
            state.counts.receivedBytes += received
            state.counts.sentBytes += sent
            if hasAdvanced { state.hostFailures[transfer.origin] = nil }
            switch outcome {
            case .finished(let completion):
                if transfer.options.durable, !completion.skipped, case .download = transfer.work {
                    state.unsynced.append((transfer, completion))
                } else {
                    self.endTransfer(&state, transfer, .finished, .finished(completion))
                }
            case .failed(let failure):
                self.endTransfer(&state, transfer, .failed, .failed(failure))
            case .retry(let failure):
                // A host that sends bytes is not down, however often it breaks off.
                if hasAdvanced { state.hostFailures[transfer.origin] = nil }
                self.retry(&state, transfer, failure, now)
            case .paused:
                transfer.move(to: .paused)
                state.counts.paused += 1
                self.hub.post(transfer.event(.paused))
            case .stopped:
                self.enqueue(&state, transfer, atFront: true)
            case .cancelled(let keeping):
                // The run that ended otherwise has kept what there is.
                if !asked.isCancellation {
                    if !keeping { discarded = transfer.deletable }
                    givenUp = (transfer, keeping)
                }
                self.endTransfer(&state, transfer, .cancelled, .cancelled)
            }
        }
        if let (transfer, keeping) = givenUp {
            transfer.letGoOfSource()
            if !keeping { self.terminate(transfer) }
        }
        if let discarded { self.pool.run { try? self.store.discardPartial(discarded) } }
        self.sync()
        self.pump(lane: run.lane)
        self.settle()
    }

    // MARK: Retries

    private func retry(_ state: inout State, _ transfer: Transfer, _ failure: TransferFailure, _ now: Int64) {
        let origin = transfer.origin
        let isHostsFault = failure.isHostFault
        if isHostsFault { state.hostFailures[origin, default: 0] += 1 }
        let isHostDown = state.hostFailures[origin, default: 0] > 3 * (transfer.options.retries + 1)
        let jitter = Double.random(in: 0...1)
        let own = transfer.memory.withLock { $0.budget.failed(retryAfter: failure.retryAfter, jitter: jitter) }
        let wait = transfer.options.retryWait.inNanoseconds
        guard let delay = own.map({ max($0, wait) }), !isHostDown else {
            var last = failure
            if transfer.options.retries > 0 {
                last.message +=
                    isHostDown
                    ? " (as all lately at this host)"
                    : " (\(transfer.memory.withLock { $0.attempts }) attempts)"
            }
            return self.endTransfer(&state, transfer, .failed, .failed(last))
        }
        // The time between attempts is part of the transfer's: where none would be left, it has run out now.
        let total = transfer.options.totalTimeout.inNanoseconds
        let spent = transfer.memory.withLock { memory in
            memory.activeTime += delay
            return memory.activeTime
        }
        guard total <= 0 || spent < total else {
            let allowed = DurationFormat.compact(transfer.options.totalTimeout)
            let late = TransferFailure(
                .timeout,
                "not finished within \(allowed), and the last attempt failed: \(failure.message)",
                setting: .resourceTimeout
            )
            return self.endTransfer(&state, transfer, .failed, .failed(late))
        }
        if isHostsFault { state.scheduler.holdBack(origin, until: now + delay) }
        transfer.move(to: .retrying(at: now + delay))
        state.counts.retrying += 1
        self.hub.post(
            transfer.event(
                .retrying(failure, attempt: transfer.memory.withLock { $0.attempts }, delay: .nanoseconds(delay))
            )
        )
        let timer = self.time.schedule(after: delay) { self.retryIsDue(transfer) }
        transfer.memory.withLock { $0.wakeUp = timer }
    }

    private func retryIsDue(_ transfer: Transfer) {
        self.state.withLock { state in
            guard case .retrying = transfer.state else { return }
            state.counts.retrying -= 1
            self.enqueue(&state, transfer, atFront: true)
        }
        self.pump(lane: nil)
    }

    // MARK: Durability in groups

    /// After a group of so many, the next one is gathered for a while: each costs syncs that do not grow with it.
    private static let largeGroup = 16
    /// Nanoseconds.
    private static let gathering: Int64 = 20_000_000

    private func sync() {
        let starts = self.state.withLock { state in
            guard !state.isSyncing, !state.unsynced.isEmpty else { return false }
            state.isSyncing = true
            return true
        }
        if starts { self.pool.run { self.syncGroup() } }
    }

    private func syncGroup() {
        while true {
            let group = self.state.withLock { state in
                let group = state.unsynced
                state.unsynced = []
                state.syncing = group.count
                if group.isEmpty { state.isSyncing = false }
                return group
            }
            if group.isEmpty { break }
            let errors = self.store.flushGroup(group.map(\.completion.path))
            let now = self.time.now
            self.state.withLock { state in
                state.syncing = 0
                for (transfer, completion) in group {
                    if let error = errors[completion.path] {
                        self.groupFailed(&state, transfer, error, now)
                    } else {
                        self.endTransfer(&state, transfer, .finished, .finished(completion))
                    }
                }
            }
            self.pump(lane: nil)
            self.settle()
            if group.count >= Self.largeGroup {
                self.time.schedule(after: Self.gathering) { self.pool.run { self.syncGroup() } }
                return
            }
        }
    }

    private func groupFailed(_ state: inout State, _ transfer: Transfer, _ error: StorageError, _ now: Int64) {
        let failure = TransferFailure(error)
        // Somebody took the name after it was last looked at: the next attempt sees what is there, and does as it should.
        guard error.code == .exists, transfer.options.ifExists != .fail else {
            return self.endTransfer(&state, transfer, .failed, .failed(failure))
        }
        self.retry(&state, transfer, failure, now)
    }

    // MARK: Telling those who wait

    /// Delivers events, and wakes whoever waits for what is so now.
    func settle() {
        self.hub.deliver()
        let woken: [CheckedContinuation<Void, Never>] = self.state.withLock { state in
            var woken: [CheckedContinuation<Void, Never>] = []
            let hasStopped = state.isStopping && state.running.isEmpty && state.unsynced.isEmpty && state.syncing == 0
            if hasStopped {
                woken += state.stopWaiters
                state.stopWaiters = []
            }
            if hasStopped || self.isDrained(state) {
                woken += state.drainWaiters
                state.drainWaiters = []
            }
            if !state.feedWaiters.isEmpty {
                let waiting = state.scheduler.waitingCount
                woken += state.feedWaiters.filter { $0.atMost >= waiting || state.isStopping }.map(\.continuation)
                state.feedWaiters.removeAll { $0.atMost >= waiting || state.isStopping }
            }
            return woken
        }
        guard !woken.isEmpty else { return }
        // Another thread may be delivering: whoever waits for the end wakes after its events, not before.
        self.hub.post(then: { for continuation in woken { continuation.resume() } })
        self.hub.deliver()
    }

    // MARK: Connections

    func connectionsReleased(lane: Int?) { self.pump(lane: lane) }

    func acquireConnection(_ origin: Origin, for transfer: TransferID) -> Bool {
        let now = self.time.now
        return self.state.withLock { $0.scheduler.acquireFurtherConnection(origin, now: now) }
    }

    /// A host refused a further connection for a file: the connections that it has now are its limit for some time.
    ///
    /// Called under a run's lock, after the refused connection was released.
    func connectionRefused(_ origin: Origin) {
        let now = self.time.now
        self.state.withLock { $0.scheduler.connectionRefused(origin, now: now) }
    }

    func takeConnection(_ origin: Origin, for transfer: TransferID) {
        self.state.withLock { $0.scheduler.takeConnection(origin) }
    }

    /// Gives a connection back.
    ///
    /// Called under a run's lock, so nobody is woken here: `pump` does that.
    func releaseConnection(_ origin: Origin, of transfer: TransferID) {
        self.state.withLock { $0.scheduler.releaseConnection(origin) }
    }

    /// Calls `wake` when a connection to a host was taken for it.
    func whenConnectionIsFree(_ origin: Origin, for transfer: TransferID, _ wake: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.slotWaiters.append((origin, wake)) }
        self.pump(lane: nil)
    }

    // MARK: Rate limits

    var isThrottling: Bool { self.throttles.load(ordering: .relaxed) }

    func charge(_ count: Int, to transfer: Transfer, now: Int64) -> RateTickets {
        RateTickets(
            global: self.limiter.withLock { $0.rate == nil ? nil : $0.charge(count, now: now) },
            own: transfer.memory.withLock { $0.rateLimit == nil ? nil : $0.limiter.charge(count, now: now) }
        )
    }

    func wait(for tickets: RateTickets, of transfer: Transfer, now: Int64) -> Int64 {
        let global = tickets.global.map { ticket in self.limiter.withLock { $0.wait(for: ticket, now: now) } } ?? 0
        let own = tickets.own.map { ticket in transfer.memory.withLock { $0.limiter.wait(for: ticket, now: now) } } ?? 0
        return max(global, own)
    }

    /// The most one read may take so that limited transfers share fairly, or `nil` where nothing is limited.
    func readQuantum(for transfer: Transfer, attempts: Int) -> Int? {
        guard self.isThrottling else { return nil }
        var quantum = Int64.max
        if let rate = self.limiter.withLock({ $0.rate }) {
            let runs = self.state.withLock { $0.running.count }
            quantum = rate / 20 / Int64(max(1, runs))
        }
        if let rate = transfer.memory.withLock({ $0.rateLimit }) { quantum = min(quantum, rate / 20) }
        guard quantum != Int64.max else { return nil }
        return Int(min(max(512, quantum / Int64(max(1, attempts))), 65_536))
    }
}
