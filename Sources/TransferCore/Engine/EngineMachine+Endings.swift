// SPDX-License-Identifier: Apache-2.0
/// The ends of runs, the schedule of retries, and files that are synced in groups.
extension EngineMachine {
    /// A run has ended: its connections are closed and its file is kept, named or deleted.
    package mutating func runEnded(
        _ id: TransferID,
        _ reported: RunResult,
        _ tally: Tally,
        now: Int64
    ) -> Verdict {
        guard let slot = self.slots[id], self.entries[slot].state == .running, !self.entries[slot].isUnsynced else {
            preconditionFailure("a run of transfer \(id) ended without having started")
        }
        self.runCount -= 1
        self.laneLoad[Int(self.entries[slot].lane)] -= 1
        self.forgetRun(slot)
        let isNews = self.entries[slot].isUnanswered
        let isProbe = self.entries[slot].probe != .none
        self.endAwaiting(slot, hasResponse: tally.hasResponse, now)
        self.entries[slot].activeTime += tally.duration
        self.entries[slot].received += tally.received
        self.entries[slot].sent += tally.sent
        self.entries[slot].budget.kept(tally.kept)
        if let mayProbe = tally.mayProbe { self.entries[slot].mayProbe = mayProbe }
        self.totals.received += tally.received
        self.totals.sent += tally.sent
        if tally.hasResponse { self.shortageSince = nil }
        if case .finished = reported { self.affordable.transferFinished(limit: self.limit) }
        let outage = self.judge(slot, reported, tally, isNews: isNews, now)
        let result = self.entries[slot].wish.map { $0.applied(to: reported) } ?? reported
        self.entries[slot].wish = nil
        if case .finished = result {
            self.fileSystemTook(id, now)
        } else if !self.fileSystems.isEmpty, !reported.concernsFileSystem {
            self.fileSystemLeft(id)
        }
        switch result {
        case .finished(let isSkipped):
            if self.entries[slot].isDurable, !isSkipped {
                self.entries[slot].isUnsynced = true
                self.unsyncedCount += 1
                return .unsynced
            }
            return self.finish(slot, isSkipped: isSkipped)
        case .failed: return self.fail(slot, .failed)
        case .retry(let failure):
            if failure.awaitsFile { return self.waitForFile(slot) }
            if failure.chosenDelay != nil { return self.retry(slot, failure, now) }
            if let outage { return self.waitOut(outage, slot, isProbe: isProbe, now) }
            if let verdict = self.waitForFileSystem(slot, failure, now) { return verdict }
            if failure.isShortage, let verdict = self.waitForDescriptors(slot, now) { return verdict }
            return self.retry(slot, failure, now)
        case .paused:
            self.move(slot, to: .paused)
            return .paused
        case .stopped:
            self.wait(slot, atFront: true)
            return .waiting
        case .cancelled(let keeping):
            self.totals.cancelled += 1
            self.end(slot, .cancelled)
            return .cancelled(keeping: keeping)
        }
    }

    private mutating func finish(_ slot: Int, isSkipped: Bool) -> Verdict {
        if isSkipped { self.totals.skipped += 1 } else { self.totals.finished += 1 }
        self.end(slot, .finished)
        return .finished
    }

    mutating func fail(_ slot: Int, _ verdict: Verdict) -> Verdict {
        self.totals.failed += 1
        self.end(slot, .failed)
        return verdict
    }

    // MARK: Retries

    /// The upper limit of an active time in nanoseconds, 73 years: sums with it do not overflow.
    static let longestTime = Int64.max / 4

    /// The number of attempts of a running transfer; `nil` if a command has decided what follows the present one.
    package func attempts(of id: TransferID) -> Int? {
        guard let slot = self.slots[id] else { return nil }
        return switch self.entries[slot].wish {
        case nil, .resume: Int(self.entries[slot].attempts)
        case .pause, .cancel: nil
        }
    }

    private mutating func retry(_ slot: Int, _ failure: Failure, _ now: Int64) -> Verdict {
        let attempts = Int(self.entries[slot].attempts)
        let delay: Int64
        if let chosen = failure.chosenDelay {
            self.entries[slot].askedWaits = 0
            delay = min(max(0, chosen), Self.longestTime)
        } else {
            if self.asksTooMuch(failure, slot) {
                return self.fail(slot, .refused(.retryAfter(seconds: failure.retryAfter ?? 0)))
            }
            guard let own = self.delay(slot, failure, now) else {
                return self.fail(slot, .refused(.noneLeft(attempts: attempts)))
            }
            delay = max(own, self.entries[slot].retryWait)
        }
        guard self.hasTimeLeft(slot, after: delay) else { return self.fail(slot, .refused(.outOfTime)) }
        let time = now.adding(clamping: delay)
        if failure.isThrottled { self.throttle(slot, failure, until: time, now) }
        self.move(slot, to: .retrying(at: time))
        self.due.insert(DueQueue.Element(time: time, id: self.entries[slot].id))
        return .retrying(attempt: attempts, delay: delay)
    }

    /// The delay before the next attempt in nanoseconds, or `nil` if no retries are left.
    private mutating func delay(_ slot: Int, _ failure: Failure, _ now: Int64) -> Int64? {
        let most = Int64(self.entries[slot].maximumRetryAfter)
        let longest = most < 0 ? RetryBudget.longestRetryAfter : most
        if let asked = self.waitAsAsked(slot, failure.retryAfter, longest: longest, now) { return asked }
        return self.entries[slot].budget
            .failed(retryAfter: failure.retryAfter, longest: longest, jitter: failure.jitter)
    }

    /// Counts the time until the next attempt as the transfer's.
    ///
    /// - Returns: Whether any is left then; if not, it has run out now.
    mutating func hasTimeLeft(_ slot: Int, after delay: Int64) -> Bool {
        self.entries[slot].activeTime = min(self.entries[slot].activeTime.adding(clamping: delay), Self.longestTime)
        let total = self.entries[slot].totalTimeout
        return total <= 0 || self.entries[slot].activeTime < total
    }

    /// A server that requests a delay has not failed: the delay uses up no retry of a transfer that waits out outages.
    ///
    /// - Parameters:
    ///   - slot: The transfer.
    ///   - seconds: The delay that the server requested, or `nil`.
    ///   - longest: The maximum of this delay, in seconds.
    ///   - now: The time.
    /// - Returns: The delay in nanoseconds, or `nil` if none was requested, or too many in a row, or the waits have
    ///   lasted longer than an outage may in addition to the time requested.
    private mutating func waitAsAsked(_ slot: Int, _ seconds: Int64?, longest: Int64, _ now: Int64) -> Int64? {
        let patience = self.entries[slot].outageTimeout
        guard let seconds, patience > 0, !self.entries[slot].countsOutages else {
            self.entries[slot].askedWaits = 0
            return nil
        }
        if self.entries[slot].askedWaits == 0 { self.entries[slot].askedEnd = now.adding(clamping: patience) }
        guard self.entries[slot].askedWaits < RetryBudget.longestWaits, now <= self.entries[slot].askedEnd else {
            return nil
        }
        let least = RetryBudget.leastWait(after: Int(self.entries[slot].askedWaits))
        let wait = min(max(seconds, least), longest) * 1_000_000_000
        self.entries[slot].askedWaits += 1
        self.entries[slot].askedEnd = self.entries[slot].askedEnd.adding(clamping: wait)
        return wait
    }

    /// A transfer that waits for its next attempt is paused or cancelled.
    mutating func retryStopped(_ slot: Int) {
        self.staleDue += 1
        guard self.staleDue > 64, 2 * self.staleDue > self.due.count else { return }
        let stopped = self.entries[slot].id
        self.due.filter { [slots = self.slots, entries = self.entries] element in
            guard let id = element.id else { return true }
            if element.kind == .timeLimit { return slots[id] != nil }
            return id != stopped && slots[id].map { entries[$0].state == .retrying(at: element.time) } ?? false
        }
        self.staleDue = 0
    }

    /// A timer has fired, which was set by ``Step/wake(at:)``.
    ///
    /// - Parameters:
    ///   - scheduled: The time for which it was set.
    ///   - now: The time.
    package mutating func timeReached(_ scheduled: Int64, now: Int64) {
        let now = max(scheduled, now)
        while let last = self.timers.last, last <= now { self.timers.removeLast() }
        while let element = self.due.popDue(at: now) {
            if element.kind == .timeLimit, let id = element.id {
                self.timeLimitReached(id, now)
                continue
            }
            guard let id = element.id else {
                if element.kind == .hold { self.holdEnded(element, now) } else { self.intervalEnded(element) }
                continue
            }
            guard let slot = self.slots[id], self.entries[slot].state == .retrying(at: element.time) else {
                self.staleDue = max(0, self.staleDue - 1)
                continue
            }
            // If the host's last responses report an outage, another transfer shows whether the host is the cause.
            let isDoubted = self.hosts[Int(self.entries[slot].host)].health.isDoubted
            self.wait(slot, atFront: !isDoubted)
        }
    }

    // MARK: Durability in groups

    /// After a group of this many files, the next group is collected for a while: each group has a fixed cost of syncs.
    private static let largeGroup = 16
    /// In nanoseconds.
    private static let gathering: Int64 = 20_000_000

    /// Takes the files that wait to be synced.
    ///
    /// - Returns: Their number; if it is 0, syncing ends.
    package mutating func takeGroup() -> Int {
        let count = self.unsyncedCount
        self.unsyncedCount = 0
        if count == 0 { self.isSyncing = false }
        return count
    }

    /// A complete file was synced and has its name.
    package mutating func synced(_ id: TransferID) -> Verdict {
        self.finish(self.unsyncedSlot(id), isSkipped: false)
    }

    /// A complete file could not be synced or named.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - retry: The facts if another attempt may succeed, otherwise `nil`.
    ///   - now: The time.
    /// - Returns: The consequence for the transfer.
    package mutating func syncFailed(_ id: TransferID, _ retry: Failure?, now: Int64) -> Verdict {
        let slot = self.unsyncedSlot(id)
        guard let retry else { return self.fail(slot, .failed) }
        self.entries[slot].isUnsynced = false
        return self.waitForFileSystem(slot, retry, now) ?? self.retry(slot, retry, now)
    }

    /// The time to wait after a group of this many files before the next one, in nanoseconds; `nil` for none.
    package func gathering(after count: Int) -> Int64? { count >= Self.largeGroup ? Self.gathering : nil }

    private func unsyncedSlot(_ id: TransferID) -> Int {
        guard let slot = self.slots[id], self.entries[slot].isUnsynced else {
            preconditionFailure("the file of transfer \(id) was synced before it finished")
        }
        return slot
    }
}

extension EngineMachine.Wish {
    /// The result of a run that ended otherwise than commanded, or before it could comply.
    func applied(to result: EngineMachine.RunResult) -> EngineMachine.RunResult {
        switch (result, self) {
        case (.finished, _), (.failed, _), (.cancelled, _): result
        case (_, .cancel(let keeping)): .cancelled(keeping: keeping)
        case (.retry, .pause), (.stopped, .pause): .paused
        case (.paused, .resume): .stopped
        case (.paused, .pause), (.retry, .resume), (.stopped, .resume): result
        }
    }
}
