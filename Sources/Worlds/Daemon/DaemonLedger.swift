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
        /// Whether it was seen paused since it was paused last.
        var wasSeenPaused = false
        /// Whether its partial file had to be deleted with its removal.
        var isWithoutFile = false
    }

    private(set) var entries: [GID: Entry] = [:]
    /// The transfers in the order of their numbers.
    private(set) var ids: [GID] = []
    /// The orders that the queue may have.
    private(set) var lines: [[GID]] = [[]]
    /// The values that the number of concurrent transfers may have.
    private(set) var concurrent: Set<Int> = [2]
    /// The values that the limit of the host may have.
    private(set) var hostLimit: Set<Int?> = [nil]

    /// The schedules that the queue may have.
    private(set) var schedule: Set<Schedule?> = [nil]

    private static let mostLines = 64

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
        case .add(let ids, let isPaused, let atFront):
            for id in ids { self.aim(id, isPaused ? .pause : .run, isCertain) }
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
        case .move(let id, let toFront):
            self.reorder(isCertain) { line in
                line.removeAll { $0 == id }
                line.insert(id, at: toFront ? 0 : line.count)
            }
        case .concurrent(let count): self.concurrent = isCertain ? [count] : self.concurrent.union([count])
        case .hostLimit(let count): self.hostLimit = isCertain ? [count] : self.hostLimit.union([count])
        case .schedule(let schedule):
            self.schedule = isCertain ? [schedule] : self.schedule.union([schedule])
        case .limit, .save, .list, .actWrongly: break
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
            if isCertain || self.entries[id]?.end == .failed { self.entries[id]?.end = nil }
        case .remove(let deletes):
            self.aim(id, .remove, isCertain)
            if isCertain { self.entries[id]?.isWithoutFile = deletes }
        case .forget:
            self.aim(id, .absent, isCertain)
        case .setPriority: break
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

    private mutating func reorder(_ isCertain: Bool, _ change: (inout [GID]) -> Void) {
        var changed = self.lines
        for index in changed.indices { change(&changed[index]) }
        self.lines = isCertain ? changed : self.lines + changed
        if self.lines.count > Self.mostLines { self.lines = [] }
    }

    // MARK: What was seen

    /// The end of a transfer was reported to the user.
    mutating func ended(_ id: GID, _ state: TransferRecord.State) { self.entries[id]?.end = state }

    /// Compares a list of all transfers with what must be there, and remembers it.
    ///
    /// - Returns: What is wrong.
    mutating func saw(_ records: [TransferRecord]) -> [String] {
        var wrong: [String] = []
        let found = Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
        if found.count != records.count { wrong.append("a list has a transfer twice") }
        for record in records where self.entries[record.id] == nil {
            wrong.append("the list has \(record.id), which was never added")
        }
        for id in self.ids {
            guard let entry = self.entries[id] else { continue }
            if let text = Self.fault(entry, found[id]) { wrong.append("transfer \(self.number(id)) \(text)") }
            self.entries[id]?.remember(found[id])
        }
        if let text = self.sawOrder(records) { wrong.append(text) }
        return wrong
    }

    private static func fault(_ entry: Entry, _ record: TransferRecord?) -> String? {
        let goals = entry.goals.sorted().map { "\($0)" }.joined(separator: " or ")
        guard let record else {
            return entry.goals.contains(.absent) ? nil : "is lost: it should \(goals)"
        }
        let state = record.state
        if entry.goals == [.absent] { return "is back: \(state.rawValue)" }
        if let end = entry.end {
            return state == end ? nil : "is \(state.rawValue) although it was said to be \(end.rawValue)"
        }
        let isAllowed =
            switch state {
            case .waiting: entry.goals.contains(.run)
            case .paused: entry.goals.contains(.pause)
            case .removed: entry.goals.contains(.remove)
            // One that is paused may have ended before; until that is stored, it is active.
            case .active, .retrying, .held, .finished, .failed:
                entry.goals.contains(.run) || (entry.goals.contains(.pause) && !entry.wasSeenPaused)
            }
        return isAllowed ? nil : "is \(state.rawValue) although it should \(goals)"
    }

    /// Compares the order of the waiting and paused transfers.
    private mutating func sawOrder(_ records: [TransferRecord]) -> String? {
        let seen = records.filter { $0.state == .waiting || $0.state == .paused }.map(\.id)
        let present = Set(seen)
        guard !self.lines.isEmpty else { return nil }
        let matching = self.lines.filter { line in line.filter { present.contains($0) } == seen }
        var known: Set<[GID]> = []
        let former = self.lines
        self.lines = matching.filter { known.insert($0).inserted }
        guard self.lines.isEmpty else { return nil }
        func text(_ line: [GID]) -> String { line.map { "\(self.number($0))" }.joined(separator: ", ") }
        let expected = text((former.first ?? []).filter { present.contains($0) })
        return "the order of the queue is \(text(seen)), not \(expected)"
    }
}

extension DaemonLedger.Entry {
    /// Records a state that the user has seen as certain.
    fileprivate mutating func remember(_ record: TransferRecord?) {
        guard let record else {
            self.goals = [.absent]
            return
        }
        switch record.state {
        case .waiting: self.goals = [.run]
        case .active, .retrying, .held: if self.goals.contains(.run) { self.goals = [.run] }
        case .paused:
            self.goals = [.pause]
            self.wasSeenPaused = true
        case .removed: self.goals = [.remove]
        case .finished, .failed:
            self.goals = [.run]
            self.end = record.state
        }
    }
}
