/// Too few file descriptors or ports on this machine: fewer transfers run at once for a while.
extension EngineMachine {
    /// The time for which a lower number of places is believed, in nanoseconds.
    package static let shortagePeriod: Int64 = 60_000_000_000
    /// The delay before another attempt, in nanoseconds.
    package static let shortageDelay: Int64 = 1_000_000_000

    /// The number of places, not counting lent ones.
    var permittedPlaces: Int { min(self.limit, self.affordablePlaces) }

    /// The verdict about a transfer for which a descriptor was missing.
    ///
    /// It waits while others run, for they return theirs. One that is alone waits as it does in an outage: other parts of
    /// the process, or other processes, have them.
    ///
    /// - Returns: The verdict, or `nil` if it has waited as long as it may.
    mutating func waitForDescriptors(_ slot: Int, _ now: Int64) -> Verdict? {
        self.affordablePlaces = max(1, min(self.affordablePlaces, self.runCount))
        self.shortageEnd = now + Self.shortagePeriod
        self.due.insert(DueQueue.Element(time: self.shortageEnd, id: nil, gate: DueQueue.Element.shortage))
        if self.runCount == 0 {
            let since = self.shortageSince ?? now
            self.shortageSince = since
            guard now - since < self.entries[slot].outageTimeout else { return nil }
        }
        let delay = max(Self.shortageDelay, self.entries[slot].retryWait)
        self.move(slot, to: .retrying(at: now + delay))
        self.due.insert(DueQueue.Element(time: now + delay, id: self.entries[slot].id))
        return .held(attempt: Int(self.entries[slot].attempts), delay: delay)
    }

    /// A time has come at which a shortage may be over.
    mutating func shortageEnded(_ now: Int64) {
        if now >= self.shortageEnd { self.affordablePlaces = .max }
    }
}
