// SPDX-License-Identifier: Apache-2.0
/// The time limits of transfers that wait because their hosts are held.
///
/// After the first attempt, the time for which a transfer's host is held counts for its limit, like the time between other
/// attempts. The time for which it waits for a place does not, also while its host is to be probed.
extension EngineMachine {
    /// A transfer begins to wait.
    mutating func watchHeldTime(_ slot: Int) {
        guard self.entries[slot].totalTimeout > 0, self.entries[slot].attempts > 0 else { return }
        self.timed.insert(slot)
        self.holdsHaveChanged = true
    }

    /// Counts the time for which a transfer's host was held until now.
    mutating func endHeldTime(_ slot: Int, _ now: Int64) {
        let since = self.entries[slot].heldSince
        guard since != .max else { return }
        self.entries[slot].heldSince = .max
        let held = max(0, min(now, self.entries[slot].heldUntil) - since)
        self.entries[slot].activeTime = min(self.entries[slot].activeTime.adding(clamping: held), Self.longestTime)
    }

    /// Holds have begun, changed or ended.
    mutating func updateHeldTimes(_ now: Int64) {
        self.holdsHaveChanged = false
        for slot in self.timed.sorted() { self.updateHeldTime(slot, now) }
    }

    /// The time of a transfer's limit has come, if its host was held all the time.
    mutating func timeLimitReached(_ id: TransferID, _ now: Int64) {
        guard let slot = self.slots[id] else { return }
        self.entries[slot].isLimitScheduled = false
        if self.timed.contains(slot) { self.updateHeldTime(slot, now) }
    }

    private mutating func updateHeldTime(_ slot: Int, _ now: Int64) {
        self.endHeldTime(slot, now)
        let left = self.entries[slot].totalTimeout - self.entries[slot].activeTime
        guard left > 0 else { return self.ranOut.append(self.entries[slot].id) }
        guard case .held(let until) = self.permission(Int(self.entries[slot].host), now) else { return }
        self.entries[slot].heldSince = now
        self.entries[slot].heldUntil = until ?? .max
        guard !self.entries[slot].isLimitScheduled else { return }
        self.entries[slot].isLimitScheduled = true
        let end = now.adding(clamping: left)
        self.due.insert(DueQueue.Element(time: end, id: self.entries[slot].id, kind: .timeLimit))
    }

    /// Ends the next transfer that is out of time.
    mutating func runOut(_ now: Int64) -> Step? {
        while let id = self.ranOut.popLast() {
            guard let slot = self.slots[id], self.entries[slot].state == .waiting else { continue }
            let host = self.hosts[Int(self.entries[slot].host)].origin
            let hold = self.hold(of: host, at: now)
            self.leaveLine(slot)
            _ = self.fail(slot, .refused(.outOfTime))
            return .runOut(id, hold)
        }
        return nil
    }
}
