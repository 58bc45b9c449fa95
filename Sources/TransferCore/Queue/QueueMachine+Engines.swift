// SPDX-License-Identifier: Apache-2.0
/// Events of engines.
extension QueueMachine {
    /// A transfer is running.
    ///
    /// - Returns: Whether it started for the first time since it was taken.
    package mutating func started(_ id: LaneID, _ transfer: ID) -> Bool {
        guard let place = self.lanes.place(of: id), let entry = self.lanes[place].entries[transfer],
            entry.phase != .ended
        else { return false }
        self.lanes[place].setStarted(transfer)
        if entry.phase == .staged || entry.phase == .retrying { self.lanes[place].move(transfer, to: .running) }
        self.beganBeforeWithdrawal(id, transfer)
        self.dirty.insert(id)
        guard !entry.hasStarted else { return false }
        self.lanes[place].change(entry.host) { $0.starts += 1 }
        self.replaceIfHeld(entry.host, place)
        return true
    }

    /// Lets the next transfer of a held host take the place of one that has started or ended: it may be one that
    /// succeeds, or has a mirror.
    private mutating func replaceIfHeld(_ host: Host, _ place: LaneTable.Place) {
        guard !self.lanes[place].limitedHosts.isEmpty, self.lanes[place].hosts[host]?.isHeld == true else { return }
        self.lanes[place].mayFindMore = true
    }

    /// A transfer waits for its next attempt.
    package mutating func retrying(_ id: LaneID, _ transfer: ID) {
        guard let place = self.lanes.place(of: id), let phase = self.lanes[place].entries[transfer]?.phase,
            phase == .running || phase == .staged
        else { return }
        self.lanes[place].entries[transfer]?.hasBegun = true
        self.lanes[place].move(transfer, to: .retrying)
        self.beganBeforeWithdrawal(id, transfer)
        self.dirty.insert(id)
    }

    /// Cancels a transfer that started after its withdrawal was decided and before it was performed.
    private mutating func beganBeforeWithdrawal(_ id: LaneID, _ transfer: ID) {
        guard let place = self.lanes.place(of: id), !self.lanes[place].withdrawals.isEmpty,
            self.lanes[place].withdrawals.remove(transfer) != nil, var lane = self.lanes.take(id)
        else { return }
        defer { self.lanes.put(lane, id) }
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
    package mutating func ended(_ id: LaneID, _ transfer: ID) -> Bool {
        guard let place = self.lanes.place(of: id), let entry = self.lanes[place].entries[transfer],
            entry.phase != .ended
        else { return false }
        self.dirty.insert(id)
        if case .removed = entry.wish {
            self.lanes[place].remove(transfer)
            return false
        }
        self.lanes[place].withdrawals.remove(transfer)
        self.lanes[place].move(transfer, to: .ended)
        self.replaceIfHeld(entry.host, place)
        return true
    }

    /// A transfer's end is stored.
    package mutating func endStored(_ id: LaneID, _ transfer: ID) {
        guard let place = self.lanes.place(of: id), self.lanes[place].entries[transfer]?.phase == .ended else { return }
        self.lanes[place].remove(transfer)
        self.dirty.insert(id)
    }

    /// An engine has cancelled a transfer, whose state is now the stored one.
    ///
    /// - Returns: The transfer before the cancellation.
    package mutating func cancelled(_ id: LaneID, _ transfer: ID) -> QueueLane.Entry? {
        guard let place = self.lanes.place(of: id), let entry = self.lanes[place].entries[transfer],
            entry.phase != .ended
        else { return nil }
        self.lanes[place].remove(transfer)
        self.lanes[place].mayFindMore = true
        // It precedes those taken since.
        if entry.wish == .waits { self.lanes[place].isReordered = true }
        self.dirty.insert(id)
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
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
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
