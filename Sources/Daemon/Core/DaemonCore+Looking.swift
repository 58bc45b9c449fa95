// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import Martlet
internal import QueueStore
internal import TransferCore

/// Periodic checks.
extension DaemonCore {
    private static let progressInterval = 5.0
    private static let gateInterval = 5.0
    private static let spoolInterval = 1.0

    /// Checks the schedule, the conditions, wake commands and progress.
    ///
    /// - Returns: The seconds until the next check, or `nil` when the core is stopping.
    func tick() -> Double? {
        guard !self.isStopping else { return nil }
        let now = self.now
        self.lookAtSchedule()
        if now - self.lastGateLook >= Self.gateInterval || now < self.lastGateLook {
            self.lastGateLook = now
            self.lookAtConditions()
        }
        self.wakePrograms(now)
        if self.spoolImport == nil, now - self.lastSpoolLook >= Self.spoolInterval || now < self.lastSpoolLook {
            self.lastSpoolLook = now
            Task { await self.importSpools() }
        }
        self.saveSessionIfDue(now)
        var isActive = false
        for lane in Array(self.lanes.values) {
            isActive = isActive || self.machine[lane: lane.session]?.activeCount ?? 0 > 0
            self.sample(lane)
            if lane.engines.count > 1 { lane.shareLimit() }
            self.machine.looked(lane.session, isIdle: lane.hasIdlePlaces)
        }
        if isActive, self.isHeard(.progress) {
            let records = self.started(nil)
            if !records.isEmpty { self.tell(.progress(records)) }
        }
        if isActive, now - self.lastProgressWrite >= Self.progressInterval || now < self.lastProgressWrite {
            self.lastProgressWrite = now
            self.writeProgress()
        } else if isActive {
            self.writeNewPaths()
        }
        self.pump()
        self.publish()
        self.sampleRate()
        return isActive ? 0.2 : 1
    }

    /// Sends progress to the session's reader.
    private func sample(_ lane: Lane) {
        guard let reader = lane.session.flatMap({ self.sessions[$0]?.reader }) else { return }
        for (id, live) in lane.live where self.machine.entry(id.rawValue, in: lane.session)?.phase == .running {
            reader.put(id, Self.progress(id, live, at: self.uptime))
        }
    }

    /// The progress of a running transfer, as its session's program receives it.
    static func progress(_ id: GID, _ live: Lane.Live, at now: Int64) -> JSON {
        var members: [JSON.Member] = [
            .init("kind", "progress"), .init("id", .string(id.description)), .init("bytes", .integer(live.bytes)),
            .init("total", .optional(live.total)), .init("rate", .integer(live.rate(at: now))),
        ]
        if live.transfer.upload != nil {
            members.append(.init("sent", .optional(live.sent)))
            members.append(.init("acknowledged", .optional(live.acknowledged)))
        }
        return .object(members)
    }

    // MARK: Schedule and conditions

    /// Whether the schedule allows transfers now.
    var isInSchedule: Bool {
        guard let schedule = self.schedule else { return true }
        let (minute, weekday) = self.configuration.clock.local()
        return schedule.allows(minute: minute, weekday: weekday)
    }

    /// Holds the queue outside the schedule; interrupted transfers resume from their bytes later.
    func lookAtSchedule() {
        if self.isInSchedule {
            if self.machine.release(.schedule) { self.tellQueue(nil) }
        } else if self.machine.hold(.schedule) {
            self.tellQueue(nil)
        }
        self.pump()
    }

    /// Reports that the reason why the waiting transfers of a queue wait has changed.
    private func tellQueue(_ session: String?) {
        guard self.isHeard(.actions) else { return }
        self.tell(.all(.waiting, session: session, count: self.machine.counts(of: session).waiting))
    }

    /// Holds the lanes whose conditions are not met, and releases the others.
    func lookAtConditions() {
        for lane in self.lanes.values {
            if lane.settings.gate?.isOpen ?? true {
                if self.machine.release(.conditions, lane.session) { self.tellQueue(lane.session) }
            } else if self.machine.hold(.conditions, lane.session) {
                self.tellQueue(lane.session)
            }
        }
        self.pump()
    }

    // MARK: Stored progress

    /// Returns the progress of all started transfers that have not ended.
    func progressToStore() -> [(id: GID, bytes: Int64, total: Int64?, path: String?)] {
        self.lanes.values.flatMap { lane in
            lane.live.compactMap { id, live in
                guard let entry = self.machine.entry(id.rawValue, in: lane.session), entry.hasStarted,
                    entry.phase != .ended
                else { return nil }
                return (id: id, bytes: live.bytes, total: live.total, path: live.path)
            }
        }
    }

    private func writeProgress() { self.write(self.progressToStore()) }

    /// Stores the paths of transfers that have run since the last check, long before their first progress.
    ///
    /// After a kill, a transfer's removal finds its partial file only by the stored path. Small files end before this.
    private func writeNewPaths() {
        var progress: [(id: GID, bytes: Int64, total: Int64?, path: String?)] = []
        for lane in self.lanes.values {
            for (id, live) in lane.live where live.path != nil && live.path != live.transfer.path {
                guard live.wasChecked else {
                    live.wasChecked = true
                    continue
                }
                live.transfer.path = live.path
                progress.append((id: id, bytes: live.bytes, total: live.total, path: live.path))
            }
        }
        self.write(progress)
    }

    private func write(_ progress: [(id: GID, bytes: Int64, total: Int64?, path: String?)]) {
        guard !progress.isEmpty, !self.isFull else { return }
        self.store.writeLater(
            { (writer) throws(QueueStoreError) in try writer.setProgress(progress) },
            done: { [logger = self.configuration.logger] result in
                // Only numbers that are shown after a crash are lost.
                if case .failure(let error) = result { logger.debug("progress was not stored: \(error.message)") }
            }
        )
    }
}
