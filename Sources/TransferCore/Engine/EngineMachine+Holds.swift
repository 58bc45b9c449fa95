// SPDX-License-Identifier: Apache-2.0
/// Holds: transfers that wait because their host, or the network, is unreachable, or the host asked for a delay.
extension EngineMachine {
    /// A host, or the network, whose transfers wait; times are nanoseconds of the machine's clock.
    package struct Hold: Hashable, Sendable {
        /// The host or the proxy; `nil` for the network and for a file system.
        package var origin: Origin?
        /// The file system, if the transfers of one wait.
        package var fileSystem: FileSystem?
        package var reason: HostHold.Reason
        /// The kind of outage; `nil` for a host that is throttled.
        package var cause: OutageCause?
        /// The message of the last failure.
        package var message: String
        /// The time when the hold began.
        package var since: Int64
        /// The time for which the host itself asked to wait, which does not count as part of an outage.
        package var askedTime: Int64 = 0
        /// The time of the next attempt; `nil` while one is being made.
        package var nextTry: Int64?
    }

    // MARK: Queries

    /// The current holds of hosts that transfers wait for or are connected to.
    package func holds(at now: Int64) -> [Hold] {
        var holds: [Hold] = []
        if let outage = self.network.outage { holds.append(self.hold(of: outage, nil)) }
        holds += self.fileSystemHolds()
        for index in self.hosts.allIndices where self.hosts[index].references > 0 {
            guard var hold = self.ownHold(index, now) else { continue }
            let gate = self.hosts[index].gate
            if hold.reason == .throttled {
            } else if let outage = self.network.outage, self.network.concerns(self.hosts[gate].origin) {
                hold.nextTry = self.hold(of: outage, nil).nextTry
            } else if gate != index, let outer = self.ownHold(gate, isProxy: true, now) {
                // No host is probed while its proxy is held.
                hold.nextTry = outer.nextTry.flatMap { next in hold.nextTry.map { max($0, next) } }
            }
            holds.append(hold)
        }
        return holds
    }

    /// The hold that concerns the transfers of a host, if there is one.
    package func hold(of origin: Origin, gate: Origin? = nil, at now: Int64) -> Hold? {
        guard let host = self.hosts.index(of: origin) else {
            let gate = gate ?? origin
            if let outage = self.network.outage, self.network.concerns(gate) { return self.hold(of: outage, nil) }
            return self.hosts.index(of: gate).flatMap { self.ownHold($0, isProxy: gate != origin, now) }
        }
        let gate = self.hosts[host].gate
        var own = self.ownHold(gate, isProxy: gate != host, now)
        if own == nil, gate != host { own = self.ownHold(host, now) }
        guard let outage = self.network.outage, self.network.concerns(self.hosts[gate].origin) else { return own }
        // Single hosts are not probed while the network is held.
        var hold = self.hold(of: outage, nil)
        if let own, own.reason != .throttled { hold.since = min(hold.since, own.since) }
        return hold
    }

    func ownHold(_ gate: Int, isProxy: Bool = false, _ now: Int64) -> Hold? {
        let host = self.hosts[gate]
        if let outage = host.health.outage {
            if isProxy { return outage.cause == .errors ? nil : self.hold(of: outage, host.origin) }
            var hold = self.hold(of: outage, host.origin)
            // A delay that the host requested is respected by probes, too.
            if let next = hold.nextTry, let until = host.health.throttledUntil { hold.nextTry = max(next, until) }
            return hold
        }
        if isProxy { return nil }
        guard let until = host.health.throttledUntil, until > now else { return nil }
        return Hold(
            origin: host.origin,
            reason: .throttled,
            message: host.health.throttleMessage,
            since: host.health.throttledSince,
            nextTry: until
        )
    }

    func hold(of outage: HostHealth.Outage, _ origin: Origin?) -> Hold {
        Hold(
            origin: origin,
            reason: origin == nil ? .network : outage.cause == .errors ? .errors : .unreachable,
            cause: outage.cause,
            message: outage.message,
            since: outage.since,
            askedTime: outage.askedTime,
            nextTry: outage.prober == nil ? outage.nextProbe : nil
        )
    }

    /// Whether transfers of a host may start.
    func permission(_ host: Int, _ now: Int64) -> HostHealth.Permission {
        let gate = self.hosts[host].gate
        if let outage = self.network.outage, self.network.concerns(self.hosts[gate].origin) {
            if let until = self.hosts[host].health.throttledUntil, until > now { return .held(until: until) }
            if outage.prober != nil { return .held(until: nil) }
            return outage.nextProbe > now ? .held(until: outage.nextProbe) : .probe
        }
        guard gate != host else { return self.hosts[gate].health.permission(at: now) }
        let permissions = (
            self.hosts[gate].health.permission(at: now, isProxy: true), self.hosts[host].health.permission(at: now)
        )
        switch permissions {
        case (.held(let first?), .held(let second?)): return .held(until: max(first, second))
        case (.held(let until), .free), (.held(let until), .probe), (.free, .held(let until)),
            (.probe, .held(let until)):
            return .held(until: until)
        case (.held, .held): return .held(until: nil)
        case (.free, .free): return .free
        case (.probe, _), (_, .probe): return .probe
        }
    }

    // MARK: Waiting

    /// The time for which a transfer waits out an outage.
    ///
    /// - Parameters:
    ///   - slot: The transfer.
    ///   - cause: The cause of the outage.
    ///   - isNetwork: Whether it concerns the whole network.
    /// - Returns: The time in nanoseconds; `Int64.max` for no limit.
    func patience(_ slot: Int, _ cause: OutageCause?, isNetwork: Bool) -> Int64 {
        let timeout = self.entries[slot].outageTimeout
        guard self.waitsForMachine, timeout >= 0, isNetwork || cause == .resolver else { return timeout }
        return .max
    }

    /// The verdict about a transfer whose attempt failed in an outage.
    mutating func waitOut(_ hold: Hold, _ slot: Int, isProbe: Bool, _ now: Int64) -> Verdict {
        self.entries[slot].askedWaits = 0
        guard now - hold.since - hold.askedTime < self.patience(slot, hold.cause, isNetwork: hold.origin == nil) else {
            return self.fail(slot, .refused(.outage(hold)))
        }
        let attempts = Int(self.entries[slot].attempts)
        if self.entries[slot].countsOutages, self.entries[slot].budget.failed(retryAfter: nil, jitter: 0) == nil {
            return self.fail(slot, .refused(.noneLeft(attempts: attempts)))
        }
        let acceptsConnections = hold.cause?.acceptsConnections ?? false
        if isProbe, acceptsConnections, !self.entries[slot].countsOutages { self.entries[slot].budget.probed() }
        let delay = max(0, (hold.nextTry ?? now) - now)
        guard self.entries[slot].foreign < 0 else {
            // Its own host is reachable: it makes the attempt, and the other transfers of its host do not wait for it.
            let wait = max(delay, self.entries[slot].retryWait)
            guard self.hasTimeLeft(slot, after: wait) else { return self.fail(slot, .refused(.outOfTime)) }
            let time = now + wait
            self.holdRetry(slot, until: time)
            return .held(attempt: attempts, delay: time - now)
        }
        guard self.hasTimeLeft(slot, after: 0) else { return self.fail(slot, .refused(.outOfTime)) }
        // If the host accepts connections, the resource may be the cause.
        self.wait(slot, atFront: !acceptsConnections)
        return .held(attempt: attempts, delay: delay)
    }

    /// Collects the waiting transfers of a host whose outage timeout has expired and for which an attempt was made.
    mutating func collectExpired(_ gate: Int, _ now: Int64) {
        // In an outage reported by responses, each transfer makes its own attempt before it fails.
        guard let outage = self.hosts[gate].health.outage, outage.cause != .errors else { return }
        let hold = self.hold(of: outage, self.hosts[gate].origin)
        for index in self.classes.indices where self.classes[index].count > 0 {
            self.collectExpired(self.classes[index].places(of: gate), outage.served, hold, now)
            guard self.hosts[gate].isGate else { continue }
            for host in self.classes[index].hostsInLine where host != gate && self.hosts[host].gate == gate {
                self.collectExpired(self.classes[index].places(of: host), outage.served, hold, now)
            }
        }
    }

    /// Collects a transfer that is added during an outage longer than its timeout, if an attempt was made for it.
    mutating func collectExpired(_ slot: Int, waitsSince: Int64) {
        let gate = self.hosts[Int(self.entries[slot].host)].gate
        guard self.network.outage != nil || self.hosts[gate].health.outage != nil else { return }
        let timeout = self.entries[slot].outageTimeout
        let origin = self.hosts[gate].origin
        let outages = [
            (self.hosts[gate].health.outage, origin),
            (self.network.concerns(origin) ? self.network.outage : nil, nil),
        ]
        for case (let outage?, let place) in outages
        where timeout >= 0 && outage.cause != .errors && outage.lastFailure > waitsSince
            && outage.lastFailure - outage.since >= self.patience(slot, outage.cause, isNetwork: place == nil)
        {
            return self.expired.append((self.entries[slot].id, self.hold(of: outage, place)))
        }
    }

    mutating func collectExpiredByNetwork(_ now: Int64) {
        guard let outage = self.network.outage else { return }
        for index in self.classes.indices where self.classes[index].count > 0 {
            for host in self.classes[index].hostsInLine {
                let gate = self.hosts[host].gate
                guard self.network.concerns(self.hosts[gate].origin) else { continue }
                var hold = self.hold(of: outage, nil)
                if let own = self.hosts[gate].health.outage { hold.since = min(own.since, hold.since) }
                self.collectExpired(self.classes[index].places(of: host), outage.served, hold, now)
            }
        }
    }

    private mutating func collectExpired(_ places: [PriorityClass.Place], _ served: UInt64, _ hold: Hold, _ now: Int64)
    {
        for place in places {
            let entry = self.entries[place.slot]
            guard entry.ticket == place.ticket, entry.outageTimeout >= 0, entry.id.rawValue <= served,
                now - hold.since >= self.patience(place.slot, hold.cause, isNetwork: hold.origin == nil)
            else { continue }
            self.expired.append((entry.id, hold))
        }
    }

    /// Ends the next transfer whose timeout has expired.
    mutating func expire() -> Step? {
        while let (id, hold) = self.expired.popLast() {
            guard let slot = self.slots[id] else { continue }
            switch self.entries[slot].state {
            case .waiting: self.leaveLine(slot)
            case .retrying(at: .max) where hold.fileSystem != nil: self.move(slot, to: .waiting)
            default: continue
            }
            _ = self.fail(slot, .refused(.outage(hold)))
            return .expire(id, hold)
        }
        return nil
    }

    // MARK: Rotation

    /// Removes a held host from the rotation of a class.
    mutating func park(_ host: Int, in index: Int, until: Int64?, _ now: Int64) {
        let gate = self.hosts[host].gate
        self.classes[index].park(host)
        let isThrottled = self.hosts[host].health.throttledUntil.map { $0 > now } ?? false
        if !isThrottled, self.network.concerns(self.hosts[gate].origin) {
            self.parkedByNetwork.append(host)
            guard let until, until != self.networkWakeUp else { return }
            self.networkWakeUp = until
            self.due.insert(DueQueue.Element(time: until, id: nil, gate: DueQueue.Element.network))
        } else {
            let isGateHeld = self.hosts[gate].health.permission(at: now, isProxy: gate != host) != .free
            let holder = isGateHeld ? gate : host
            if self.hosts[holder].parked.last != host { self.hosts[holder].parked.append(host) }
            if let until { self.scheduleResume(holder, at: until) }
        }
    }

    private mutating func scheduleResume(_ gate: Int, at time: Int64) {
        guard time != self.hosts[gate].wakeUp else { return }
        self.hosts[gate].wakeUp = time
        self.due.insert(DueQueue.Element(time: time, id: nil, gate: Int32(gate)))
    }

    /// A scheduled wake-up is due.
    mutating func holdEnded(_ element: DueQueue.Element, _ now: Int64) {
        self.holdsHaveChanged = true
        if element.gate == DueQueue.Element.network {
            if element.time == self.networkWakeUp { self.networkWakeUp = .min }
            return self.resumeAll()
        }
        if element.gate == DueQueue.Element.fileSystems { return self.fileSystemsDue(now) }
        if element.gate == DueQueue.Element.shortage { return self.shortageEased(now) }
        let gate = Int(element.gate)
        guard gate >= 0 else { return }
        if element.time == self.hosts[gate].wakeUp { self.hosts[gate].wakeUp = .min }
        if self.hosts[gate].isReportedHeld, self.hosts[gate].health.outage == nil {
            if let until = self.hosts[gate].health.throttledUntil, until > now {
                self.scheduleResume(gate, at: until)
            } else {
                self.reportReleased(gate, now)
            }
        }
        self.resume(gate)
    }

    /// Returns the hosts parked for another one to the rotation; those still held are parked at their next turn.
    mutating func resume(_ gate: Int) {
        self.holdsHaveChanged = true
        guard !self.hosts[gate].parked.isEmpty else { return }
        let parked = self.hosts[gate].parked
        self.hosts[gate].parked = []
        self.unpark(parked)
    }

    mutating func resumeAll() {
        self.holdsHaveChanged = true
        let parked = self.parkedByNetwork
        self.parkedByNetwork = []
        self.unpark(parked)
    }

    private mutating func unpark(_ hosts: [Int]) {
        for index in self.classes.indices { for host in hosts { self.classes[index].unpark(host) } }
    }

    // MARK: Throttling

    /// A server requested a transfer to retry later.
    mutating func throttle(_ slot: Int, _ failure: Failure, until time: Int64, _ now: Int64) {
        self.holdsHaveChanged = true
        let gate = Int(self.entries[slot].host)
        let id = self.entries[slot].id.rawValue
        guard self.hosts[gate].health.throttled(id, until: time, failure.message, now: now) else { return }
        self.reportHeld(gate, now)
        if let until = self.hosts[gate].health.throttledUntil { self.scheduleResume(gate, at: until) }
    }

    /// A transfer has ended: the delays requested from it no longer count.
    mutating func forgetHolds(_ slot: Int) {
        self.holdsHaveChanged = true
        let gate = Int(self.entries[slot].host)
        if self.hosts[gate].health.forgetThrottle(of: self.entries[slot].id.rawValue) {
            self.reportReleased(gate, .max)
            self.resume(gate)
        }
        if self.entries[slot].foreign >= 0 { self.forgetForeign(slot, responded: false) }
    }

    // MARK: Reports

    mutating func reportHeld(_ gate: Int, _ now: Int64) {
        guard let hold = self.ownHold(gate, now) else { return }
        self.setReportedHeld(gate, true)
        self.notices.append(.held(hold))
    }

    private mutating func reportReleased(_ gate: Int, _ now: Int64) {
        guard self.hosts[gate].isReportedHeld, self.hosts[gate].health.outage == nil else { return }
        self.setReportedHeld(gate, false)
        let health = self.hosts[gate].health
        let hold = Hold(
            origin: self.hosts[gate].origin,
            reason: .throttled,
            message: health.throttleMessage,
            since: health.throttledSince,
            nextTry: nil
        )
        self.notices.append(.released(hold))
        self.resumeMirrored()
    }

    /// A host that nothing waits for was forgotten, and with it its hold.
    mutating func forgotten(_ host: HostTable.Host) {
        guard host.isReportedHeld else { return }
        self.reportedHolds -= 1
        guard let outage = host.health.outage else { return }
        self.notices.append(.released(self.hold(of: outage, host.origin)))
    }

    /// Ends holds immediately: a user knows that a host, or every host, is reachable again.
    ///
    /// - Parameters:
    ///   - origin: The host or the proxy; `nil` for all, and the network.
    ///   - now: The time.
    package mutating func releaseHolds(of origin: Origin?, now: Int64) {
        if let outage = self.network.outage {
            self.notices.append(.released(self.hold(of: outage, nil)))
        }
        self.network.release()
        if origin == nil { self.releaseFileSystems() }
        self.resumeAll()
        let gates: [Int]
        if let origin {
            gates =
                self.hosts.index(of: origin).map { self.hosts[$0].gate == $0 ? [$0] : [self.hosts[$0].gate, $0] } ?? []
        } else {
            gates = Array(self.hosts.allIndices)
        }
        for gate in gates {
            if self.hosts[gate].isReportedHeld, let hold = self.ownHold(gate, now) {
                self.setReportedHeld(gate, false)
                self.notices.append(.released(hold))
            }
            self.hosts[gate].health.release()
            self.resume(gate)
        }
        self.resumeMirrored()
    }
}
