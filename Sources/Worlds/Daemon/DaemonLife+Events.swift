// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// The facts that the events of one process have reported.
struct DaemonHeard {
    /// The transfers that have started and have neither ended nor been stopped since.
    var started: Set<GID> = []
    /// The transfers that a killed process had started, until a list shows their states: their ends may be stored and not
    /// reported.
    var uncertain: Set<GID> = []
    /// The ends that were reported.
    var ended: [GID: TransferRecord.State] = [:]
    /// The ends that were seen in the first list of the process: an earlier process may have reported them.
    var known: [GID: TransferRecord.State]?
    /// The ends that were seen in a list before they were reported, and when.
    var owed: [GID: Int64] = [:]
    /// When a transfer started or ended last.
    var changedAt: Int64 = 0
    /// Whether it was said that nothing waits or runs, since the last end.
    var isDrained = false
}

/// The judge of the daemon's events.
extension DaemonLife {
    /// The time in which an event must follow what a list shows.
    private static let eventDelay: Int64 = 1_000_000_000

    func heard(_ event: ServiceEvent, _ daemon: WorldDaemon) {
        switch event {
        case .started(let record): self.started(record)
        case .paused(let record): self.stopped("paused", record)
        case .removed(let record):
            self.stopped("removed", record)
            self.judgeEnd(record)
        case .changed(let record):
            if record.state == .waiting { self.stopped("stopped", record) }
        case .queued(let record): self.noteEvent("queued", record)
        case .finished(let record):
            self.stopped("finished", record)
            self.result.count("finished")
            self.judgeEnd(record)
            self.judgeFile(record)
        case .failed(let record):
            self.stopped("failed", record)
            self.result.count("failed")
            self.judgeEnd(record)
            self.judgeFailure(record)
        case .drained: self.heard.isDrained = true
        case .all, .progress: break
        }
    }

    private func noteEvent(_ what: String, _ record: TransferRecord) {
        self.trace.add("daemon \(self.lives)", "event: \(what) \(self.ledger.number(record.id))")
    }

    private func stopped(_ what: String, _ record: TransferRecord) {
        self.noteEvent(what, record)
        self.heard.started.remove(record.id)
        self.heard.changedAt = self.scheduler.now
    }

    private func started(_ record: TransferRecord) {
        self.noteEvent("started", record)
        defer {
            self.heard.started.insert(record.id)
            self.heard.changedAt = self.scheduler.now
        }
        guard let entry = self.ledger.entries[record.id], self.pending == nil else { return }
        let number = self.ledger.number(record.id)
        if entry.end == .finished { self.fail("transfer \(number) is started again") }
        if !entry.goals.contains(.run) {
            self.fail("transfer \(number) starts although it should \(entry.goals.sorted())")
        }
        self.judgeTurn(record.id)
    }

    /// If one transfer runs at a time, the next one is the first by priority and place.
    private func judgeTurn(_ id: GID) {
        // The order is compared with changes ten times a second, and what has begun by then continues. After failures any
        // transfer may find out whether its host or file system is available again.
        guard self.ledger.concurrent == [1], self.scheduler.now - self.answeredAt > 1_500_000_000,
            self.site.failedAt.map({ self.scheduler.now - $0 > 90_000_000_000 }) ?? true,
            !self.faults.mayFail(in: max(0, self.scheduler.now - 90_000_000_000)...self.scheduler.now),
            !self.faults.hasFileTrouble, self.network.outages.isEmpty
        else { return }
        self.result.count("starts whose order is judged")
        guard let first = self.ledger.preceding(id, except: self.heard.started.union(self.heard.uncertain)) else {
            return
        }
        self.fail("transfer \(self.ledger.number(id)) starts before \(self.ledger.number(first))")
    }

    // MARK: Ends

    /// An end is reported: once for each start.
    private func judgeEnd(_ record: TransferRecord) {
        if record.state != .removed { self.heard.isDrained = false }
        self.heard.owed[record.id] = nil
        self.heard.ended[record.id] = record.state
        guard let before = self.ledger.ended(record.id, record.state) else { return }
        self.fail(
            "transfer \(self.ledger.number(record.id)) is said to be \(record.state.rawValue) after \(before.rawValue)"
        )
    }

    /// A list shows ends: each must be reported by this process, if it is not older.
    func judgeEnds(in records: [TransferRecord]) {
        let ends = records.filter { $0.state == .finished || $0.state == .failed }
        guard let known = self.heard.known else {
            // Between the opening of the queue and its first list some may have ended.
            self.heard.known = Dictionary(ends.map { ($0.id, $0.state) }) { first, _ in first }
            self.heard.uncertain = []
            return
        }
        var owed: [GID: Int64] = [:]
        for end in ends where known[end.id] != end.state && self.heard.ended[end.id] != end.state {
            owed[end.id] = self.heard.owed[end.id] ?? self.scheduler.now
        }
        self.heard.owed = owed
        for (id, since) in owed where self.scheduler.now - since > Self.eventDelay {
            self.fail("the end of transfer \(self.ledger.number(id)) is not reported")
            self.heard.owed[id] = nil
        }
    }

    /// Whether the events of what a list has shown are still to come.
    var awaitsEvents: Bool { !self.heard.owed.isEmpty }
}
