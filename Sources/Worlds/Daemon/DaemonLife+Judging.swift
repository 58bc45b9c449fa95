// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// The judge of a daemon's world.
extension DaemonLife {
    /// Lists the queue of a process that has started, and compares it and the settings with the ledger.
    func inspect(then: @escaping () -> Void) {
        guard let daemon, let core = daemon.core else { return }
        let concurrent = core.globalOptions[.maxConcurrentDownloads].flatMap { Int($0) } ?? 0
        if !self.ledger.concurrent.contains(concurrent) {
            self.fail("\(concurrent) transfers may run, not \(self.ledger.concurrent.sorted())")
        }
        let limit = core.hostLimits["site.example"]
        if !self.ledger.hostLimit.contains(limit) {
            self.fail("the limit of the host is \(limit.map { "\($0)" } ?? "lost")")
        }
        if !self.ledger.schedule.contains(core.schedule) {
            self.fail("the schedule is \(core.schedule.map { "\($0)" } ?? "lost")")
        }
        self.make(.list, daemon, then: then)
    }

    func saw(_ records: [TransferRecord]) {
        if self.trace.isKept {
            let states = records.map { "\(self.ledger.number($0.id)) \($0.state.rawValue)" }
            self.trace.add("user", "sees \(states.joined(separator: ", "))")
        }
        for text in self.ledger.saw(records) { self.fail(text) }
    }

    /// The site got a request.
    func requested(_ path: String) {
        if self.complete[path] != nil { self.fail("\(path) is fetched again although it is complete") }
        self.requestedAt[path] = self.scheduler.now
        if !self.ledger.schedule.contains(nil), self.scheduler.now - self.scheduledAt > 1_000_000_000 {
            self.fail("\(path) is requested although the schedule allows no transfers")
        }
        // A request that was on its way at the time of the answer still arrives.
        guard self.pending == nil, self.scheduler.now - self.answeredAt > 2 * self.network.roundTrip + 2_000_000,
            let entry = self.ledger.entries.values.first(where: { $0.path == path }),
            !entry.goals.contains(.run)
        else { return }
        self.fail("\(path) is requested although its transfer should \(entry.goals.sorted())")
    }

    /// A transfer is said to be complete.
    func judgeFile(_ record: TransferRecord) {
        guard let entry = self.ledger.entries[record.id] else { return }
        let expected = self.site.resources[entry.path]?.content
        guard let path = record.path else { return self.fail("\(entry.path) is complete without a path") }
        self.complete[entry.path] = path
        guard let bytes = self.disk.contents(path) else { return self.fail("'\(path)' is missing") }
        if expected?.equals(bytes) != true { self.fail("'\(path)' has wrong bytes") }
    }

    /// A transfer is said to have failed.
    func judgeFailure(_ record: TransferRecord) {
        guard let entry = self.ledger.entries[record.id], let resource = self.site.resources[entry.path] else { return }
        if resource.refusal != nil, record.failure?.status == resource.refusal { return }
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
        if self.ledger.schedule != [nil] { return self.make(.schedule(nil), daemon) { [unowned self] in self.await() } }
        let counts = core.counts
        if counts.waiting + counts.started == 0 {
            return self.inspect { [unowned self] in self.judge(core) }
        }
        guard self.scheduler.now - self.phaseBegan < Self.patience else {
            self.fail("transfers wait for ever: \(counts)")
            self.phase = .over
            return
        }
        self.scheduler.schedule(after: 1_000_000_000, in: daemon.process) { [unowned self] in
            self.scheduler.perform(as: nil) { self.await() }
        }
    }

    private func judge(_ core: DaemonCore) {
        guard let daemon else { return }
        daemon.call { (core) throws(ControlError) in
            try await core.list(ListQuery())
        } then: { [unowned self] result in
            guard case .success(let records) = result else { return self.fail("the last list is refused") }
            self.finalRecords = records
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
        "/\(name)" == entry.path
            && self.disk.contents("\(WorldDaemon.downloads)/\(name)") == self.site.resources[entry.path]?.content.bytes
    }

    /// Why an incomplete file should not exist; `nil` if it may.
    private func faultOfRest(_ name: String, _ records: [TransferRecord]) -> String? {
        let stem = name.prefix { $0 != "." }
        guard let id = self.ledger.ids.first(where: { self.ledger.entries[$0]?.path == "/\(stem).bin" }),
            let entry = self.ledger.entries[id]
        else { return ", which belongs to no transfer" }
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
