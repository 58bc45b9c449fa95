// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import TransferCore

/// The judge of a daemon's world.
extension DaemonLife {
    /// Lists the queue of a process that has started, and compares it and the settings with the ledger.
    func inspect(then: @escaping () -> Void) {
        guard let daemon, let core = daemon.core else { return }
        let wrong = self.ledger.saw(
            concurrent: core.globalOptions[.maxConcurrentDownloads].flatMap { Int($0) } ?? 0,
            hostLimit: core.hostLimits["site.example"],
            schedule: core.schedule
        )
        for text in wrong { self.fail(text) }
        self.schedules.set(self.ledger.schedule, at: self.scheduler.now)
        self.make(.list, daemon, then: then)
    }

    func saw(_ records: [TransferRecord]) {
        if self.trace.isKept {
            let states = records.map { "\(self.ledger.number($0.id)) \($0.state.rawValue)" }
            self.trace.add("user", "sees \(states.joined(separator: ", "))")
        }
        self.lastSeen = records
        for text in self.ledger.saw(records) { self.fail(text) }
        self.judgeEnds(in: records)
        self.judgeSchedule(of: records)
    }

    /// The time in which the daemon follows the clock, and a request on its way arrives.
    private var scheduleDelay: Int64 { 1_300_000_000 + 2 * self.network.roundTrip }

    /// The reasons for which transfers wait are those of the schedule.
    private func judgeSchedule(of records: [TransferRecord]) {
        guard self.schedules.isUsed else { return }
        let span = max(0, self.scheduler.now - self.scheduleDelay)...self.scheduler.now
        if !self.schedules.mayForbid(span), let held = records.first(where: { $0.waitingFor == .schedule }) {
            self.fail("transfer \(self.ledger.number(held.id)) waits for the schedule, which allows it")
        }
        // An end that could not be stored leaves its transfer active.
        guard !self.schedules.mayAllow(span), !self.faults.mayFail(in: span) else { return }
        self.result.count("lists outside of the schedule")
        for record in records {
            let number = self.ledger.number(record.id)
            if record.state == .active { self.fail("transfer \(number) runs outside of the schedule") }
            if record.state == .waiting, record.waitingFor == nil || record.waitingFor == .host {
                self.fail("transfer \(number) does not wait for the schedule")
            }
        }
    }

    /// The site got a request.
    func requested(_ path: String, _ request: ServerRequest) {
        if self.complete[path] != nil { self.fail("\(path) is fetched again although it is complete") }
        self.requestedAt[path] = self.scheduler.now
        let id = self.ledger.ids.first { self.ledger.entries[$0]?.path == path }
        if let id { self.ledger.entries[id]?.wasRequested = true }
        let span = max(0, self.scheduler.now - self.scheduleDelay)...self.scheduler.now
        if !self.schedules.mayAllow(span) {
            self.fail("\(path) is requested although the schedule allows no transfers")
        }
        // A request that was on its way at the time of the answer still arrives.
        guard self.pending == nil, self.scheduler.now - self.answeredAt > 2 * self.network.roundTrip + 2_000_000,
            let entry = id.flatMap({ self.ledger.entries[$0] })
        else { return }
        if !entry.goals.contains(.run) {
            self.fail("\(path) is requested although its transfer should \(entry.goals.sorted())")
        }
        let mark = request.fields["X-Mark"].map { "X-Mark: \($0)" }
        if !(entry.options[.header] ?? [nil]).contains(mark) {
            self.fail("\(path) is requested with \(mark ?? "no header"), which was changed")
        }
    }

    /// A transfer is said to be complete.
    func judgeFile(_ record: TransferRecord) {
        guard let entry = self.ledger.entries[record.id] else { return }
        guard let path = record.path else { return self.fail("\(entry.path) is complete without a path") }
        self.complete[entry.path] = path
        guard let bytes = self.disk.contents(path) else { return self.fail("'\(path)' is missing") }
        guard let version = self.site.resources[entry.path]?.version(of: bytes) else {
            return self.fail("'\(path)' has wrong bytes")
        }
        if let before = self.versions.updateValue(version, forKey: entry.path), before != version {
            self.fail("'\(path)' has the version \(version), not \(before)")
        }
        if version > 0 { self.result.count("files of a later version") }
    }

    /// A transfer is said to have failed.
    func judgeFailure(_ record: TransferRecord) {
        guard let entry = self.ledger.entries[record.id], let resource = self.site.resources[entry.path] else { return }
        if resource.refusal != nil, record.failure?.status == resource.refusal { return }
        if self.faults.excusesFailures { return }
        if self.terms.outageTimeout != nil, !self.network.outages.isEmpty { return }
        // The beginning of an outage, and the first responses after it, may use up the attempts.
        if resource.hasFailed, !self.network.outages.isEmpty { return }
        self.fail(
            "transfer \(self.ledger.number(record.id)) fails without a reason: \(record.failure?.message ?? "none")"
        )
    }

    // MARK: The end

    /// Waits until no transfer waits or runs.
    func await() {
        guard let daemon, let core = daemon.core, daemon.process.isAlive else { return }
        if self.ledger.schedule != [nil] {
            guard self.waitsForSchedule else {
                // It may be refused, for want of space.
                return self.make(.schedule(nil), daemon) { [unowned self] in
                    self.ledger.schedule == [nil] ? self.await() : self.awaitLater(daemon)
                }
            }
            self.result.count("looks at a queue with a schedule")
            return self.make(.list, daemon) { [unowned self] in self.judgeIdle(daemon) }
        }
        let counts = core.counts
        if counts.waiting + counts.started == 0 {
            return self.inspect { [unowned self] in
                guard self.awaitsEvents else { return self.judge(core) }
                self.awaitLater(daemon)
            }
        }
        guard self.scheduler.now - self.phaseBegan < Self.patience else {
            self.fail("transfers wait for ever: \(counts)")
            self.phase = .over
            return
        }
        self.awaitLater(daemon)
    }

    private func awaitLater(_ daemon: WorldDaemon) {
        self.scheduler.schedule(after: 1_100_000_000, in: daemon.process) { [unowned self] in
            self.scheduler.perform(as: nil) { self.await() }
        }
    }

    /// Whether the user waits for the schedule: it allows transfers soon, and some wait.
    private var waitsForSchedule: Bool {
        guard self.terms.waitsForSchedule, self.scheduler.now - self.phaseBegan < Self.patience / 2,
            self.ledger.schedule.count == 1, let schedule = self.ledger.schedule.first,
            let counts = self.daemon?.core?.counts, counts.waiting + counts.started > 0
        else { return false }
        return self.schedules.opens(schedule, within: 40, after: self.scheduler.now)
    }

    /// One runs if the schedule allows transfers and nothing else holds them.
    private func judgeIdle(_ daemon: WorldDaemon) {
        defer { self.awaitLater(daemon) }
        let span = max(0, self.scheduler.now - 5_000_000_000)...self.scheduler.now
        guard !self.schedules.mayForbid(span), self.scheduler.now - self.heard.changedAt > 5_000_000_000,
            self.scheduler.now - daemon.openedAt > 5_000_000_000, !self.faults.mayFail(in: span),
            self.heard.started.isEmpty,
            self.lastSeen.contains(where: { $0.state == .waiting }),
            self.lastSeen.allSatisfy({ $0.state != .waiting || $0.waitingFor == nil })
        else { return }
        self.fail("transfers wait although the schedule allows them")
    }

    private func judge(_ core: DaemonCore) {
        guard let daemon else { return }
        daemon.call { (core) throws(ControlError) in
            try await core.list(ListQuery())
        } then: { [unowned self] result in
            guard case .success(let records) = result else { return self.fail("the last list is refused") }
            self.finalRecords = records
            if self.heard.ended.contains(where: { $0.value != .removed }), !self.heard.isDrained {
                self.fail("it is not said that nothing runs")
            }
            for state in TransferRecord.State.allCases {
                let (listed, counted) = (records.count { $0.state == state }, core.counts.number(of: state))
                if listed != counted {
                    self.fail("\(listed) transfers are \(state.rawValue), but \(counted) are counted")
                }
            }
            self.phase = .again
            self.stop()
        }
    }

    /// The daemon was stopped and started once more.
    func judgeAgain() {
        guard let daemon else { return }
        daemon.call { (core) throws(ControlError) in
            try await core.list(ListQuery())
        } then: { [unowned self] result in
            if case .success(let records) = result {
                let (before, after) = (self.finalRecords.map(\.brief), records.map(\.brief))
                if before != after { self.fail("after a restart the queue is \(after), not \(before)") }
                self.judgeFiles(records)
            }
            self.phase = .over
        }
    }

    private func judgeFiles(_ records: [TransferRecord]) {
        for record in records where record.state == .finished { self.judgeFile(record) }
        let files = Set(self.complete.values)
        let names = self.disk.names(inDirectory: WorldDaemon.downloads)
        for path in files.sorted() where self.disk.contents(path) == nil {
            self.fail("'\(path)' is missing at the end")
        }
        for name in names where !files.contains("\(WorldDaemon.downloads)/\(name)") {
            guard let text = self.faultOfRest(name, records) else { continue }
            self.fail("'\(name)' is left\(text)")
        }
    }

    private func isComplete(_ name: String, _ entry: DaemonLedger.Entry) -> Bool {
        guard "/\(name)" == entry.path, let bytes = self.disk.contents("\(WorldDaemon.downloads)/\(name)") else {
            return false
        }
        return self.site.resources[entry.path]?.version(of: bytes) != nil
    }

    /// Why an incomplete file should not exist; `nil` if it may.
    private func faultOfRest(_ name: String, _ records: [TransferRecord]) -> String? {
        let stem = name.prefix { $0 != "." }
        guard let id = self.ledger.ids.first(where: { self.ledger.entries[$0]?.path == "/\(stem).bin" }),
            let entry = self.ledger.entries[id]
        else { return ", which belongs to no transfer" }
        // A file that could not be deleted stays.
        if self.faults.hasFileTrouble { return nil }
        // Nothing of a file that has just begun is durable: its partial file is then taken for another program's.
        if self.exposed.contains(entry.path) {
            self.result.count("partial files that are left after a loss of power")
            return nil
        }
        // The deletion of the journal is not synced: the next download under its name deletes it again.
        if self.hasLostPower, self.complete[entry.path] != nil, name.hasSuffix(".part.journal") {
            self.result.count("journals that are back after a loss of power")
            return nil
        }
        guard let record = records.first(where: { $0.id == id }) else {
            // Forgotten transfers may have failed.
            return self.complete[entry.path] == nil ? nil : " of transfer \(self.ledger.number(id)), which is complete"
        }
        switch record.state {
        case .paused, .failed: return nil
        // It was complete before its engine received the removal.
        case .removed where self.isComplete(name, entry): return nil
        case .removed where !entry.isWithoutFile: return nil
        case .removed where self.unknown.contains(entry.path) && name.hasPrefix("\(stem).bin.part"):
            self.result.count("partial files that are left after a kill")
            return nil
        default: return " of transfer \(self.ledger.number(id)), which is \(record.state.rawValue)"
        }
    }
}

extension QueueCounts {
    fileprivate func number(of state: TransferRecord.State) -> Int {
        switch state {
        case .waiting: self.waiting
        case .active: self.active
        case .retrying: self.retrying
        case .held: self.held
        case .paused: self.paused
        case .finished: self.finished
        case .failed: self.failed
        case .removed: self.removed
        }
    }
}

extension TransferRecord {
    fileprivate var brief: String { "\(self.id) \(self.state.rawValue)" }
}
