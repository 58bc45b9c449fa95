// SPDX-License-Identifier: Apache-2.0
/// Commands from outside: pausing, resuming, cancelling; names and waits.
extension EngineMachine {
    /// Pauses a transfer that waits, runs or is between attempts.
    ///
    /// - Returns: `paused`, `interrupt` if it runs, or `unchanged`.
    package mutating func pause(_ id: TransferID, now: Int64) -> Verdict {
        guard let slot = self.slots[id] else { return .unchanged }
        switch self.entries[slot].state {
        case .running:
            guard !self.entries[slot].isUnsynced else { return .unchanged }
            if case .cancel = self.entries[slot].wish {} else { self.entries[slot].wish = .pause }
            return .interrupt
        case .waiting:
            self.endHeldTime(slot, now)
            self.leaveLine(slot)
        case .retrying: self.retryStopped(slot)
        case .paused, .finished, .failed, .cancelled: return .unchanged
        }
        self.move(slot, to: .paused)
        return .paused
    }

    /// Queues a paused transfer again, also one that is still being paused.
    ///
    /// - Returns: `waiting` or `unchanged`.
    package mutating func resume(_ id: TransferID) -> Verdict {
        guard let slot = self.slots[id] else { return .unchanged }
        if case .pause = self.entries[slot].wish { self.entries[slot].wish = .resume }
        guard self.entries[slot].state == .paused else { return .unchanged }
        self.wait(slot, atFront: false)
        return .waiting
    }

    /// Cancels a transfer that has not ended.
    ///
    /// - Returns: `cancelled`, `interrupt` if it runs, or `unchanged`.
    package mutating func cancel(_ id: TransferID, keeping: Bool) -> Verdict {
        guard let slot = self.slots[id] else { return .unchanged }
        switch self.entries[slot].state {
        case .running:
            guard !self.entries[slot].isUnsynced else { return .unchanged }
            self.entries[slot].wish = .cancel(keeping: keeping)
            return .interrupt
        case .waiting: self.leaveLine(slot)
        case .retrying: self.retryStopped(slot)
        case .paused: break
        case .finished, .failed, .cancelled: return .unchanged
        }
        self.totals.cancelled += 1
        self.end(slot, .cancelled)
        return .cancelled(keeping: keeping)
    }

    /// Removes a transfer that has never started from the queue; others are not changed.
    ///
    /// - Returns: Whether it had not started; it is forgotten then, without an end.
    package mutating func withdraw(_ id: TransferID) -> Bool {
        guard let slot = self.slots[id], self.entries[slot].state == .waiting, self.entries[slot].attempts == 0 else {
            return false
        }
        self.leaveLine(slot)
        self.end(slot, .cancelled)
        return true
    }

    /// Whether slots are free although transfers wait, because their hosts' limits are reached.
    package var hasIdlePlaces: Bool { self.waitingCount > 0 && self.freePlaces > 0 }

    /// Changes a transfer's priority: a waiting one moves to the end of its new queue, a running one keeps running.
    package mutating func setPriority(_ priority: Priority, of id: TransferID) {
        guard let slot = self.slots[id], self.entries[slot].priority != priority else { return }
        let waits = self.entries[slot].state == .waiting
        if waits { self.leaveLine(slot) }
        self.entries[slot].priority = priority
        if waits { self.enterLine(slot, atFront: false) }
    }

    /// Moves a transfer to the waiting ones.
    mutating func wait(_ slot: Int, atFront: Bool) {
        self.move(slot, to: .waiting)
        self.enterLine(slot, atFront: atFront)
    }

    // MARK: Names

    /// Whether a name is unused.
    package func isNameFree(_ target: FileTarget) -> Bool { self.names.isFree(target) }

    /// Whether a name is that of another transfer's partial file or journal.
    package func isNameOwned(_ target: FileTarget) -> Bool { self.names.isOwned(target) }

    /// Reserves a name, numbered if it is taken.
    package mutating func takeName(directory: String, base: String) -> FileTarget {
        let target = FileTarget(directory: directory, name: base)
        if self.names.take(target) { return target }
        return self.takeNextName(directory: directory, base: base)
    }

    /// Reserves the next numbered name.
    package mutating func takeNextName(directory: String, base: String) -> FileTarget {
        let plain = FileTarget(directory: directory, name: base)
        while true {
            let number = self.names.number(for: plain)
            let target = FileTarget(directory: directory, name: FileName.numbered(base, number))
            if self.names.take(target) { return target }
        }
    }

    /// Makes a name available again.
    package mutating func releaseName(_ target: FileTarget) { self.names.release(target) }

    // MARK: Waits

    /// Waits for a condition of the queue.
    ///
    /// - Returns: The number with which ``Step/resume(_:)`` follows, at once if the condition holds.
    package mutating func wait(for condition: WaitCondition) -> WaiterID {
        self.nextWaiter += 1
        let number = WaiterID(rawValue: self.nextWaiter)
        self.waits.append((number, condition))
        return number
    }

    /// Whether more transfers should be added: few are waiting, or none of the waiting ones may use the free slots.
    ///
    /// - Parameters:
    ///   - count: The number of waiting transfers that is always sufficient.
    ///   - limit: The number of waiting transfers that is never exceeded.
    /// - Returns: Whether more should be added.
    package func isStarving(atMost count: Int, limit: Int) -> Bool {
        if self.waitingCount <= count || self.isStopping { return true }
        return self.waitingCount <= limit && self.isStarted && self.runCount - self.lentPlaces < self.permittedPlaces
    }

    mutating func satisfiedWait() -> WaiterID? {
        guard let index = self.waits.firstIndex(where: { self.holds($0.condition) }) else { return nil }
        return self.waits.remove(at: index).number
    }

    private func holds(_ condition: WaitCondition) -> Bool {
        switch condition {
        case .stopped: self.hasStopped
        case .drained: self.hasStopped || self.isDrained
        case .waiting(let most): self.waitingCount <= most || self.isStopping
        case .starving(let most, let limit): self.isStarving(atMost: most, limit: limit)
        }
    }

    /// A request that deletes an abandoned upload at its server has started: the queue is not drained before its end.
    package mutating func terminationStarted() { self.terminations += 1 }

    /// Such a request has ended.
    package mutating func terminationEnded() {
        precondition(self.terminations > 0, "a termination ended without having started")
        self.terminations -= 1
    }
}
