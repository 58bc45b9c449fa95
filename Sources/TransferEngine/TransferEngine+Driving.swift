// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The driver of the ``EngineMachine``.
///
/// An event changes the machine under the lock; the resulting effects are performed after the unlock. Events for
/// observers are posted under the lock, in the order of the changes, and delivered after the unlock.
/// Lock order: engine, then transfer memory, then hub. The engine's lock is not held during any call of a run.
extension TransferEngine {
    /// A step of the machine, with the objects that it refers to.
    private enum Effect {
        case start(any TransferRun)
        case call(@Sendable () -> Void)
        case yield(any TransferRun, Origin)
        case resume(CheckedContinuation<Void, Never>)
        case sync
        case event(TransferEvent)
        case failed(Transfer)
        case fetchRules(Origin)
        case tick
        case wake(after: Int64, at: Int64)
        /// The step refers to an object that no longer exists.
        case nothing
    }

    /// Handles an event, performs the machine's steps, and delivers the events.
    ///
    /// - Parameters:
    ///   - lane: The event loop of the caller; transfers start on it unless another one runs fewer.
    ///   - event: Changes the state under the lock.
    /// - Returns: The result of `event`.
    func handle<Result>(onLane lane: Int? = nil, _ event: (inout sending State) -> sending Result) -> sending Result {
        let result = self.state.withLock(event)
        self.drive(onLane: lane)
        return result
    }

    /// Performs the machine's steps until none is left, and delivers the events.
    ///
    /// If another thread is driving for this lane, it performs the steps: a transfer that ends as it begins never nests
    /// calls. No step is lost, because a thread stops driving in the critical section in which it finds no step.
    func drive(onLane lane: Int? = nil) {
        let place = lane ?? self.transport.laneCount
        var isDriving = false
        while true {
            let now = self.time.now
            let effect: Effect? = self.state.withLock { state in
                if !isDriving, state.isDriven[place] { return nil }
                isDriving = true
                let step = state.machine.next(now: now, lane: lane)
                state.isDriven[place] = step != .none
                return self.effect(of: step, &state, now)
            }
            guard let effect else { break }
            self.perform(effect)
        }
        self.hub.deliver()
    }

    private func effect(of step: EngineMachine.Step, _ state: inout State, _ now: Int64) -> Effect? {
        switch step {
        case .start(let id, let lane):
            guard let transfer = state.transfers[id] else { return .nothing }
            // The machine is large, so its parts are passed, not a copy.
            let (activeTime, received, sent) = state.machine.earlierRuns(of: id)
            let earlier = EarlierRuns(
                activeTime: activeTime,
                received: received,
                sent: sent,
                isProbe: state.machine.isProbe(id),
                host: state.machine.host(of: id) ?? transfer.origin
            )
            let run = self.run(transfer, lane, now, earlier)
            state.runs[id] = run
            return .start(run)
        case .grant(let number): return state.claims.removeValue(forKey: number).map { .call($0.wake) } ?? .nothing
        case .yield(let id, let origin): return state.runs[id].map { .yield($0, origin) } ?? .nothing
        case .resume(let number): return state.waits.removeValue(forKey: number).map { .resume($0) } ?? .nothing
        case .sync: return .sync
        case .expire(let id, let hold):
            guard let transfer = state.transfers[id] else { return .nothing }
            let failure = self.outageFailure(HostHold(hold, now: now, wallNow: self.time.wallNow), transfer.options)
            self.ended(&state, transfer, .failed(failure))
            return .failed(transfer)
        case .runOut(let id, let hold):
            guard let transfer = state.transfers[id] else { return .nothing }
            let last = hold.map { HostHold($0, now: now, wallNow: self.time.wallNow) }
            let failure = self.outOfTime(last.map { "\($0.placeInSentence): \($0.message)" }, transfer.options)
            self.ended(&state, transfer, .failed(failure))
            return .failed(transfer)
        case .held(let hold): return .event(self.event({ .held($0) }, hold, now))
        case .released(let hold): return .event(self.event({ .released($0) }, hold, now))
        case .fetchRules(let origin): return .fetchRules(origin)
        case .startTicking: return .tick
        case .wake(let time): return .wake(after: max(0, time - now), at: time)
        case .none: return nil
        }
    }

    /// Creates a run; under the engine's lock, so that a command given before the run begins finds it.
    private func run(
        _ transfer: Transfer,
        _ lane: Int,
        _ now: Int64,
        _ earlier: EarlierRuns
    ) -> any TransferRun {
        switch transfer.work {
        case .download(let download):
            return DownloadRun(
                host: self,
                transfer: transfer,
                download: download,
                lane: lane,
                now: now,
                earlier: earlier
            )
        case .upload(let upload):
            return UploadRun(
                host: self,
                transfer: transfer,
                upload: upload,
                lane: lane,
                now: now,
                earlier: earlier
            )
        }
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .start(let run): self.transport.execute(onLane: run.lane) { run.begin() }
        case .call(let wake): wake()
        case .yield(let run, let origin): run.yieldConnection(origin)
        case .resume(let continuation):
            // Another thread may be delivering events; the waiting caller resumes after those that precede this step.
            self.hub.post(then: { continuation.resume() })
        case .sync: self.pool.run { self.syncGroup() }
        case .event(let event): self.hub.post(event)
        case .failed(let transfer): transfer.letGoOfSource()
        case .fetchRules(let origin): self.fetchRules(origin)
        case .tick: self.time.schedule(after: Self.tickInterval) { self.tick() }
        case .wake(let delay, let time):
            self.time.schedule(after: delay) {
                let now = self.time.now
                self.handle { $0.machine.timeReached(time, now: now) }
            }
        case .nothing: break
        }
    }

    static let tickInterval: Int64 = 200_000_000

    private func tick() {
        let now = self.time.now
        let runs: [any TransferRun] = self.state.withLock { state in
            state.machine.ticked(now: now) ? state.runs.values : []
        }
        guard !runs.isEmpty else { return }
        for run in runs { run.tick(now) }
        self.drive()
        self.time.schedule(after: Self.tickInterval) { self.tick() }
    }

    // MARK: Waiting for a condition

    func wait(for condition: WaitCondition) async {
        await withCheckedContinuation { continuation in
            self.handle { $0.waits[$0.machine.wait(for: condition)] = continuation }
        }
    }
}
