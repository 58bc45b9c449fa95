// SPDX-License-Identifier: Apache-2.0
/// Takes transfers from the store, in order, up to the available capacity.
extension QueueMachine {
    /// The number of staged transfers that a host keeps while it cannot use its slots.
    static let share = 16
    /// The number of staged transfers of a held host: enough to find out whether it is reachable again.
    static let probes = 2

    /// Whether no transfer of a lane may start.
    func isHeld(_ lane: QueueLane) -> Bool { !self.holds.isEmpty || !lane.holds.isEmpty }

    /// Whether a claim of a lane is in progress.
    package func isClaiming(_ id: LaneID) -> Bool { self.lanes[id]?.isClaiming ?? false }

    mutating func nextClaim(_ lane: inout QueueLane, _ now: Int64) -> Claim? {
        guard !lane.isClaiming, !self.isHeld(lane) else { return nil }
        if lane.isReordered {
            guard lane.reorders.allows(at: now) else { return nil }
            lane.isReordered = false
            guard lane.stagedCount > 0 || lane.unclaimed > 0 else { return nil }
            lane.mayFindMore = false
            lane.isClaiming = true
            let kept = lane.entries.filter { !$0.value.isWithdrawable }
            let idle = min(kept.values.count { $0.phase == .retrying || $0.phase == .ended }, QueueLane.mostEnded)
            return Claim(
                limit: max(1, lane.limit + lane.lookAhead - (kept.count - idle)),
                excluded: Set(kept.keys),
                caps: self.caps(of: lane, replacing: true),
                replacesStaged: true
            )
        }
        guard lane.mayFindMore, lane.unclaimed > 0 else { return nil }
        return self.claim(&lane)
    }

    /// The claim to perform in the transaction that adds transfers to a lane, so that it is not a second one.
    ///
    /// ``added(_:priority:mayPrecede:)`` and ``claimed(_:_:_:)`` or ``claimFailed(_:)`` follow, or ``claimDropped(_:)``.
    ///
    /// - Parameter id: The lane.
    /// - Returns: The claim; `nil` if none of the transfers could start, or another claim comes first.
    package mutating func claimWhileAdding(_ id: LaneID) -> Claim? {
        guard var lane = self.lanes.take(id) else { return nil }
        defer { self.lanes.put(lane, id) }
        guard !lane.isClaiming, !lane.isReordered, !self.isHeld(lane) else { return nil }
        return self.claim(&lane)
    }

    private func claim(_ lane: inout QueueLane) -> Claim? {
        let room = lane.limit + lane.lookAhead - lane.occupied
        guard room * 2 >= lane.lookAhead else { return nil }
        lane.mayFindMore = false
        lane.isClaiming = true
        return Claim(
            limit: room,
            excluded: Set(lane.entries.keys),
            caps: self.caps(of: lane, replacing: false),
            replacesStaged: false
        )
    }

    private func caps(of lane: QueueLane, replacing: Bool) -> [Host: Int] {
        var caps: [Host: Int] = [:]
        for host in lane.limitedHosts { caps[host] = lane.allowance(host, replacing: replacing) }
        return caps
    }

    /// The store's response to a claim.
    ///
    /// - Parameters:
    ///   - id: The lane.
    ///   - claim: The claim.
    ///   - found: The transfers in the store's order.
    package mutating func claimed(_ id: LaneID, _ claim: Claim, _ found: [Claimed]) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        self.dirty.insert(id)
        lane.isClaiming = false
        let priorityAdded = lane.priorityAddedSince.take()
        if found.count >= claim.limit { lane.mayFindMore = true }
        guard !self.isHeld(lane) else {
            lane.mayFindMore = true
            return
        }
        var arrivals: [Claimed] = []
        var perHost: [Host: Int] = [:]
        for one in found {
            if let entry = lane.entries[one.id], !claim.replacesStaged || !entry.isWithdrawable { continue }
            // The host may have been held since the claim was made.
            if let allowance = lane.allowance(one.host, replacing: claim.replacesStaged) {
                guard perHost[one.host, default: 0] < allowance else {
                    lane.mayFindMore = true
                    continue
                }
                perHost[one.host, default: 0] += 1
            }
            arrivals.append(one)
        }
        if claim.replacesStaged {
            // Transfers at the front that keep their position are not changed.
            let staged = lane.entries.filter { $0.value.isWithdrawable }.sorted { $0.value.order < $1.value.order }
            let kept = zip(staged, arrivals).prefix { $0.key == $1.id && $0.value.priority == $1.priority }.count
            for (transfer, _) in staged.dropFirst(kept) { lane.withdrawals.insert(transfer) }
            arrivals.removeFirst(kept)
        }
        lane.arrivals = arrivals
        // One that was added since the claim may precede those that it found.
        if let priorityAdded, lane.precedes(priorityAdded) { lane.isReordered = true }
    }

    /// The store failed to respond; the claim is repeated at the next check.
    package mutating func claimFailed(_ id: LaneID) {
        self.lanes.change(id) { ($0.isClaiming, $0.claimHasFailed, $0.priorityAddedSince) = (false, true, nil) }
    }

    /// The transfers of ``claimWhileAdding(_:)`` could not be added, so that nothing was read.
    package mutating func claimDropped(_ id: LaneID) {
        self.lanes.change(id) { ($0.isClaiming, $0.mayFindMore, $0.priorityAddedSince) = (false, true, nil) }
        self.dirty.insert(id)
    }

    /// Takes the transfers found, except those that have started in an engine since.
    mutating func stage(_ lane: inout QueueLane) -> [ID] {
        var staged: [ID] = []
        for one in lane.arrivals where lane.entries[one.id] == nil {
            self.nextOrder += 1
            lane.insert(one, order: self.nextOrder)
            staged.append(one.id)
        }
        lane.arrivals = []
        return staged
    }

    // MARK: Hosts

    /// Checks a lane periodically.
    ///
    /// - Parameters:
    ///   - id: The lane.
    ///   - isIdle: Whether its engines have free slots although transfers wait in them: then these belong to hosts that
    ///     may not start more, and must not block others.
    package mutating func looked(_ id: LaneID, isIdle: Bool) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        if lane.claimHasFailed {
            lane.claimHasFailed = false
            lane.mayFindMore = true
            self.dirty.insert(id)
        }
        lane.busyLooks = isIdle ? 0 : lane.busyLooks + 1
        if isIdle, lane.unclaimed > 0 {
            for (host, use) in lane.hosts where use.staged > 0 && use.cap == nil && !use.isHeld {
                // A host that starts many transfers between two checks must not wait for the next one.
                let cap = max(Self.share, 2 * use.starts)
                lane.change(host) { $0.cap = cap }
                self.withdrawSurplus(&lane, host, keeping: cap)
            }
            lane.mayFindMore = true
            self.dirty.insert(id)
        } else if lane.busyLooks >= 3 {
            for host in lane.limitedHosts where lane.hosts[host]?.cap != nil {
                lane.change(host) { $0.cap = nil }
                lane.mayFindMore = true
                // Some of its transfers may precede those taken since.
                lane.isReordered = true
                self.dirty.insert(id)
            }
        }
        for host in Array(lane.hosts.keys) { lane.change(host) { $0.starts = 0 } }
    }

    /// The transfers of a host must wait: those that have not started are returned to the store, except for a few.
    package mutating func hostHeld(_ id: LaneID, _ host: Host) {
        guard var lane = self.lanes.take(id) else { return }
        defer { self.lanes.put(lane, id) }
        lane.change(host) { $0.isHeld = true }
        self.withdrawSurplus(&lane, host, keeping: Self.probes)
        lane.mayFindMore = true
        self.dirty.insert(id)
    }

    /// The transfers of a host may start again.
    package mutating func hostReleased(_ id: LaneID, _ host: Host) {
        guard let place = self.lanes.place(of: id), self.lanes[place].hosts[host]?.isHeld == true else { return }
        self.lanes[place].change(host) { $0.isHeld = false }
        self.lanes[place].mayFindMore = true
        // Its transfers may precede those taken since.
        self.lanes[place].isReordered = true
        self.dirty.insert(id)
    }

    private func withdrawSurplus(_ lane: inout QueueLane, _ host: Host, keeping count: Int) {
        guard let staged = lane.hosts[host]?.staged, staged > count else { return }
        let found = lane.entries.filter { $0.value.host == host && $0.value.isWithdrawable }
            .sorted { $0.value.order < $1.value.order }
        for (transfer, _) in found.dropFirst(count) { lane.withdrawals.insert(transfer) }
    }
}
