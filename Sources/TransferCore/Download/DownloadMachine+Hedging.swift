// SPDX-License-Identifier: Apache-2.0
/// Hedging: replaces slow connections, takes over last pieces, closes surplus connections, yields to other transfers.
extension DownloadMachine {
    /// The slowest connection, if for five seconds its rate was below a tenth of the others' median.
    func slowest(_ now: Int64) -> DownloadAction.RequestNumber? {
        if self.requests.count < 2 { return nil }
        let settled = self.requests.filter { request in
            !request.isComparing && request.bodySince.map { now - $0 >= Self.slowPeriod } ?? false
        }
        guard settled.count > 1 else { return nil }
        let ranked = settled.sorted { $0.window.rate < $1.window.rate }
        let others = ranked.dropFirst()
        let median = others[others.startIndex + others.count / 2].window.rate
        return ranked[0].window.rate < median / 10 ? ranked[0].number : nil
    }

    private static var slowPeriod: Int64 { 5_000_000_000 }

    mutating func adjustConnections(_ fetching: Fetching, _ now: Int64, _ isThrottling: Bool) {
        guard fetching.isPartial else { return }
        let before = self.connections.advisor.wanted
        self.connections.advisor.observe(
            bytes: self.received,
            connections: self.requests.count { $0.bodySince != nil },
            now: now
        )
        if self.connections.advisor.wanted < before, self.connections.fixed == nil,
            self.requests.count > self.wantedConnections, let newest = self.requests.max(by: { $0.number < $1.number })
        {
            // It did not raise the total rate.
            self.emit(.deferred(newest.number, .giveUp))
        }
        if !isThrottling, let slow = self.outrun(fetching, now) {
            self.emit(.deferred(slow, .takeOver))
        }
    }

    /// The connection whose last piece another one would complete much sooner.
    ///
    /// It exists if a new connection, at the best rate of this run, would fetch the rest in less than half of the time.
    private func outrun(_ fetching: Fetching, _ now: Int64) -> DownloadAction.RequestNumber? {
        let planner = fetching.planner
        guard self.connections.hasTaken, self.connections.bestRate > 0,
            self.connections.takeovers < Self.takeoverLimit,
            !planner.canAssign(minimumSplit: self.terms.minimumSplit), self.wantedConnections > 1
        else { return nil }
        // A comparison would begin again from its start.
        let candidates = self.requests.filter {
            !$0.isPaused && !$0.isComparing && now - $0.startedAt >= Self.takeoverPatience
        }
        guard
            let slow = candidates.max(by: { self.secondsLeft($0, planner) < self.secondsLeft($1, planner) })
        else { return nil }
        let elsewhere = Double(planner.remaining(of: slow.number)) / self.connections.bestRate
        return self.secondsLeft(slow, planner) > 2 * elsewhere + Self.takeoverCost ? slow.number : nil
    }

    private func secondsLeft(_ request: FetchRequest, _ planner: SegmentPlanner) -> Double {
        let rate = request.hasHead ? request.window.rate : 0
        let left = Double(planner.remaining(of: request.number))
        return rate > 0 ? left / rate : .infinity
    }

    private static var takeoverLimit: Int { 8 }
    private static var takeoverPatience: Int64 { 1_500_000_000 }
    /// The assumed cost of a new connection, in seconds.
    private static var takeoverCost: Double { 0.5 }

    /// Defers a step to the request's event loop, so that none of its bytes is being written.
    package mutating func deferredStep(
        _ step: DeferredStep,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        let request = self.requests[index]
        switch step {
        case .timeOut(let failure):
            if !self.endDraining(index, now) { self.fail(index, failure, now) }
        case .takeOver:
            guard case .fetching = self.phase else { break }
            self.connections.takeovers += 1
            self.retire(index, keepsSlot: self.requests.count == 1)
            self.note("\(request.url.redacted): another connection fetches its last piece")
            self.openConnections(lane: request.lane, avoiding: request.source, now)
        case .giveUp, .yield:
            guard case .fetching(let fetching) = self.phase, self.requests.count > 1 else { break }
            // A short rest arrives sooner than the response to another request for it.
            if case .giveUp = step, fetching.planner.remaining(of: number) < Self.worthRequesting { break }
            self.retire(index)
            self.reclaimPieces()
        }
        return self.takeActions()
    }

    /// The least rest of a piece, in bytes, that a surplus connection leaves to another one.
    private static var worthRequesting: Int64 { Int64(Draining<Never>.worthReading) }

    /// Another transfer waits for a connection to a host: one of several is closed.
    package mutating func yieldRequested(_ origin: Origin) -> [DownloadAction] {
        guard case .fetching = self.phase, self.requests.count > 1,
            let newest = self.requests.filter({ $0.origin == origin && $0.holdsSlot })
                .max(by: { $0.number < $1.number })
        else { return [] }
        self.emit(.deferred(newest.number, .yield))
        return self.takeActions()
    }

    /// Extends a connection's piece over the next one, whose own connection has not received a response yet.
    ///
    /// The response contains those bytes anyway. The silent connection is closed and recorded as the host's limit.
    mutating func takeSilentNeighbour(_ index: Int, _ now: Int64) -> Bool {
        let request = self.requests[index]
        guard let end = request.responseEnd, let piece = self.fetching?.planner.piece(of: request.number),
            end > piece.end,
            let silent = self.requests.firstIndex(where: { other in
                !other.hasHead && now - other.startedAt > Self.silencePatience
                    && self.fetching?.planner.piece(of: other.number)?.start == piece.end
            })
        else { return false }
        let other = self.requests[silent]
        self.retire(silent)
        self.connections.refused(having: self.requests.count)
        if other.isAdditional { self.emit(.refused(other.origin)) }
        self.fetching?.planner.reclaim(for: request.number, upTo: end)
        return true
    }

    private static var silencePatience: Int64 { 500_000_000 }
}
