// SPDX-License-Identifier: Apache-2.0
/// Outages that responses report: a host that sends nothing but 429, 5xx is held like one that cannot be reached.
extension EngineMachine {
    /// The outage of a host in which connections are made, if there is one and nothing else holds the host.
    func responseOutage(_ host: Int, _ gate: Int? = nil) -> HostHealth.Outage? {
        let gate = gate ?? self.hosts[host].gate
        if self.network.concerns(self.hosts[gate].origin) { return nil }
        if let outage = self.hosts[gate].health.outage, gate == host || outage.cause != .errors {
            return outage.cause.acceptsConnections ? outage : nil
        }
        return self.hosts[host].health.outage
    }

    func reportsOutage(_ status: Int, _ host: Int) -> Bool {
        OutageCause.isReported(by: status) && !(status == 500 && self.hosts[host].health.hasServed)
    }

    /// A run received a final response.
    mutating func hostServed(_ host: Int, _ status: Int) {
        guard !self.reportsOutage(status, host), let outage = self.hosts[host].health.served() else { return }
        self.outageEnded(host, outage)
    }

    // MARK: Evidence

    /// Whether a response is evidence of an outage, and not of the resource's own trouble.
    func reportsOutage(_ evidence: OutageEvidence, of slot: Int) -> Bool {
        guard let status = evidence.status else { return true }
        let host = evidence.peer.flatMap { self.hosts.index(of: $0) } ?? Int(self.entries[slot].host)
        return self.reportsOutage(status, host)
    }

    /// Whether a server requested a longer delay than the transfer waits, so that it fails, in an outage or not.
    func asksTooMuch(_ failure: Failure, _ slot: Int) -> Bool {
        let most = Int64(self.entries[slot].maximumRetryAfter)
        return most >= 0 && failure.retryAfter ?? 0 > most
    }

    /// A run ended with a response that reports an outage.
    ///
    /// - Returns: The outage that the transfer waits out, if there is one.
    mutating func responseFailed(
        _ slot: Int,
        _ failure: Failure,
        _ evidence: OutageEvidence,
        _ probe: Probe,
        _ now: Int64
    ) -> Hold? {
        let host = Int(self.entries[slot].host)
        let gate = self.hosts[host].gate
        let patience = self.entries[slot].outageTimeout
        let most = Int64(self.entries[slot].maximumRetryAfter)
        let longest = most < 0 ? RetryBudget.longestRetryAfter : most
        var facts = HostHealth.HostFailure(
            .errors,
            failure.message,
            transfer: self.entries[slot].id.rawValue,
            timeout: patience < 0 ? .max : patience,
            jitter: failure.jitter
        )
        facts.asked = failure.retryAfter.map { min(max(0, $0), longest) * 1_000_000_000 }
        facts.resource = evidence.resource
        facts.concernsHost = evidence.concernsHost
        if let peer = evidence.peer, peer != self.hosts[host].origin {
            self.abandon(slot, probe, gate)
            return patience > 0 ? self.foreignFailed(slot, peer, facts, now) : nil
        }
        facts.transfers = self.hosts[host].references
        self.answered(gate, now)
        // Without an outage timeout, the transfer fails by its own retries.
        guard patience > 0 || probe != .none else { return nil }
        let wasOut = self.hosts[host].health.outage != nil
        let isOut = self.hosts[host].health.failed(facts, now: now)
        if isOut, !wasOut { self.outageBegan(host, now) }
        if probe != .none {
            self.resume(gate)
            if gate != host { self.resume(host) }
        }
        if probe == .network { self.resumeAll() }
        return isOut && patience > 0 ? self.ownHold(host, now) : nil
    }

    /// An outage of a host has begun: the attempts that showed it use up no retries.
    mutating func outageBegan(_ host: Int, _ now: Int64) {
        self.reportHeld(host, now)
        for id in self.hosts[host].health.takeComplainants() {
            guard let slot = self.slots[TransferID(id)], self.entries[slot].state != .running else { continue }
            // A delay that was asked for has used up none, and is kept.
            guard self.entries[slot].askedWaits == 0, !self.entries[slot].countsOutages else { continue }
            self.entries[slot].budget.refund()
            guard case .retrying = self.entries[slot].state, Int(self.entries[slot].host) == host else { continue }
            self.retryStopped(slot)
            self.wait(slot, atFront: false)
        }
    }

    /// Whether a host has sent responses that report an outage, and further evidence is on its way: until a response
    /// shows whether there is one, no more requests are sent than that takes.
    func awaitsEvidence(_ host: Int) -> Bool {
        let complaints = self.hosts[host].health.complaintCount
        guard complaints > 0 else { return false }
        let needed = self.hosts[host].health.complaintsNeeded(among: self.hosts[host].references)
        return self.hosts[host].unanswered + complaints >= needed
    }

    // MARK: Probes

    /// The choice of the transfer that makes the next attempt at a host that accepts connections.
    enum Prober {
        /// This waiting transfer, which is the first of its queue now.
        case transfer(PriorityClass.Place)
        /// No transfer of this queue may, until a time.
        case none(until: Int64)
        /// No transfer may, and none has for long: the outage is forgotten.
        case forgotten
    }

    /// Chooses the transfer of a queue that probes a host.
    ///
    /// Every other attempt is the same transfer's, for a while. The others are taken from all over the queue, not in its order: a
    /// thousand broken URLs in front do not hide those behind them.
    mutating func prober(
        _ host: Int,
        in index: Int,
        _ outage: HostHealth.Outage,
        first slot: Int,
        _ now: Int64
    ) -> Prober {
        // The fractional parts of multiples of the golden ratio are distributed evenly.
        let part = Double(outage.failures) * 0.618_033_988_749_895
        let entries = self.entries
        let mayProbe = { (place: PriorityClass.Place) in
            entries[place.slot].ticket == place.ticket && (outage.cause != .errors || entries[place.slot].mayProbe)
        }
        if let next = outage.nextProber, let slot = self.slots[TransferID(next)],
            let place = self.classes[index].advance(host, to: 0, isEligible: { $0.slot == slot && mayProbe($0) })
        {
            return .transfer(place)
        }
        let avoided = outage.avoidedProber.flatMap { self.slots[TransferID($0)] }
        let position = part - part.rounded(.down)
        // One that has never started shows most.
        let place =
            self.classes[index].advance(host, to: position) { entries[$0.slot].attempts == 0 && mayProbe($0) }
            ?? self.classes[index].advance(host, to: position) { $0.slot != avoided && mayProbe($0) }
            ?? self.classes[index].advance(host, to: position, isEligible: mayProbe)
        if let place { return .transfer(place) }
        let end = outage.lastFailure + HostHealth.Outage.longestDelay
        guard end <= now else {
            let patience = self.entries[slot].outageTimeout
            let ownEnd = (outage.since + outage.askedTime).adding(clamping: patience > 0 ? patience : .max)
            return .none(until: ownEnd > now ? min(end, ownEnd) : end)
        }
        let gate = self.hosts[host].gate
        let holder = self.hosts[gate].health.outage.map { gate == host || $0.cause != .errors } ?? false ? gate : host
        if let outage = self.hosts[holder].health.forgetOutage() { self.outageEnded(holder, outage) }
        return .forgotten
    }

    /// Whether a waiting transfer has waited long enough for the end of an outage that responses report.
    ///
    /// It makes its own attempt then, and fails with that result: the response to another URL does not decide about it.
    func isOverdue(_ slot: Int, _ now: Int64) -> Bool {
        let host = Int(self.entries[slot].host)
        let gate = self.hosts[host].gate
        guard let outage = self.responseOutage(host, gate), outage.cause == .errors,
            self.entries[slot].outageTimeout > 0,
            now - outage.since - outage.askedTime >= self.entries[slot].outageTimeout,
            self.hosts[host].health.throttledUntil.map({ $0 <= now }) ?? true
        else { return false }
        return gate == host || self.hosts[gate].health.permission(at: now, isProxy: true) == .free
    }

    // MARK: Counts

    /// The numbers of transfers that neither run nor could, because something holds them: their host, the network, or a
    /// shortage on this machine.
    package struct HeldCounts: Hashable, Sendable {
        /// All of them; they are part of ``EngineMachine/waitingCount`` and ``EngineMachine/retryingCount``.
        package var all = 0
        /// Those that have started before.
        package var started = 0
    }

    /// The numbers of held transfers; O(n) in the number of hosts while anything is held.
    package func heldCounts(at now: Int64) -> HeldCounts {
        guard self.reportedHolds > 0 || self.network.outage != nil || self.heldRetries > 0 else { return HeldCounts() }
        var counts = HeldCounts(all: self.heldRetries, started: self.heldRetries)
        for host in self.hosts.allIndices where self.hosts[host].waiting > 0 && self.permission(host, now) != .free {
            counts.all += self.hosts[host].waiting
            counts.started += self.hosts[host].waitingAgain
        }
        return counts
    }

    /// A hold of a host was reported, or its end.
    mutating func setReportedHeld(_ host: Int, _ isHeld: Bool) {
        guard self.hosts[host].isReportedHeld != isHeld else { return }
        self.hosts[host].isReportedHeld = isHeld
        self.reportedHolds += isHeld ? 1 : -1
    }

    /// A transfer waits for the end of something other than its own host's outage.
    ///
    /// - Parameters:
    ///   - slot: The transfer.
    ///   - time: The time of its next attempt; by default there is none until it is queued again.
    mutating func holdRetry(_ slot: Int, until time: Int64 = .max) {
        self.move(slot, to: .retrying(at: time))
        self.entries[slot].isHeld = true
        self.heldRetries += 1
        if time < .max { self.due.insert(DueQueue.Element(time: time, id: self.entries[slot].id)) }
    }

    /// A transfer leaves its state.
    mutating func endHold(_ slot: Int) {
        guard self.entries[slot].isHeld else { return }
        self.entries[slot].isHeld = false
        self.entries[slot].awaitsFile = false
        self.heldRetries -= 1
    }
}
