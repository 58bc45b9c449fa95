/// Changes that clients made, once they are stored, and holds.
extension QueueMachine {
    /// Transfers were added or put in line again.
    ///
    /// - Parameters:
    ///   - lane: Their lane.
    ///   - priority: The greatest priority among them.
    ///   - mayPrecede: Whether they may have places before some that wait.
    package mutating func added(_ lane: LaneID, priority: Int, mayPrecede: Bool) {
        guard let known = self.lanes[lane] else { return }
        self.lanes[lane]?.mayFindMore = true
        if known.stagedCount > 0, mayPrecede || known.precedes(priority) { self.lanes[lane]?.isReordered = true }
        self.dirty.insert(lane)
    }

    /// The order of a lane has changed: what is staged is compared with it.
    ///
    /// Running transfers are not touched.
    package mutating func reordered(_ lane: LaneID) {
        self.lanes[lane]?.mayFindMore = true
        self.lanes[lane]?.isReordered = true
        self.dirty.insert(lane)
    }

    /// The transfers that were taken out of the store, those included that are about to be staged.
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
        guard var lane = self.lanes.removeValue(forKey: id) else { return }
        defer { self.lanes[id] = lane }
        self.dirty.insert(id)
        lane.dropArrivals(ids)
        for transfer in ids where lane.entries[transfer] != nil {
            lane.setWish(wish, of: transfer)
            Self.takeOut(&lane, transfer)
        }
    }

    /// Transfers were resumed, also such as are being cancelled because they had been paused.
    package mutating func resumed(_ lane: LaneID, _ ids: [ID]) {
        for id in ids where self.lanes[lane]?.entries[id]?.wish == .paused {
            self.lanes[lane]?.setWish(.waits, of: id)
            self.lanes[lane]?.withdrawals.remove(id)
        }
        self.reordered(lane)
    }

    /// What is staged is to be staged anew, with other settings; what has begun keeps its own.
    package mutating func restaged(_ id: LaneID) {
        guard let lane = self.lanes[id] else { return }
        for (transfer, entry) in lane.entries where entry.phase == .staged {
            self.lanes[id]?.withdrawals.insert(transfer)
        }
        self.reordered(id)
    }

    /// A transfer's request has changed: it restarts with what is stored now, unless it has ended.
    package mutating func changed(_ id: LaneID, _ transfer: ID) {
        guard var lane = self.lanes.removeValue(forKey: id) else { return }
        defer { self.lanes[id] = lane }
        self.dirty.insert(id)
        lane.mayFindMore = true
        lane.dropArrivals([transfer])
        guard let entry = lane.entries[transfer] else { return }
        // It cannot be known whether it has begun before it is withdrawn.
        if entry.phase == .staged {
            lane.restarts.insert(transfer)
            lane.isReordered = true
        }
        Self.takeOut(&lane, transfer)
    }

    // MARK: Holds

    /// Lets nothing start for a reason.
    ///
    /// What has not begun is returned to the store; what runs keeps running, or is interrupted if the reason demands it
    /// and no request would be made twice by that.
    package mutating func hold(_ reason: Hold) {
        guard self.holds.insert(reason).inserted else { return }
        for id in Array(self.lanes.keys) { self.held(id, cutsRunning: reason.cutsRunning) }
    }

    /// Lets nothing of one lane start for a reason.
    package mutating func hold(_ reason: Hold, _ id: LaneID) {
        guard self.lanes[id]?.holds.insert(reason).inserted == true else { return }
        self.held(id, cutsRunning: reason.cutsRunning)
    }

    private mutating func held(_ id: LaneID, cutsRunning: Bool) {
        guard var lane = self.lanes.removeValue(forKey: id) else { return }
        defer { self.lanes[id] = lane }
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

    /// A reason is gone.
    package mutating func release(_ reason: Hold) {
        guard self.holds.remove(reason) != nil else { return }
        self.dirty.formUnion(self.lanes.keys)
    }

    /// A reason is gone for one lane.
    package mutating func release(_ reason: Hold, _ id: LaneID) {
        guard self.lanes[id]?.holds.remove(reason) != nil else { return }
        self.dirty.insert(id)
    }

    /// The reasons why nothing of a lane starts.
    package func holds(of id: LaneID) -> Set<Hold> { self.holds.union(self.lanes[id]?.holds ?? []) }
}
