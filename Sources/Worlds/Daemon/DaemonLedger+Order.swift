// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon

/// The order of the queue, and of the starts that follow from it.
extension DaemonLedger {
    mutating func reorder(_ isCertain: Bool, _ change: (inout [GID]) -> Void) {
        var changed = self.lines
        for index in changed.indices { change(&changed[index]) }
        self.adopt(isCertain ? changed : self.lines + changed)
    }

    private mutating func adopt(_ lines: [[GID]]) {
        var known: Set<[GID]> = []
        self.lines = lines.filter { known.insert($0).inserted }
        if self.lines.count > Self.mostLines { self.lines = [] }
    }

    /// Moves a transfer to its place among the unfinished ones, of which some may have ended already.
    mutating func move(_ id: GID, by offset: Int, from origin: MoveOrigin, _ isCertain: Bool) {
        var moved: [[GID]] = []
        for line in self.lines {
            guard let here = line.firstIndex(of: id) else {
                moved.append(line)
                continue
            }
            var others = line
            others.remove(at: here)
            let before = self.unfinished(others[..<here])
            let all = self.unfinished(others[...])
            let start: ClosedRange<Int> =
                switch origin {
                case .start: 0...0
                case .current: before
                case .end: all
                }
            // The place is the number of unfinished transfers before it, at most all of them.
            let least = min(max(0, start.lowerBound + offset), all.upperBound)
            let most = min(max(0, start.upperBound + offset), all.upperBound)
            for place in 0...others.count {
                let preceding = self.unfinished(others[..<place])
                let isLast = place == others.count && most >= all.lowerBound
                guard isLast || preceding.lowerBound <= most && preceding.upperBound >= least else { continue }
                var line = others
                line.insert(id, at: place)
                moved.append(line)
            }
        }
        self.adopt(isCertain ? moved : self.lines + moved)
    }

    /// The number of unfinished transfers among some: at least, and at most.
    private func unfinished(_ ids: ArraySlice<GID>) -> ClosedRange<Int> {
        var (least, most) = (0, 0)
        for id in ids {
            let isUncertain = self.endedMeanwhile.contains(id)
            guard let entry = self.entries[id], entry.end == nil || isUncertain,
                !entry.goals.isDisjoint(with: [.run, .pause])
            else { continue }
            most += 1
            if isUncertain { continue }
            let isPaused = entry.goals == [.pause] && entry.wasSeenPaused
            if isPaused || entry.goals.isSubset(of: [.run, .pause]) && !entry.wasRequested { least += 1 }
        }
        return least...most
    }

    /// Finds a transfer that had to start before another one.
    ///
    /// - Parameters:
    ///   - id: The transfer that has started.
    ///   - started: The transfers that have started before, and have not been stopped since.
    /// - Returns: The transfer; `nil` if there is none, or it is uncertain.
    func preceding(_ id: GID, except started: Set<GID>) -> GID? {
        guard self.lines.count == 1, let here = self.lines[0].firstIndex(of: id),
            let priority = self.certainPriority(id)
        else { return nil }
        return self.lines[0].indices.lazy
            .first { place in
                let other = self.lines[0][place]
                guard place != here, !started.contains(other), let entry = self.entries[other], entry.goals == [.run],
                    entry.end == nil, entry.reported == nil, let its = self.certainPriority(other)
                else { return false }
                // Lower ones than 0, and higher ones, get a turn when they were passed over for long.
                guard its.signum() == priority.signum() else { return false }
                return its > priority || its == priority && place < here
            }
            .map { self.lines[0][$0] }
    }

    private func certainPriority(_ id: GID) -> Int? {
        guard let priorities = self.entries[id]?.priorities, priorities.count == 1 else { return nil }
        return priorities.first
    }
}
