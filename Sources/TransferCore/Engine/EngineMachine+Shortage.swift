// SPDX-License-Identifier: Apache-2.0
/// Too few file descriptors or ports on this machine: fewer transfers run concurrently for a while.
extension EngineMachine {
    /// The delay before another attempt, in nanoseconds.
    package static let shortageDelay: Int64 = 1_000_000_000

    /// The number of slots, not counting lent ones.
    var permittedPlaces: Int { min(self.limit, self.affordable.count) }

    /// The verdict about a transfer for which no descriptor was available.
    ///
    /// It waits while others run, because they release theirs. A transfer that runs alone waits as in an outage: other
    /// parts of the process, or other processes, have the descriptors.
    ///
    /// - Returns: The verdict, or `nil` if its maximum waiting time has passed.
    mutating func waitForDescriptors(_ slot: Int, _ now: Int64) -> Verdict? {
        self.affordable.fellShort(startedAt: self.entries[slot].reductions, running: self.runCount, now: now)
        self.scheduleIncrease()
        if self.runCount == 0 {
            let since = self.shortageSince ?? now
            self.shortageSince = since
            guard now - since < self.entries[slot].outageTimeout || self.waitsForMachine else { return nil }
        }
        let delay = max(Self.shortageDelay, self.entries[slot].retryWait)
        self.holdRetry(slot, until: now + delay)
        return .held(attempt: Int(self.entries[slot].attempts), delay: delay)
    }

    /// A time has come at which more transfers may run.
    mutating func shortageEased(_ now: Int64) {
        if self.affordable.timeReached(now, limit: self.limit) { self.scheduleIncrease() }
    }

    private mutating func scheduleIncrease() {
        let time = self.affordable.nextIncrease
        self.due.insert(DueQueue.Element(time: time, id: nil, gate: DueQueue.Element.shortage))
    }
}
