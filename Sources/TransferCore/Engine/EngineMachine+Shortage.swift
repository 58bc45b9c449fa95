// SPDX-License-Identifier: Apache-2.0
/// Too few file descriptors or ports on this machine: fewer transfers run concurrently for a while.
extension EngineMachine {
    /// The time for which a reduced number of slots is trusted, in nanoseconds.
    package static let shortagePeriod: Int64 = 60_000_000_000
    /// The delay before another attempt, in nanoseconds.
    package static let shortageDelay: Int64 = 1_000_000_000

    /// The number of slots, not counting lent ones.
    var permittedPlaces: Int { min(self.limit, self.affordablePlaces) }

    /// The verdict about a transfer for which no descriptor was available.
    ///
    /// It waits while others run, because they release theirs. A transfer that runs alone waits as in an outage: other
    /// parts of the process, or other processes, have the descriptors.
    ///
    /// - Returns: The verdict, or `nil` if its maximum waiting time has passed.
    mutating func waitForDescriptors(_ slot: Int, _ now: Int64) -> Verdict? {
        self.affordablePlaces = max(1, min(self.affordablePlaces, self.runCount))
        self.shortageEnd = now + Self.shortagePeriod
        self.due.insert(DueQueue.Element(time: self.shortageEnd, id: nil, gate: DueQueue.Element.shortage))
        if self.runCount == 0 {
            let since = self.shortageSince ?? now
            self.shortageSince = since
            guard now - since < self.entries[slot].outageTimeout || self.waitsForMachine else { return nil }
        }
        let delay = max(Self.shortageDelay, self.entries[slot].retryWait)
        self.holdRetry(slot, until: now + delay)
        return .held(attempt: Int(self.entries[slot].attempts), delay: delay)
    }

    /// A time has come at which a shortage may have ended.
    mutating func shortageEnded(_ now: Int64) {
        if now >= self.shortageEnd { self.affordablePlaces = .max }
    }
}
