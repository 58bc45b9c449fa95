// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// Compares lists with the ledger.
extension DaemonLedger {
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
            if let record = found[id], let text = Self.fault(entry, inOptionsOf: record) {
                wrong.append("transfer \(self.number(id)) \(text)")
            }
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

    private static func fault(_ entry: Entry, inOptionsOf record: TransferRecord) -> String? {
        if !entry.priorities.contains(record.priority) {
            return "has the priority \(record.priority), not \(entry.priorities.sorted())"
        }
        for name in Self.options where !(entry.options[name] ?? [nil]).contains(record.options[name]) {
            return "has \(name.rawValue) \(record.options[name] ?? "no more"), which was changed"
        }
        return nil
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
        self.priorities = [record.priority]
        for name in DaemonLedger.options { self.options[name] = [record.options[name]] }
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
