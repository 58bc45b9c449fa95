internal import Synchronization
internal import TransferCore

/// Takes over pieces of slow or silent connections.
extension DownloadRun {
    /// Takes over the last piece of a slow or silent connection, if another would finish it sooner.
    ///
    /// The connection is closed if a new one, at the best rate of this run, would fetch the rest in less than half of
    /// the time.
    func takeOver(_ now: Int64) {
        guard let slow = self.state.withLock({ self.outrun($0, now) }) else { return }
        // On its event loop, so that none of its bytes is being written.
        self.engine.transport.execute(onLane: slow.lane) {
            let (exchange, next): ((any Exchange)?, Attempt?) = self.state.withLock { state in
                guard !slow.isOver, state.phase == .active else { return (nil, nil) }
                defer { slow.exchange = nil }
                state.takeovers += 1
                self.retire(&state, slow)
                let source = self.pickSource(&state, avoiding: slow.source)
                return (slow.exchange, self.makeFetch(&state, source: source, preferring: slow.lane))
            }
            exchange?.cancel()
            guard let next else { return }
            self.note("\(slow.url.redacted): another connection takes over its last piece")
            self.launch(next)
        }
    }

    /// The slowest connection, if another would finish its last piece much sooner.
    private func outrun(_ state: State, _ now: Int64) -> Attempt? {
        guard state.phase == .active, case .partial = state.file, let planner = state.planner, state.hasTaken,
            !state.awaitsFirst, state.bestRate > 0, state.takeovers < Self.takeoverLimit, !self.engine.isThrottling,
            !planner.canAssign(minimumSplit: self.options.minimumSplit), self.wantedConnections(state) > 1
        else { return nil }
        let candidates = state.attempts.filter { !$0.isHeld && now - $0.startedAt >= Self.takeoverPatience }
        guard let slow = candidates.max(by: { self.secondsLeft($0, planner) < self.secondsLeft($1, planner) }) else {
            return nil
        }
        let elsewhere = Double(planner.remaining(of: slow.number)) / state.bestRate
        return self.secondsLeft(slow, planner) > 2 * elsewhere + Self.takeoverCost ? slow : nil
    }

    /// Extends a connection's piece over the next one, whose own connection has not received a response yet.
    ///
    /// The response contains those bytes anyway. The silent connection is closed and recorded as the host's limit.
    func takeSilentNeighbour(_ state: inout State, _ attempt: Attempt, _ now: Int64) -> Bool {
        guard let piece = state.planner?.piece(of: attempt.number), let end = attempt.responseEnd, end > piece.end,
            let silent = state.attempts.first(where: { other in
                !other.hasHead && now - other.startedAt > Self.silencePatience
                    && state.planner?.piece(of: other.number)?.start == piece.end
            })
        else { return false }
        self.retire(&state, silent)
        state.advisor.refused(having: state.attempts.count)
        state.fixedConnections = state.fixedConnections.map { min($0, max(1, state.attempts.count)) }
        if silent.isAdditional { self.engine.connectionRefused(silent.origin) }
        state.planner?.reclaim(for: attempt.number, upTo: end)
        self.engine.time.schedule(after: 0) {
            self.engine.transport.execute(onLane: silent.lane) { self.close(silent) }
        }
        return true
    }

    private static let silencePatience: Int64 = 500_000_000

    private func secondsLeft(_ attempt: Attempt, _ planner: SegmentPlanner) -> Double {
        let rate = attempt.hasHead ? attempt.window.rate : 0
        let left = Double(planner.remaining(of: attempt.number))
        return rate > 0 ? left / rate : .infinity
    }

    private static let takeoverLimit = 8
    private static let takeoverPatience: Int64 = 1_500_000_000
    /// The assumed cost of a new connection, in seconds.
    private static let takeoverCost = 0.5
}
