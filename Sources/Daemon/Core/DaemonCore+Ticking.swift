internal import Control
internal import Logging
internal import Martlet
internal import QueueStore

/// What is looked at from time to time.
extension DaemonCore {
    private static let progressInterval = 5.0
    private static let gateInterval = 5.0
    /// Seconds between two looks for ends that are too long ago.
    private static let trimInterval = 600.0
    /// How many ends are forgotten in one transaction, so that others come between.
    private static let trimmedAtOnce = 1000

    /// Looks at everything that nobody tells of.
    ///
    /// - Returns: The seconds until the next look, or `nil` where there is none.
    func tick() -> Double? {
        guard !self.isStopping else { return nil }
        let now = self.now
        self.lookAtSchedule()
        if now - self.lastGateLook >= Self.gateInterval || now < self.lastGateLook {
            self.lastGateLook = now
            self.lookAtConditions()
        }
        self.wakePrograms(now)
        var isActive = false
        for lane in Array(self.lanes.values) {
            isActive = isActive || lane.queue.activeCount > 0
            self.sample(lane, now)
            self.refill(lane)
        }
        if isActive, self.isHeard {
            let records = self.active(nil)
            if !records.isEmpty { self.tell(.progress(records)) }
        }
        if isActive, now - self.lastProgressWrite >= Self.progressInterval || now < self.lastProgressWrite {
            self.lastProgressWrite = now
            self.writeProgress()
        }
        self.trim()
        self.publish()
        return isActive ? 0.2 : 1
    }

    /// Finds those that are too slow, and tells sessions how far theirs have come.
    private func sample(_ lane: Lane, _ now: Double) {
        let reader = lane.session.flatMap { self.sessions[$0]?.reader }
        for (id, entry) in lane.queue.entries where entry.phase == .running {
            guard let live = lane.live[id] else { continue }
            if live.speed != nil, lane.live[id]?.speed?.sample(rate: live.rate, at: now) == true, live.failure == nil {
                lane.live[id]?.failure = TransferRecord.Failure(
                    .tooSlow,
                    "slower than \(live.speed?.lowest ?? 0) bytes a second for \(Int(SpeedWatch.patience)) s",
                    remedy: "lower 'lowest-speed-limit'"
                )
                lane.giveBack(id)
            }
            guard let reader else { continue }
            var members: [JSON.Member] = [
                .init("kind", "progress"), .init("id", .string(id.description)), .init("bytes", .integer(live.bytes)),
                .init("total", .optional(live.total)), .init("rate", .integer(live.rate)),
            ]
            if entry.transfer.upload != nil {
                members.append(.init("sent", .optional(live.sent)))
                members.append(.init("acknowledged", .optional(live.acknowledged)))
            }
            reader.put(id, .object(members))
        }
    }

    // MARK: Schedule and conditions

    /// Whether the schedule allows transfers at this moment.
    var isInSchedule: Bool {
        guard let schedule = self.schedule else { return true }
        let (minute, weekday) = self.configuration.clock.local()
        return schedule.allows(minute: minute, weekday: weekday)
    }

    /// Holds the lanes outside the schedule; what runs goes on from its bytes later.
    func lookAtSchedule() {
        let isOpen = self.isInSchedule
        for lane in self.lanes.values { self.set(lane, .schedule, isOpen) }
    }

    /// Holds the lanes whose conditions do not hold.
    func lookAtConditions() {
        for lane in self.lanes.values { self.set(lane, .conditions, lane.settings.gate?.isOpen ?? true) }
    }

    private func set(_ lane: Lane, _ reason: TransferRecord.WaitReason, _ isOpen: Bool) {
        guard lane.queue.holds.contains(reason) == isOpen else { return }
        if isOpen {
            lane.queue.release(reason)
            self.refill(lane)
        } else {
            for entry in lane.queue.hold(reason, cutsRunning: true) { lane.giveBack(entry.transfer.id) }
        }
    }

    // MARK: What is stored now and then

    /// How far those have come that run.
    func progressToStore() -> [(id: GID, bytes: Int64, total: Int64?, path: String?)] {
        self.lanes.values.flatMap { lane in
            lane.queue.entries.compactMap { id, entry in
                guard entry.hasStarted, entry.phase != .ended, let live = lane.live[id] else { return nil }
                return (id: id, bytes: live.bytes, total: live.total, path: live.path)
            }
        }
    }

    private func writeProgress() {
        let progress = self.progressToStore()
        guard !progress.isEmpty, !self.isFull else { return }
        self.store.writeLater(
            { (writer) throws(QueueStoreError) in try writer.setProgress(progress) },
            done: { [logger = self.configuration.logger] result in
                // Lost are numbers that are shown after a crash, no more.
                if case .failure(let error) = result { logger.debug("progress was not stored: \(error.message)") }
            }
        )
    }

    /// Forgets what is too much or too old in the shared queue's history.
    func trim() {
        let limit =
            (try? OptionReader(options: self.globalOptions).count(.maxDownloadResult, 0...1_000_000_000)) ?? nil ?? 1000
        let ended = self.book[nil, .finished] + self.book[nil, .failed] + self.book[nil, .removed]
        let isAged = ended > 0 && abs(self.now - self.lastTrim) >= Self.trimInterval
        guard self.trimming == nil, !self.isStopping, !self.isFull, ended > limit || isAged else { return }
        self.lastTrim = self.now
        let before = self.now - self.configuration.historyAge
        self.trimming = Task {
            let forgotten = try? await self.write { (writer) throws(QueueStoreError) in
                try writer.trimHistory(count: limit, before: before, most: Self.trimmedAtOnce)
            }
            self.trimming = nil
            if self.book.forget(forgotten ?? [:], nil) == Self.trimmedAtOnce { self.trim() }
            self.publish()
        }
    }
}
