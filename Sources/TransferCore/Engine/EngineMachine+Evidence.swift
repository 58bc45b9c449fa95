// SPDX-License-Identifier: Apache-2.0
/// Evaluates the ends of runs as evidence about hosts and the network, and manages the probes.
extension EngineMachine {
    /// A transfer starts in order to probe.
    mutating func startProbe(_ slot: Int) {
        self.holdsHaveChanged = true
        let gate = self.hosts[Int(self.entries[slot].host)].gate
        let id = self.entries[slot].id.rawValue
        if self.network.concerns(self.hosts[gate].origin) {
            self.entries[slot].probe = .network
            self.network.probeStarted(by: id, for: self.nextID)
        } else {
            self.entries[slot].probe = .host
            self.hosts[gate].health.probeStarted(by: id, for: self.nextID)
            let host = Int(self.entries[slot].host)
            if host != gate { self.hosts[host].health.probeStarted(by: id, for: self.nextID) }
        }
    }

    /// Whether a transfer's run was started in order to probe.
    package func isProbe(_ id: TransferID) -> Bool { self.slots[id].map { self.entries[$0].probe != .none } ?? false }

    /// A run that probes made a connection, or received a response.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - status: The status of the response, if there is one.
    ///   - now: The time.
    package mutating func hostReached(_ id: TransferID, status: Int?, now: Int64) {
        guard let slot = self.slots[id], self.entries[slot].probe != .none else { return }
        let host = Int(self.entries[slot].host)
        let gate = self.hosts[host].gate
        if let status {
            if self.reportsOutage(status, host) {
                self.answered(gate, now)
            } else {
                self.responded(host, isNews: true, now)
            }
        } else {
            if let outage = self.hosts[gate].health.connected() { self.outageEnded(gate, outage) }
            self.networkResponded(now)
        }
        let isOut = self.hosts[gate].health.outage != nil || self.hosts[host].health.outage != nil
        if self.entries[slot].probe == .network || !isOut { self.entries[slot].probe = .none }
    }

    /// A transfer is added: if it is the only one waiting for its host, the next probe is moved forward.
    mutating func probeForNewcomer(_ host: Int) {
        guard self.hosts[host].waiting == 0 else { return }
        let gate = self.hosts[host].gate
        guard let outage = self.hosts[gate].health.outage else { return }
        // A delay that the host asked for is not shortened.
        guard outage.askedTime == 0 else { return }
        self.hosts[gate].health.probe(at: outage.lastFailure + HostHealth.Outage.firstDelay)
        self.resume(gate)
    }

    // MARK: Evidence

    /// Updates the health of a host at the end of a run.
    ///
    /// - Returns: The outage that the transfer waits out, if it ended because of one.
    mutating func judge(_ slot: Int, _ result: RunResult, _ tally: Tally, isNews: Bool, _ now: Int64) -> Hold? {
        if !self.timed.isEmpty { self.holdsHaveChanged = true }
        let host = Int(self.entries[slot].host)
        let gate = self.hosts[host].gate
        let probe = self.entries[slot].probe
        let hasResponse = tally.hasResponse
        self.entries[slot].probe = .none
        var report = tally.report
        if case .retry(let failure) = result { report = failure }
        if let report, let evidence = report.evidence, evidence.cause == .errors,
            self.reportsOutage(evidence, of: slot)
        {
            guard !self.asksTooMuch(report, slot) else {
                self.abandon(slot, probe, gate)
                return nil
            }
            let hold = self.responseFailed(slot, report, evidence, probe, now)
            if case .retry = result { return hold }
            return nil
        }
        if hasResponse {
            self.responded(host, isNews: isNews, now)
            self.forgetForeign(slot)
        }
        guard case .retry(let failure) = result, let evidence = failure.evidence, evidence.cause != .errors,
            !(hasResponse && evidence.cause == .broken)
        else {
            self.abandon(slot, probe, gate)
            return nil
        }
        let facts = HostHealth.HostFailure(
            evidence.cause,
            failure.message,
            transfer: self.entries[slot].id.rawValue,
            timeout: self.entries[slot].outageTimeout < 0 ? .max : self.entries[slot].outageTimeout,
            jitter: failure.jitter
        )
        if let peer = evidence.peer, peer != self.hosts[gate].origin {
            self.abandon(slot, probe, gate)
            return self.foreignFailed(slot, peer, facts, now)
        }
        return self.hostFailed(slot, gate, probe, facts, now)
    }

    private mutating func hostFailed(
        _ slot: Int,
        _ gate: Int,
        _ probe: Probe,
        _ failure: HostHealth.HostFailure,
        _ now: Int64
    ) -> Hold? {
        // An outage starts only for transfers that wait it out; others only probe it.
        guard self.entries[slot].outageTimeout >= 0 || probe != .none else { return nil }
        let origin = self.hosts[gate].origin
        if failure.cause.concernsNetwork {
            if self.network.failed(origin, failure, now: now),
                let outage = self.network.outage
            {
                self.notices.append(.held(self.hold(of: outage, nil)))
                // Transfers that wait for their own hosts' next attempts wait for the network's from now on.
                for host in self.hosts.allIndices { self.resume(host) }
            }
        } else if failure.cause == .refused || failure.cause == .broken {
            self.networkResponded(now)
        } else if probe == .network {
            _ = self.network.failed(origin, failure, now: now)
        }
        let wasOut = self.hosts[gate].health.outage != nil
        let isOut = self.hosts[gate].health.failed(failure, now: now)
        if isOut, !wasOut { self.reportHeld(gate, now) }
        // Hosts that were parked during the attempt are due again at the time of the next one.
        if probe != .none { self.resume(gate) }
        if probe == .network { self.resumeAll() }
        self.abandonBehind(gate, slot)
        guard isOut else { return nil }
        self.collectExpired(gate, now)
        if probe == .network { self.collectExpiredByNetwork(now) }
        guard self.entries[slot].outageTimeout >= 0 else { return nil }
        var hold = self.ownHold(gate, now)
        if self.network.concerns(origin) { hold?.nextTry = self.network.outage?.nextProbe }
        return hold
    }

    /// A host other than its own could not be reached, such as the target of a redirect.
    mutating func foreignFailed(
        _ slot: Int,
        _ peer: Origin,
        _ failure: HostHealth.HostFailure,
        _ now: Int64
    ) -> Hold? {
        guard self.entries[slot].outageTimeout >= 0 else { return nil }
        self.forgetForeign(slot, responded: false)
        let host = self.hosts.retain(peer)
        self.entries[slot].foreign = Int32(host)
        if self.hosts[host].health.permission(at: now) == .probe {
            self.hosts[host].health.probeStarted(by: failure.transfer, for: failure.transfer)
        }
        let wasOut = self.hosts[host].health.outage != nil
        guard self.hosts[host].health.failed(failure, now: now) else { return nil }
        if !wasOut { self.outageBegan(host, now) }
        return self.ownHold(host, now)
    }

    mutating func forgetForeign(_ slot: Int, responded: Bool = true) {
        let foreign = Int(self.entries[slot].foreign)
        guard foreign >= 0 else { return }
        self.entries[slot].foreign = -1
        if responded, let outage = self.hosts[foreign].health.responded() { self.outageEnded(foreign, outage) }
        self.hosts.release(foreign)
    }

    /// The proxy could not be reached, so that the probe shows nothing about the host behind it.
    private mutating func abandonBehind(_ gate: Int, _ slot: Int) {
        let host = Int(self.entries[slot].host)
        guard host != gate else { return }
        self.hosts[host].health.probeAbandoned(by: self.entries[slot].id.rawValue)
        self.resume(host)
    }

    mutating func abandon(_ slot: Int, _ probe: Probe, _ gate: Int) {
        let id = self.entries[slot].id.rawValue
        switch probe {
        case .none: return
        case .host:
            self.hosts[gate].health.probeAbandoned(by: id)
            self.abandonBehind(gate, slot)
        case .network:
            self.network.probeAbandoned(by: id)
            self.resumeAll()
        }
        self.resume(gate)
    }

    /// A host responded otherwise than with a report of an outage.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - isNews: Whether the response was not reported by ``hostResponds(to:status:now:)``. A long download that ends
    ///     had its response before the outage.
    ///   - now: The time.
    private mutating func responded(_ host: Int, isNews: Bool, _ now: Int64) {
        if isNews, let outage = self.hosts[host].health.served() { self.outageEnded(host, outage) }
        self.answered(self.hosts[host].gate, now)
    }

    /// A host, or the proxy in front of it, responded.
    mutating func answered(_ gate: Int, _ now: Int64) {
        if let outage = self.hosts[gate].health.answered() { self.outageEnded(gate, outage) }
        if self.network.isSuspect, !self.hosts[gate].origin.isLoopback { self.networkResponded(now) }
    }

    mutating func outageEnded(_ gate: Int, _ outage: HostHealth.Outage) {
        self.holdsHaveChanged = true
        if self.hosts[gate].isReportedHeld {
            self.setReportedHeld(gate, false)
            self.notices.append(.released(self.hold(of: outage, self.hosts[gate].origin)))
        }
        self.resume(gate)
        self.resumeMirrored()
    }

    private mutating func networkResponded(_ now: Int64) {
        guard let outage = self.network.responded() else { return }
        self.notices.append(.released(self.hold(of: outage, nil)))
        for index in self.hosts.allIndices {
            guard let outage = self.hosts[index].health.outage, outage.cause.concernsNetwork else { continue }
            self.hosts[index].health.probe(at: now)
            self.resume(index)
        }
        self.resumeAll()
    }
}
