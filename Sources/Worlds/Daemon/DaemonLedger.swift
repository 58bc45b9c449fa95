// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// The user's acknowledged requests, and the state of the queue that follows from them.
///
/// A request that was acknowledged has one possible result. One whose process was killed before its response has two,
/// until the queue is seen again.
struct DaemonLedger {
    /// The intended state of a transfer.
    enum Goal: Int, Comparable {
        case run, pause, remove, absent

        static func < (left: Goal, right: Goal) -> Bool { left.rawValue < right.rawValue }
    }

    /// A transfer.
    struct Entry {
        let path: String
        var goals: Set<Goal> = [.absent]
        /// How it has ended, if that was reported to the user.
        var end: TransferRecord.State?
        /// The end that an event reported, since the transfer was added or retried last.
        var reported: TransferRecord.State?
        /// Whether it was seen paused since it was paused last.
        var wasSeenPaused = false
        /// Whether its partial file had to be deleted with its removal.
        var isWithoutFile = false
        /// Whether a server got a request for it.
        var wasRequested = false
        /// The priorities that it may have.
        var priorities: Set<Int> = [0]
        /// The values that its options may have.
        var options: [OptionName: Set<String?>] = [:]
    }

    var entries: [GID: Entry] = [:]
    /// The transfers whose ends were reported while the present request waits for its response: before it was performed, or
    /// after that.
    var endedMeanwhile: Set<GID> = []
    /// The transfers in the order of their numbers.
    private(set) var ids: [GID] = []
    /// The orders that the queue may have.
    var lines: [[GID]] = [[]]
    /// The values that the number of concurrent transfers may have.
    private(set) var concurrent: Set<Int>
    /// The values that the limit of the host may have.
    private(set) var hostLimit: Set<Int?> = [nil]
    /// The schedules that the queue may have.
    private(set) var schedule: Set<Schedule?> = [nil]

    static let mostLines = 64

    /// The options of transfers that are compared.
    static let options: [OptionName] = [.maxDownloadLimit, .header]

    init(concurrent: Int) { self.concurrent = [concurrent] }

    /// Names a transfer that will be added.
    mutating func name(_ id: GID, path: String) {
        self.ids.append(id)
        self.entries[id] = Entry(path: path)
    }

    func number(_ id: GID) -> Int { (self.ids.firstIndex(of: id) ?? -1) + 1 }

    // MARK: Requests

    /// A request was acknowledged.
    mutating func done(_ request: DaemonRequest) { self.apply(request, isCertain: true) }

    /// A request may have been performed.
    mutating func maybeDone(_ request: DaemonRequest) { self.apply(request, isCertain: false) }

    private mutating func apply(_ request: DaemonRequest, isCertain: Bool) {
        switch request {
        case .add(let ids, let isPaused, let atFront, let options):
            for id in ids {
                self.aim(id, isPaused ? .pause : .run, isCertain)
                // Certain in any case: it is there with its options, or not at all.
                self.entries[id]?.priorities = [options[.priority].flatMap { Int($0) } ?? 0]
                for name in Self.options { self.entries[id]?.options[name] = [options[name]] }
            }
            self.reorder(isCertain) { line in
                line.removeAll { ids.contains($0) }
                line.insert(contentsOf: ids, at: atFront ? 0 : line.count)
            }
        case .act(let action, let ids):
            for id in ids { self.apply(action, id, isCertain) }
            if action == .retry {
                self.reorder(isCertain) { line in
                    line.removeAll { ids.contains($0) }
                    line += ids
                }
            }
        case .actOnAll(let action):
            for id in self.ids { self.applyToAll(action, id, isCertain) }
        case .move(let id, let offset, let origin): self.move(id, by: offset, from: origin, isCertain)
        case .concurrent(let count): self.concurrent = isCertain ? [count] : self.concurrent.union([count])
        case .hostLimit(let count): self.hostLimit = isCertain ? [count] : self.hostLimit.union([count])
        case .schedule(let schedule):
            self.schedule = isCertain ? [schedule] : self.schedule.union([schedule])
        case .option(let id, let name, let value):
            let before = isCertain ? [] : self.entries[id]?.options[name] ?? [nil]
            self.entries[id]?.options[name] = before.union([value])
        case .save, .list, .actWrongly: break
        }
    }

    private mutating func aim(_ id: GID, _ goal: Goal, _ isCertain: Bool) {
        if isCertain { self.entries[id]?.goals = [goal] } else { self.entries[id]?.goals.insert(goal) }
    }

    private mutating func apply(_ action: TransferAction, _ id: GID, _ isCertain: Bool) {
        switch action {
        case .pause:
            self.aim(id, .pause, isCertain)
            self.entries[id]?.wasSeenPaused = false
        case .resume: self.aim(id, .run, isCertain)
        case .retry:
            self.aim(id, .run, isCertain)
            self.entries[id]?.isWithoutFile = false
            self.entries[id]?.reported = nil
            if isCertain || self.entries[id]?.end == .failed { self.entries[id]?.end = nil }
        case .remove(let deletes):
            self.aim(id, .remove, isCertain)
            if isCertain { self.entries[id]?.isWithoutFile = deletes }
        case .forget:
            self.aim(id, .absent, isCertain)
        case .setPriority(let priority):
            let before = isCertain ? [] : self.entries[id]?.priorities ?? []
            self.entries[id]?.priorities = before.union([priority])
        }
    }

    /// An action on everything leaves out the transfers whose state does not allow it.
    private mutating func applyToAll(_ action: TransferAction, _ id: GID, _ isCertain: Bool) {
        guard let entry = self.entries[id], entry.end == nil else { return }
        let (from, to): (Set<Goal>, Goal)
        switch action {
        case .pause: (from, to) = ([.run], .pause)
        case .resume: (from, to) = ([.pause], .run)
        default: return
        }
        guard !entry.goals.isDisjoint(with: from) else { return }
        if isCertain { self.entries[id]?.goals.subtract(from) }
        self.entries[id]?.goals.insert(to)
        if to == .pause { self.entries[id]?.wasSeenPaused = false }
    }

    // MARK: What was seen

    /// The end of a transfer was reported to the user.
    ///
    /// - Returns: The end that was reported before, without a retry in between.
    mutating func ended(_ id: GID, _ state: TransferRecord.State) -> TransferRecord.State? {
        defer { self.entries[id]?.reported = state }
        self.endedMeanwhile.insert(id)
        if state != .removed { self.entries[id]?.end = state }
        return self.entries[id]?.reported
    }

    /// The settings of a process that has started were read.
    mutating func saw(concurrent: Int, hostLimit: Int?, schedule: Schedule?) -> [String] {
        var wrong: [String] = []
        if !self.concurrent.contains(concurrent) {
            wrong.append("\(concurrent) transfers may run, not \(self.concurrent.sorted())")
        }
        if !self.hostLimit.contains(hostLimit) {
            wrong.append("the limit of the host is \(hostLimit.map { "\($0)" } ?? "lost")")
        }
        if !self.schedule.contains(schedule) {
            wrong.append("the schedule is \(schedule.map { "\($0)" } ?? "lost")")
        }
        (self.concurrent, self.hostLimit, self.schedule) = ([concurrent], [hostLimit], [schedule])
        return wrong
    }
}
