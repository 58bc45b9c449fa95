// SPDX-License-Identifier: Apache-2.0
/// Events of engines.
extension QueueMachine {
    /// A transfer is running.
    ///
    /// - Returns: Whether it started for the first time since it was taken.
    package mutating func started(_ lane: LaneID, _ id: ID) -> Bool {
        guard let entry = self.lanes[lane]?.entries[id], entry.phase != .ended else { return false }
        self.lanes[lane]?.entries[id]?.hasBegun = true
        if entry.phase == .staged || entry.phase == .retrying { self.lanes[lane]?.move(id, to: .running) }
        self.beganBeforeWithdrawal(lane, id)
        self.dirty.insert(lane)
        guard !entry.hasStarted else { return false }
        self.lanes[lane]?.setStarted(id)
        self.lanes[lane]?.change(entry.host) { $0.starts += 1 }
        // The next transfer of a held host takes its place: it may be one that succeeds, or has a mirror.
        if self.lanes[lane]?.hosts[entry.host]?.isHeld == true { self.lanes[lane]?.mayFindMore = true }
        return true
    }

    /// A transfer waits for its next attempt.
    package mutating func retrying(_ lane: LaneID, _ id: ID) {
        guard let phase = self.lanes[lane]?.entries[id]?.phase, phase == .running || phase == .staged else { return }
        self.lanes[lane]?.entries[id]?.hasBegun = true
        self.lanes[lane]?.move(id, to: .retrying)
        self.beganBeforeWithdrawal(lane, id)
        self.dirty.insert(lane)
    }

    /// Cancels a transfer that started after its withdrawal was decided and before it was performed.
    private mutating func beganBeforeWithdrawal(_ id: LaneID, _ transfer: ID) {
        guard self.lanes[id]?.withdrawals.remove(transfer) != nil, var lane = self.lanes.removeValue(forKey: id) else {
            return
        }
        defer { self.lanes[id] = lane }
        self.cancelIfUnwanted(&lane, transfer)
    }

    /// Cancels a transfer that has started although it was to be withdrawn, unless it was only to be staged again.
    private func cancelIfUnwanted(_ lane: inout QueueLane, _ transfer: ID) {
        guard let entry = lane.entries[transfer] else { return }
        let isRestarted = lane.restarts.remove(transfer) != nil
        if entry.wish != .waits || isRestarted || entry.mayBeCut && self.cutsRunning(lane) {
            Self.cancel(&lane, transfer)
        }
    }

    /// A transfer has ended without a command.
    ///
    /// - Returns: Whether the end is to be stored; ``endStored(_:_:)`` follows then. `false` for a removed transfer:
    ///   its end is already stored, and it has left.
    package mutating func ended(_ lane: LaneID, _ id: ID) -> Bool {
        guard let entry = self.lanes[lane]?.entries[id], entry.phase != .ended else { return false }
        self.dirty.insert(lane)
        self.lanes[lane]?.withdrawals.remove(id)
        if case .removed = entry.wish {
            self.lanes[lane]?.remove(id)
            return false
        }
        self.lanes[lane]?.move(id, to: .ended)
        // The next transfer of a held host takes its place.
        if self.lanes[lane]?.hosts[entry.host]?.isHeld == true { self.lanes[lane]?.mayFindMore = true }
        return true
    }

    /// A transfer's end is stored.
    package mutating func endStored(_ lane: LaneID, _ id: ID) {
        guard self.lanes[lane]?.entries[id]?.phase == .ended else { return }
        self.lanes[lane]?.remove(id)
        self.dirty.insert(lane)
    }

    /// An engine has cancelled a transfer, whose state is now the stored one.
    ///
    /// - Returns: The transfer before the cancellation.
    package mutating func cancelled(_ lane: LaneID, _ id: ID) -> QueueLane.Entry? {
        guard let entry = self.lanes[lane]?.entries[id], entry.phase != .ended else { return nil }
        self.lanes[lane]?.remove(id)
        self.lanes[lane]?.mayFindMore = true
        // It precedes those taken since.
        if entry.wish == .waits { self.lanes[lane]?.isReordered = true }
        self.dirty.insert(lane)
        return entry
    }

    /// Engines have withdrawn the transfers that had not started.
    ///
    /// - Parameters:
    ///   - id: The lane.
    ///   - asked: The transfers of ``Action/withdraw(_:_:)``.
    ///   - gone: Those that had not started: the store has them again. The others have started and keep running, unless
    ///     they were paused or removed.
    package mutating func withdrew(_ id: LaneID, _ asked: [ID], gone: Set<ID>) {
        guard var lane = self.lanes.removeValue(forKey: id) else { return }
        defer { self.lanes[id] = lane }
        self.dirty.insert(id)
        for transfer in asked {
            guard lane.entries[transfer]?.phase == .staged else { continue }
            if gone.contains(transfer) {
                lane.remove(transfer)
                lane.mayFindMore = true
                continue
            }
            lane.entries[transfer]?.hasBegun = true
            lane.move(transfer, to: .running)
            self.cancelIfUnwanted(&lane, transfer)
        }
    }

    func cutsRunning(_ lane: QueueLane) -> Bool {
        self.holds.contains(where: \.cutsRunning) || lane.holds.contains(where: \.cutsRunning)
    }

    static func cancel(_ lane: inout QueueLane, _ id: ID) {
        lane.move(id, to: .leaving)
        lane.cancellations.append(id)
    }

    /// Removes a transfer from its engine: withdrawn if it has not started, cancelled otherwise.
    static func takeOut(_ lane: inout QueueLane, _ id: ID) {
        guard let entry = lane.entries[id] else { return }
        switch entry.phase {
        case .staged: lane.withdrawals.insert(id)
        case .running, .retrying: Self.cancel(&lane, id)
        case .leaving, .ended: break
        }
    }
}
