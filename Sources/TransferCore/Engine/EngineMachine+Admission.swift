// SPDX-License-Identifier: Apache-2.0
/// The effects of the state: transfers that start, connections that are granted, waits that end.
extension EngineMachine {
    /// One effect for the driver.
    package enum Step: Hashable, Sendable {
        /// Starts a run of a transfer on an event loop; it has one connection to its host.
        case start(TransferID, lane: Int)
        /// Calls back a transfer for which a connection was taken.
        case grant(WaiterID)
        /// Asks the run of a transfer to close one of its connections to a host.
        case yield(TransferID, Origin)
        /// Resumes a caller whose condition holds.
        case resume(WaiterID)
        /// Syncs the complete files; the first call of ``EngineMachine/takeGroup()`` has them.
        case sync
        /// A transfer has failed because an outage lasted longer than its timeout.
        case expire(TransferID, Hold)
        /// A transfer has failed because its time has run out while its host was held; the hold.
        case runOut(TransferID, Hold?)
        /// The transfers of a host, or all of them, wait from now on.
        case held(Hold)
        /// They may start again.
        case released(Hold)
        /// Fetches the `robots.txt` of an origin; ``EngineMachine/rulesArrived(_:crawlDelay:until:)`` must follow.
        case fetchRules(Origin)
        /// Starts the periodic work of runs.
        case startTicking
        /// Calls ``EngineMachine/timeReached(_:now:)`` at a time.
        case wake(at: Int64)
        /// No further steps.
        case none
    }

    /// The maximum number of files waiting to be synced; above it no more transfers start.
    static let unsyncedLimit = 512
    /// After this many starts that passed over a class with eligible transfers, one of that class starts.
    package static let ageingPeriod = 8
    /// The time after which another request to yield a connection is made, in nanoseconds.
    package static let yieldPatience: Int64 = 1_000_000_000

    /// Takes the next step.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - lane: The event loop of the caller, on which a transfer starts unless another one has fewer.
    /// - Returns: The step, which the driver must perform.
    package mutating func next(now: Int64, lane: Int? = nil) -> Step {
        if self.holdsHaveChanged { self.updateHeldTimes(now) }
        if !self.notices.isEmpty { return self.notices.removeFirst() }
        if !self.ranOut.isEmpty, let step = self.runOut(now) { return step }
        if !self.expired.isEmpty, let step = self.expire() { return step }
        if self.unsyncedCount > 0, !self.isSyncing {
            self.isSyncing = true
            return .sync
        }
        if !self.claimedHosts.isEmpty, let step = self.serveClaims(now) { return step }
        if let step = self.admit(now, lane) { return step }
        if self.runCount > 0, !self.isTicking {
            self.isTicking = true
            return .startTicking
        }
        if let first = self.due.first, self.timers.last.map({ first.time < $0 }) ?? true {
            self.timers.append(first.time)
            return .wake(at: first.time)
        }
        if !self.waits.isEmpty, let waiter = self.satisfiedWait() { return .resume(waiter) }
        if self.hosts.needsSweep {
            // The number of a removed host is reused: its next host must not be parked.
            for (index, host) in self.hosts.sweep(now: now) {
                for place in self.classes.indices { self.classes[place].unpark(index) }
                self.forgotten(host)
            }
            if !self.notices.isEmpty { return self.notices.removeFirst() }
        }
        return .none
    }

    /// The runs' periodic work is due.
    ///
    /// - Returns: Whether there are runs; if not, ticking ends.
    package mutating func ticked(now: Int64) -> Bool {
        self.findSilentHosts(now)
        self.isTicking = self.runCount > 0
        return self.isTicking
    }

    // MARK: Admission

    /// The transfers that may start now as far as the limit over all hosts is concerned.
    var freePlaces: Int { self.permitsStarts ? max(0, self.permittedPlaces - self.runCount + self.lentPlaces) : 0 }

    /// Those of them that need no lent slot.
    var ownPlaces: Int { self.permitsStarts ? max(0, self.permittedPlaces - self.runCount) : 0 }

    private var permitsStarts: Bool {
        self.isStarted && !self.isStopping && self.startsLeft > 0 && self.unsyncedCount < Self.unsyncedLimit
    }

    /// Admits the next transfer.
    ///
    /// Priorities first; within one round robin over hosts; first in, first out for each host. A class that was passed
    /// over ``ageingPeriod`` times takes the next start, so a transfer at position *n* of its host's queue in a class
    /// starts after at most `n × hosts × (ageingPeriod + 3)` starts of others, unless its host is silent.
    private mutating func admit(_ now: Int64, _ lane: Int?) -> Step? {
        guard self.waitingCount > 0, self.freePlaces > 0 else { return nil }
        guard self.isPolite else { return self.admitOnce(now, lane) }
        repeat {
            self.wakeDomains(now)
            self.wakeForRules()
            if let step = self.admitOnce(now, lane) { return step }
            if !self.notices.isEmpty { return self.notices.removeFirst() }
        } while !self.hosts.domains.wakeable.isEmpty || self.mayFetchRules
        return nil
    }

    private mutating func admitOnce(_ now: Int64, _ lane: Int?) -> Step? {
        var yield: YieldRequest?
        // A bit for each class: those that were examined as starved need not be examined again.
        var examined = 0
        while let index = self.starvedClass(except: examined) {
            examined |= 1 << index
            if let slot = self.admitted(from: index, now, &yield) { return self.started(slot, lane, now) }
        }
        for index in self.classes.indices.reversed() where examined & (1 << index) == 0 && self.classes[index].count > 0
        {
            if let slot = self.admitted(from: index, now, &yield) { return self.started(slot, lane, now) }
        }
        return yield.map { self.request($0) }
    }

    /// The class that was passed over most often, at least ``ageingPeriod`` times.
    private func starvedClass(except examined: Int) -> Int? {
        var starved: Int?
        for index in self.classes.indices.reversed() where examined & (1 << index) == 0 {
            guard self.classes[index].passedOver >= Self.ageingPeriod else { continue }
            if let best = starved, self.classes[best].passedOver >= self.classes[index].passedOver { continue }
            starved = index
        }
        return starved
    }

    /// Takes the first transfer of a class whose host has a free connection.
    ///
    /// If a host has none, the transfer with the most connections may have to yield one.
    private mutating func admitted(from index: Int, _ now: Int64, _ yield: inout YieldRequest?) -> Int? {
        var turns = self.classes[index].hosts.count
        while turns > 0 {
            turns -= 1
            let turn = self.classes[index].nextHost { [entries = self.entries] in entries[$0.slot].ticket == $0.ticket }
            guard case (let host, var place)? = turn else { return nil }
            var permission = self.permission(host, now)
            if permission != .free, self.isOverdue(place.slot, now) { permission = .free }
            if permission == .probe, let outage = self.responseOutage(host) {
                switch self.prober(host, in: index, outage, first: place.slot, now) {
                case .transfer(let chosen): place = chosen
                case .none(let until): permission = .held(until: until)
                case .forgotten: permission = self.permission(host, now)
                }
            }
            if case .held(let until) = permission {
                self.park(host, in: index, until: until, now)
                // The hosts of mirrors join the rotation.
                if self.moveToMirrors(from: host, in: index, now) { turns = self.classes[index].hosts.count }
                continue
            }
            let (id, fixed) = (self.entries[place.slot].id, self.entries[place.slot].fixedConnections)
            guard self.places(for: host) > 0, !self.awaitsEvidence(host) else {
                self.classes[index].endTurn(host, starts: false)
                continue
            }
            if self.isPolite, let wait = self.politeWait(host, now) {
                self.park(host, in: index, for: wait)
                continue
            }
            guard self.isConnectionFree(host, id, fixed: fixed) else {
                self.classes[index].endTurn(host, starts: false)
                if yield == nil { yield = self.yieldRequest(host, now) }
                continue
            }
            if self.isPolite, self.entries[place.slot].obeysRobots, self.awaitRules(host, in: index, now) { continue }
            if permission == .probe { self.startProbe(place.slot) }
            self.classes[index].endTurn(host, starts: true)
            self.classes[index].passedOver = 0
            for other in 0..<index where self.classes[other].count > 0 { self.classes[other].passedOver += 1 }
            return place.slot
        }
        return nil
    }

    private mutating func started(_ slot: Int, _ lane: Int?, _ now: Int64) -> Step {
        let (id, host) = (self.entries[slot].id, Int(self.entries[slot].host))
        self.entries[slot].ticket = 0
        self.endHeldTime(slot, now)
        self.leaveHost(slot)
        self.hosts.connect(host, id, fixed: self.entries[slot].fixedConnections)
        self.entries[slot].reductions = self.affordable.reductions
        self.requestStarts(host, by: id, now)
        self.move(slot, to: .running)
        self.runCount += 1
        if self.startsLeft != .max { self.startsLeft -= 1 }
        self.awaitResponse(slot, now)
        self.entries[slot].attempts += 1
        let best = self.keepsHostsOnLanes ? host % self.laneLoad.count : self.leastLoaded(preferring: lane ?? 0)
        self.laneLoad[best] += 1
        self.entries[slot].lane = Int16(best)
        return .start(id, lane: best)
    }

    private func leastLoaded(preferring lane: Int) -> Int {
        var best = lane
        for index in self.laneLoad.indices where self.laneLoad[index] < self.laneLoad[best] { best = index }
        return best
    }
}
