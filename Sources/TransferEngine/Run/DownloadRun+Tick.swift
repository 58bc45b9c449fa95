internal import Synchronization
internal import TransferCore

/// Runs the periodic work: timeouts, progress, checkpoints, opening and closing connections.
extension DownloadRun {
    func tick(_ now: Int64) {
        let total = self.options.totalTimeout.inNanoseconds
        if total > 0, self.state.withLock({ $0.phase != .committing }) {
            if self.earlier.activeTime + now - self.startedAt > total {
                let failure = TransferFailure(
                    .timeout,
                    "not finished within \(DurationFormat.compact(self.options.totalTimeout)); what is there is kept",
                    setting: .resourceTimeout
                )
                return self.end(.failed(failure), except: nil)
            }
        }
        self.reportProgress(now)
        for (attempt, failure) in self.overdue(now) {
            self.engine.transport.execute(onLane: attempt.lane) {
                guard self.state.withLock({ _ in !attempt.isOver }) else { return }
                let exchange = self.state.withLock { _ in
                    defer { attempt.exchange = nil }
                    return attempt.exchange
                }
                exchange?.cancel()
                if let next = self.state.withLock({ _ in attempt.afterDrain }) { return self.afterDrain(attempt, next) }
                self.attemptFailed(attempt, failure)
            }
        }
        if let surplus = self.surplus(now) { self.giveUp(surplus) }
        self.takeOver(now)
        let (wantsCheckpoint, lane): (Bool, Int?) = self.state.withLock { state in
            guard state.phase == .active, case .partial = state.file else { return (false, nil) }
            guard state.sinceCheckpoint > 0, now - state.lastCheckpoint >= Self.checkpointInterval else {
                return (false, self.lane)
            }
            state.sinceCheckpoint = 0
            state.lastCheckpoint = now
            return (true, self.lane)
        }
        if wantsCheckpoint { self.checkpoint() }
        if let lane { self.fill(preferring: lane) }
        self.adjustQuanta()
    }

    private static let checkpointInterval: Int64 = 1_000_000_000

    /// The newest connection, if the advisor has just found that it did not raise the total rate.
    private func surplus(_ now: Int64) -> Attempt? {
        self.state.withLock { state in
            guard state.phase == .active, case .partial = state.file else { return nil }
            let before = state.advisor.wanted
            state.advisor.observe(
                bytes: state.received,
                connections: state.attempts.count { $0.bodySince != nil },
                now: now
            )
            guard state.advisor.wanted < before, state.fixedConnections == nil,
                state.attempts.count > self.wantedConnections(state)
            else { return nil }
            return state.attempts.max { $0.number < $1.number }
        }
    }

    /// Closes a connection and leaves its piece to the others.
    private func giveUp(_ attempt: Attempt) {
        self.engine.transport.execute(onLane: attempt.lane) {
            let exchange: (any Exchange)? = self.state.withLock { state in
                guard state.phase == .active, !attempt.isOver, state.attempts.count > 1 else { return nil }
                defer { attempt.exchange = nil }
                self.retire(&state, attempt)
                return attempt.exchange
            }
            exchange?.cancel()
            self.engine.connectionsReleased(lane: attempt.lane)
        }
    }

    func yieldConnection(_ origin: Origin) {
        let newest: Attempt? = self.state.withLock { state in
            guard state.phase == .active, case .partial = state.file else { return nil }
            let attempts = state.attempts.filter { $0.slot == origin }
            return attempts.count > 1 ? attempts.max { $0.number < $1.number } : nil
        }
        if let newest { self.giveUp(newest) }
    }

    private func overdue(_ now: Int64) -> [(Attempt, TransferFailure)] {
        let stall = self.options.stallTimeout.inNanoseconds
        return self.state.withLock { state in
            var overdue: [(Attempt, TransferFailure)] = []
            for attempt in state.attempts where !attempt.isHeld {
                if let failure = self.impatience(state, attempt, now) {
                    overdue.append((attempt, failure))
                    continue
                }
                guard attempt.isConnected else { continue }
                attempt.window.record(attempt.bytes, at: now)
                if attempt.isTaken {
                    state.bestRate = max(state.bestRate, attempt.window.rate)
                    if let time = attempt.headTime { state.bestHeadTime = min(state.bestHeadTime ?? time, time) }
                }
                guard stall > 0, now - attempt.lastActivity > stall else { continue }
                let what = attempt.hasHead ? "nothing arrived" : "no response head arrived"
                let failure = TransferFailure(
                    .timeout,
                    "\(what) for \(DurationFormat.compact(self.options.stallTimeout))",
                    isRetryable: true
                )
                overdue.append((attempt, failure))
            }
            if overdue.isEmpty, let slow = self.slowest(state, now) {
                overdue.append(
                    (slow, TransferFailure(.tooSlow, "slower than a tenth of the other connections", isRetryable: true))
                )
            }
            return overdue
        }
    }

    /// The failure of a request that waited too long for its head, though less than the stall timeout.
    ///
    /// Applies if another source is available, or to an additional connection whose head takes much longer than usual.
    private func impatience(_ state: State, _ attempt: Attempt, _ now: Int64) -> TransferFailure? {
        guard !attempt.hasHead else { return nil }
        let waited = now - attempt.startedAt
        let sources = self.request.sources.count
        if !state.hasTaken, sources > 1, waited > Self.sourcePatience,
            self.transfer.memory.withLock({ $0.badSources.union([attempt.source]).count }) < sources
        {
            return TransferFailure(.timeout, "no response for \(waited / 1_000_000_000) s", isRetryable: true)
        }
        // The only connection gets more time; the next attempt is not additional and has the full stall timeout.
        let patience = state.attempts.count > 1 || sources > 1 ? Self.furtherPatience : 2 * Self.furtherPatience
        guard attempt.isAdditional, let usual = state.bestHeadTime, waited > max(patience, 4 * usual) else {
            return nil
        }
        return TransferFailure(.timeout, "a further connection got no response", isRetryable: true)
    }

    private static let sourcePatience: Int64 = 3_000_000_000
    private static let furtherPatience: Int64 = 2_000_000_000

    /// The slowest connection, if for five seconds its rate was below a tenth of the others' median.
    private func slowest(_ state: State, _ now: Int64) -> Attempt? {
        guard !self.engine.isThrottling else { return nil }
        let settled = state.attempts.filter { attempt in
            attempt.bodySince.map { now - $0 >= Self.slowPeriod } ?? false
        }
        guard settled.count > 1 else { return nil }
        let ranked = settled.sorted { $0.window.rate < $1.window.rate }
        let others = ranked.dropFirst()
        let median = others[others.startIndex + others.count / 2].window.rate
        return ranked[0].window.rate < median / 10 ? ranked[0] : nil
    }

    private static let slowPeriod: Int64 = 5_000_000_000

    /// The number of bytes present, and the whole length if known.
    var position: (bytes: Int64, total: Int64?) { self.state.withLock { $0.position } }

    private func reportProgress(_ now: Int64) {
        let isNews: Bool = self.state.withLock { state in
            guard state.phase == .active, !state.attempts.isEmpty else { return false }
            let (bytes, total) = state.position
            state.window.record(bytes, at: now)
            guard bytes != state.reported, self.engine.hub.wants(.progress) else { return false }
            state.reported = bytes
            let rate = state.window.rate
            let left = total.flatMap { rate > 0 ? Double($0 - bytes) / rate : nil }
            self.engine.hub.post(
                self.transfer.event(
                    .progress(
                        TransferEvent.Progress(
                            bytes: bytes,
                            total: total,
                            rate: rate,
                            secondsLeft: left,
                            connections: state.attempts.count
                        )
                    )
                )
            )
            return true
        }
        if isNews { self.engine.hub.deliver() }
    }

    private func adjustQuanta() {
        let attempts = self.state.withLock { $0.attempts }
        for attempt in attempts {
            let quantum = self.engine.readQuantum(for: self.transfer, attempts: attempts.count)
            let exchange: (any Exchange)? = self.state.withLock { _ in
                guard attempt.quantum != quantum else { return nil }
                attempt.quantum = quantum
                return attempt.exchange
            }
            exchange?.setReadQuantum(quantum)
        }
    }
}

extension DownloadRun.State {
    /// The number of bytes present, and the whole length if known.
    var position: (bytes: Int64, total: Int64?) {
        if case .small = self.file { return (self.smallReceived, self.smallLength) }
        return (self.planner?.completed ?? 0, self.planner?.length)
    }
}
