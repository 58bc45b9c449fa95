// SPDX-License-Identifier: Apache-2.0
/// Changes by clients, after they were stored, and holds.
extension QueueMachine {
    /// Transfers were added or queued again.
    ///
    /// - Parameters:
    ///   - lane: Their lane.
    ///   - priority: The highest priority among them.
    ///   - mayPrecede: Whether they may precede transfers that are waiting.
    package mutating func added(_ lane: LaneID, priority: Int, mayPrecede: Bool) {
        guard let place = self.lanes.place(of: lane) else { return }
        self.lanes[place].mayFindMore = true
        if self.lanes[place].isTaking, mayPrecede || self.lanes[place].precedes(priority) {
            self.lanes[place].isReordered = true
        } else if self.lanes[place].isClaiming {
            self.lanes[place].priorityAddedSince = max(self.lanes[place].priorityAddedSince ?? priority, priority)
        }
        self.dirty.insert(lane)
    }

    /// The order of a lane has changed: the staged transfers are compared with it.
    ///
    /// Running transfers are not affected.
    package mutating func reordered(_ lane: LaneID) {
        self.lanes.change(lane) { ($0.mayFindMore, $0.isReordered) = (true, true) }
        self.dirty.insert(lane)
    }

    /// The transfers taken from the store, including those that are about to be staged.
    package func taken(_ lane: LaneID) -> [ID] {
        self.lanes[lane].map { $0.entries.keys + $0.arrivals.map(\.id) } ?? []
    }

    /// Transfers were paused.
    package mutating func paused(_ lane: LaneID, _ ids: [ID]) { self.leave(lane, ids, .paused) }

    /// Transfers were removed; their partial files are kept or not.
    package mutating func removed(_ lane: LaneID, _ ids: [ID], keeping: Bool) {
        self.leave(lane, ids, .removed(keeping: keeping))
    }

    private mutating func leave(_ id: LaneID, _ ids: [ID], _ wish: QueueLane.Wish) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        self.dirty.insert(id)
        lane.dropArrivals(ids)
        for transfer in ids where lane.entries[transfer] != nil {
            lane.setWish(wish, of: transfer)
            Self.takeOut(&lane, transfer)
        }
    }

    /// Transfers were resumed, possibly while being cancelled because of a pause.
    package mutating func resumed(_ lane: LaneID, _ ids: [ID]) {
        self.lanes.change(lane) { lane in
            for id in ids where lane.entries[id]?.wish == .paused {
                lane.setWish(.waits, of: id)
                lane.withdrawals.remove(id)
            }
        }
        self.reordered(lane)
    }

    /// The staged transfers are to be staged again with other settings; started ones keep theirs.
    package mutating func restaged(_ id: LaneID) {
        guard let place = self.lanes.place(of: id) else { return }
        for (transfer, entry) in self.lanes[place].entries where entry.phase == .staged {
            self.lanes[place].withdrawals.insert(transfer)
        }
        self.reordered(id)
    }

    /// A transfer's request has changed: it restarts with the stored request, unless it has ended.
    package mutating func changed(_ id: LaneID, _ transfer: ID) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        self.dirty.insert(id)
        lane.mayFindMore = true
        // It precedes the other arrivals.
        if lane.arrivals.contains(where: { $0.id == transfer }) { lane.isReordered = true }
        lane.dropArrivals([transfer])
        guard let entry = lane.entries[transfer] else { return }
        // Whether it has started is unknown until it is withdrawn.
        if entry.phase == .staged {
            lane.restarts.insert(transfer)
            lane.isReordered = true
        }
        Self.takeOut(&lane, transfer)
    }

    // MARK: Holds

    /// Stops starting transfers for a reason.
    ///
    /// Transfers that have not started are returned to the store. Running ones continue, or are interrupted if the
    /// reason requires it and no request would be repeated by that.
    ///
    /// - Returns: Whether the reason is new.
    @discardableResult
    package mutating func hold(_ reason: Hold) -> Bool {
        guard self.holds.insert(reason).inserted else { return false }
        for id in Array(self.lanes.ids) { self.held(id, cutsRunning: reason.cutsRunning) }
        return true
    }

    /// Stops starting transfers of one lane for a reason.
    ///
    /// - Returns: Whether the reason is new.
    @discardableResult
    package mutating func hold(_ reason: Hold, _ id: LaneID) -> Bool {
        guard self.lanes.change(id, { $0.holds.insert(reason).inserted }) == true else { return false }
        self.held(id, cutsRunning: reason.cutsRunning)
        return true
    }

    private mutating func held(_ id: LaneID, cutsRunning: Bool) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        self.dirty.insert(id)
        lane.arrivals = []
        lane.mayFindMore = true
        for (transfer, entry) in lane.entries {
            if entry.phase == .staged {
                lane.withdrawals.insert(transfer)
            } else if cutsRunning, entry.mayBeCut {
                Self.takeOut(&lane, transfer)
            }
        }
    }

    /// Removes a reason.
    ///
    /// - Returns: Whether it was one.
    @discardableResult
    package mutating func release(_ reason: Hold) -> Bool {
        guard self.holds.remove(reason) != nil else { return false }
        self.dirty.formUnion(self.lanes.ids)
        return true
    }

    /// Removes a reason for one lane.
    ///
    /// - Returns: Whether it was one.
    @discardableResult
    package mutating func release(_ reason: Hold, _ id: LaneID) -> Bool {
        guard self.lanes.change(id, { $0.holds.remove(reason) != nil }) == true else { return false }
        self.dirty.insert(id)
        return true
    }

    /// The reasons why no transfer of a lane starts.
    package func holds(of id: LaneID) -> Set<Hold> { self.holds.union(self.lanes[id]?.holds ?? []) }
}
