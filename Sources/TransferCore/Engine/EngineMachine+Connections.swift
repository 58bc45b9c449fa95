// SPDX-License-Identifier: Apache-2.0
/// Connections: limits per host, and their fair distribution among the transfers of one host.
extension EngineMachine {
    /// Takes a further connection for a transfer that has one.
    ///
    /// - Returns: False if the host is held, the limit is reached, the host refused as many lately, or another transfer
    ///   waits for the host.
    package mutating func acquireConnection(_ origin: Origin, for id: TransferID, now: Int64) -> Bool {
        let host = self.hosts.retain(origin)
        defer { self.hosts.release(host) }
        guard self.permission(host, now) == .free, !self.isAwaited(host) else { return false }
        if self.isPolite {
            let domain = Int(self.hosts[host].domain)
            let isWanted = domain >= 0 && !self.hosts.domains[domain].isUnwanted
            guard !isWanted, self.politeWait(host, now) == nil else { return false }
        }
        if self.hosts[host].learnedUntil > now, self.hosts[host].connections >= self.hosts[host].learnedLimit {
            return false
        }
        let fixed = self.fixedConnections(of: id)
        guard self.isConnectionFree(host, id, fixed: fixed) else { return false }
        self.hosts.connect(host, id, fixed: fixed)
        self.requestStarts(host, by: id, now)
        return true
    }

    /// Returns a connection; ``next(now:lane:)`` grants it to a waiting transfer.
    ///
    /// - Precondition: The transfer has one.
    package mutating func connectionReleased(_ origin: Origin, by id: TransferID) {
        guard let host = self.host(origin, of: id) else {
            preconditionFailure("transfer \(id) released a connection to \(origin.host) that was not taken")
        }
        self.hosts.disconnect(host, id)
        if let index = self.yieldRequests.firstIndex(where: { $0.host == host && $0.id == id }) {
            self.yieldRequests.remove(at: index)
        }
    }

    /// The host refused a connection beyond its current ones: their number is its limit for some time.
    package mutating func connectionRefused(_ origin: Origin, now: Int64) {
        guard let host = self.hosts.index(of: origin) else { return }
        self.hosts[host].learnedLimit = max(1, self.hosts[host].connections)
        self.hosts[host].learnedUntil = now + Self.learnedPeriod
    }

    /// The time for which a host's limit is trusted, in nanoseconds.
    package static let learnedPeriod: Int64 = 300_000_000_000

    /// Waits for a connection to another host, for a running transfer; ``Step/grant(_:)`` follows.
    ///
    /// The wait is dropped when the run ends before.
    package mutating func awaitConnection(_ origin: Origin, for id: TransferID) -> WaiterID {
        self.nextWaiter += 1
        let number = WaiterID(rawValue: self.nextWaiter)
        let host = self.hosts.retain(origin)
        if self.hosts[host].claims.isEmpty { self.claimedHosts.append(host) }
        self.hosts[host].claims.append(HostTable.Claim(id: id, number: number))
        if let slot = self.slots[id] { self.entries[slot].claims += 1 }
        return number
    }

    // MARK: Limits

    /// The limit of connections to a host, and whether it was set rather than derived.
    private func limit(of host: Int) -> (count: Int, isSet: Bool) {
        if !self.hostLimits.isEmpty, let limit = self.hostLimits[self.hosts[host].origin.host] {
            return (max(1, limit), true)
        }
        if let limit = self.connectionsPerHost { return (max(1, limit), true) }
        return (max(4, self.limit), false)
    }

    /// The number of free connections to a host, negative if it has more than its limit.
    ///
    /// A derived limit applies only to connections whose number no caller has fixed.
    private func freeConnections(_ host: Int) -> Int {
        let (count, isSet) = self.limit(of: host)
        return count - self.hosts[host].connections + (isSet ? 0 : self.hosts[host].fixedConnections)
    }

    /// Whether a transfer may have one more connection to a host.
    func isConnectionFree(_ host: Int, _ id: TransferID, fixed: Int32) -> Bool {
        if self.freeConnections(host) > 0 { return true }
        return fixed > 0 && self.hosts[host].connections(of: id) < Int(fixed) && !self.limit(of: host).isSet
    }

    private func fixedConnections(of id: TransferID) -> Int32 {
        self.slots[id].map { self.entries[$0].fixedConnections } ?? 0
    }

    /// The number of a host; that of the transfer's own host is found without hashing its name.
    func host(_ origin: Origin, of id: TransferID) -> Int? {
        if let slot = self.slots[id] {
            let own = Int(self.entries[slot].host)
            if self.hosts[own].origin == origin { return own }
        }
        return self.hosts.index(of: origin)
    }

    // MARK: Fairness

    /// Whether a transfer without a connection waits for this host.
    private func isAwaited(_ host: Int) -> Bool {
        self.hosts[host].urgentClaims > 0 || (self.hosts[host].waiting > 0 && self.places(for: host) > 0)
    }

    /// The transfer that has the most connections to a host, if one of them is needed for a transfer that has none.
    func yieldRequest(_ host: Int, _ now: Int64) -> YieldRequest? {
        guard self.permission(host, now) == .free else { return nil }
        let pending = self.yieldRequests.filter { $0.expiry > now }
        let needed =
            self.hosts[host].urgentClaims + min(self.hosts[host].waiting, self.places(for: host))
            - self.freeConnections(host)
        let claimsOfAll = self.claimedHosts.reduce(0) { $0 + self.hosts[$1].claims.count }
        guard pending.count(where: { $0.host == host }) < needed, pending.count < claimsOfAll + self.freePlaces else {
            return nil
        }
        // Closing a connection within a fixed number frees nothing under a derived limit.
        let isSet = self.limit(of: host).isSet
        var best: (id: TransferID, count: Int)?
        for holder in self.hosts[host].holders where holder.count > 1 {
            guard isSet || holder.count > holder.fixed else { continue }
            let left = Int(holder.count) - pending.count { $0.host == host && $0.id == holder.id }
            if left > max(1, best?.count ?? 1) { best = (holder.id, left) }
        }
        return best.map { YieldRequest(host: host, id: $0.id, expiry: now + Self.yieldPatience) }
    }

    /// Records a request to yield.
    mutating func request(_ yield: YieldRequest) -> Step {
        // The transfer did not comply with an expired request; nothing else refers to it.
        let now = yield.expiry - Self.yieldPatience
        self.yieldRequests.removeAll { $0.expiry <= now }
        self.yieldRequests.append(yield)
        return .yield(yield.id, self.hosts[yield.host].origin)
    }

    /// Takes a connection for the first eligible waiting transfer, or requests another one to yield.
    mutating func serveClaims(_ now: Int64) -> Step? {
        var yield: YieldRequest?
        for (index, host) in self.claimedHosts.enumerated() {
            // An outage does not hold a running transfer, which detects by its own attempt if the other host responds.
            if let until = self.hosts[host].health.throttledUntil, until > now { continue }
            if self.isPolite, let wait = self.politeWait(host, now) {
                self.schedule(wait, of: host)
                continue
            }
            guard let place = self.grantableClaim(host) else {
                if yield == nil { yield = self.yieldRequest(host, now) }
                continue
            }
            let claim = self.hosts[host].claims.remove(at: place)
            self.hosts.connect(host, claim.id, fixed: self.fixedConnections(of: claim.id))
            if self.hosts[host].claims.isEmpty { self.claimedHosts.remove(at: index) }
            if let slot = self.slots[claim.id] { self.entries[slot].claims -= 1 }
            self.requestStarts(host, by: claim.id, now)
            self.hosts.release(host)
            return .grant(claim.number)
        }
        return yield.map { self.request($0) }
    }

    /// The first wait that can be granted; transfers without a connection to the host come first.
    private func grantableClaim(_ host: Int) -> Int? {
        let claims = self.hosts[host].claims
        let free = claims.indices.filter { place in
            let id = claims[place].id
            return self.isConnectionFree(host, id, fixed: self.fixedConnections(of: id))
        }
        return free.first { self.hosts[host].place(of: claims[$0].id) == nil } ?? free.first
    }

    /// Drops the waits and requests of a run that has ended.
    mutating func forgetRun(_ slot: Int) {
        let id = self.entries[slot].id
        if !self.yieldRequests.isEmpty { self.yieldRequests.removeAll { $0.id == id } }
        guard self.entries[slot].claims > 0 else { return }
        self.entries[slot].claims = 0
        for host in self.claimedHosts {
            let before = self.hosts[host].claims.count
            self.hosts[host].claims.removeAll { $0.id == id }
            for _ in self.hosts[host].claims.count..<before { self.hosts.release(host) }
        }
        self.claimedHosts.removeAll { [hosts = self.hosts] in hosts[$0].claims.isEmpty }
    }
}

/// A running transfer was asked to close one of its connections.
struct YieldRequest: Sendable {
    var host: Int
    var id: TransferID
    /// The time after which the request counts as ignored.
    var expiry: Int64
}
