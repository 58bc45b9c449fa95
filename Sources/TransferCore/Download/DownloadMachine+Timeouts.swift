// SPDX-License-Identifier: Apache-2.0
/// Decides based on time: stalls and other timeouts, progress, checkpoints.
extension DownloadMachine {
    /// Time has passed.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isThrottling: Whether a rate limit is set, so that slow connections are not the server's fault.
    ///   - floor: The lowest rate of the transfer, or `nil`.
    ///   - wantsProgress: Whether progress is observed.
    /// - Returns: The actions.
    package mutating func ticked(
        _ now: Int64,
        isThrottling: Bool,
        floor: SpeedFloor? = nil,
        wantsProgress: Bool
    ) -> [DownloadAction] {
        if self.isEnded { return [] }
        let active = self.earlierActiveTime + now - self.startedAt
        if !self.isCommitting,
            let failure = self.terms.requests.overdue(after: active, "; the received data is kept")
        {
            self.end(.failed(failure))
            return self.takeActions()
        }
        self.observeProgress(now, reports: wantsProgress)
        if let floor, self.isBelow(floor, now) { return self.takeActions() }
        self.timeOutRequests(now, isThrottling)
        if case .fetching(let fetching) = self.phase {
            self.adjustConnections(fetching, now, isThrottling)
            if fetching.isPartial, fetching.sinceCheckpoint > 0,
                now - fetching.lastCheckpoint >= Self.checkpointInterval
            {
                self.fetching?.sinceCheckpoint = 0
                self.fetching?.lastCheckpoint = now
                self.emit(.checkpoint)
            }
            if fetching.isPartial { self.openConnections(lane: self.lane, now) }
        }
        return self.takeActions()
    }

    private static var checkpointInterval: Int64 { 1_000_000_000 }

    private var isActive: Bool {
        switch self.phase {
        case .small, .fetching: !self.requests.isEmpty
        case .locating, .opening, .committing, .ended, .borrowed: false
        }
    }

    private mutating func observeProgress(_ now: Int64, reports: Bool) {
        guard self.isActive else { return }
        let (bytes, total) = self.position
        // The first report has a rate, too.
        if self.window.isEmpty { self.window.record(max(0, bytes - self.received), at: self.startedAt) }
        self.window.record(bytes, at: now)
        guard reports, bytes != self.reported else { return }
        self.reported = bytes
        let rate = self.window.rate
        self.emit(
            .progress(
                RunProgress(
                    bytes: bytes,
                    total: total,
                    rate: rate,
                    secondsLeft: total.flatMap { rate > 0 ? Double($0 - bytes) / rate : nil },
                    connections: self.requests.count
                )
            )
        )
    }

    // MARK: The lowest rate

    /// Ends the run, or its use of a source, if it is slower than its floor.
    ///
    /// Only if the server would continue what is kept: all of a partial file, and of a small one from 16 KiB on.
    ///
    /// - Returns: Whether it is.
    private mutating func isBelow(_ floor: SpeedFloor, _ now: Int64) -> Bool {
        // Reading that is paused waits for the rate limit, the disk or the caller, and a missing head has its timeout.
        let isReceiving = self.requests.contains { $0.isTaken } && !self.requests.contains { $0.isPaused }
        guard isReceiving, self.canContinueLater else {
            self.speed.restart()
            return false
        }
        guard self.speed.isTooSlow(self.received, at: now, floor: floor) else { return false }
        var failure = floor.failure
        let tried = self.history.sources.bad.union(self.requests.map(\.source))
        guard tried.count < self.terms.sources.count else {
            self.end(.failed(failure))
            return true
        }
        failure.isRetryable = true
        for request in self.requests { self.emit(.deferred(request.number, .timeOut(failure))) }
        return true
    }

    /// Whether the server would continue the bytes that are kept.
    private var canContinueLater: Bool {
        guard self.terms.asksForWhole, !self.history.ranges.isRefused, !self.holdsWrongBytes else { return false }
        switch self.phase {
        case .small(let small): return small.doesRanges
        case .fetching(let fetching): return fetching.isPartial && fetching.doesRanges
        case .locating, .opening, .committing, .ended, .borrowed: return false
        }
    }

    // MARK: Timeouts

    private mutating func timeOutRequests(_ now: Int64, _ isThrottling: Bool) {
        var isAnyLate = false
        for index in self.requests.indices where !self.requests[index].isPaused {
            if let failure = self.impatience(self.requests[index], now) ?? self.stall(index, now) {
                isAnyLate = true
                self.emit(.deferred(self.requests[index].number, .timeOut(failure)))
            }
        }
        if !isAnyLate, !isThrottling, let slow = self.slowest(now) {
            let failure = TransferFailure(
                .tooSlow,
                "slower than a tenth of the other connections",
                isRetryable: true
            )
            self.emit(.deferred(slow, .timeOut(failure)))
        }
    }

    /// Observes a request's rate; returns its failure if no bytes arrived for too long.
    private mutating func stall(_ index: Int, _ now: Int64) -> TransferFailure? {
        guard self.requests[index].isConnected else { return nil }
        self.requests[index].window.record(self.requests[index].bytes, at: now)
        let request = self.requests[index]
        if request.isTaken {
            self.connections.bestRate = max(self.connections.bestRate, request.window.rate)
            if let time = request.headTime {
                self.connections.bestHeadTime = min(self.connections.bestHeadTime ?? time, time)
            }
        }
        let limit = self.terms.requests.stallTimeout
        guard limit > 0, now - request.lastActivity > limit else { return nil }
        let what = request.hasHead ? "no data arrived" : "no response head arrived"
        return RequestTerms.stalled(what, for: limit)
    }

    /// The failure of a request that waited too long for its head, though less than the stall timeout.
    ///
    /// Applies if another source is available, or to an additional connection whose head takes much longer than usual.
    private func impatience(_ request: FetchRequest, _ now: Int64) -> TransferFailure? {
        guard !request.hasHead else { return nil }
        let waited = now - request.startedAt
        let sources = self.terms.sources.count
        if !self.connections.hasTaken, sources > 1, waited > Self.sourcePatience,
            self.history.sources.bad.union([request.source]).count < sources
        {
            var failure = TransferFailure(
                .timeout,
                "no response for \(waited / 1_000_000_000) s",
                isRetryable: true
            )
            // If all sources are out of reach, their attempts must not use up the retries.
            if !request.isConnected { failure.evidence = OutageEvidence(.timeout, peer: request.origin) }
            return failure
        }
        // The only connection gets more time; the next request is not additional and has the full stall timeout.
        let isAlone = self.requests.count == 1 && sources == 1
        let patience = isAlone ? 2 * Self.furtherPatience : Self.furtherPatience
        guard request.isAdditional, let usual = self.connections.bestHeadTime, waited > max(patience, 4 * usual) else {
            return nil
        }
        return TransferFailure(.timeout, "an additional connection got no response", isRetryable: true)
    }

    private static var sourcePatience: Int64 { 3_000_000_000 }
    private static var furtherPatience: Int64 { 2_000_000_000 }
}
