// SPDX-License-Identifier: Apache-2.0
/// The hosts that transfers wait for or are connected to, each with its connections and its health.
///
/// Hosts are numbered, so that a transfer refers to its host by a small integer. An unreferenced host is kept for a
/// while, because the next transfer is often from the same one; ``sweep(now:)`` bounds their number.
struct HostTable: Sendable {
    /// One host: scheme, name and port.
    struct Host: Sendable {
        var origin: Origin
        /// The number of references to this host: unfinished transfers, connections, and waits for a connection.
        var references = 0
        /// The transfers that wait to be admitted.
        var waiting = 0
        /// Those of them that have started before.
        var waitingAgain = 0
        /// The connections of all transfers.
        var connections = 0
        /// The connections of transfers whose callers have fixed their number.
        var fixedConnections = 0
        var holders: [Holder] = []
        /// Running transfers that wait for a connection, in order.
        var claims: [Claim] = []
        var health = HostHealth()
        /// The number of the host whose health decides: the proxy through which this host is reached, or itself.
        var gate: Int
        /// The hosts with waiting transfers that are out of rotation because this one is held.
        var parked: [Int] = []
        /// Whether a hold was reported whose end was not.
        var isReportedHeld = false
        /// Whether other hosts are reached through this one.
        var isGate = false
        /// The runs that wait for their first response.
        var unanswered = 0
        /// The time of the last response, or at which the first of these runs began, whichever is later.
        var quietSince: Int64 = 0
        /// Whether its runs lend their slots.
        var isSilent = false
        /// The number of connections that the host was observed to allow, and the time until which that is trusted.
        var learnedLimit = 0
        var learnedUntil: Int64 = 0
        /// The time for which a wake-up is scheduled because the host is held.
        var wakeUp = Int64.min
        /// The number of its registered domain; -1 if domains have no limits.
        var domain: Int32 = -1
        /// The earliest time of the next request.
        var nextStart = Int64.min
        /// The time for which a wake-up is scheduled because of the interval.
        var paceWakeUp = Int64.min
        /// The interval that its `robots.txt` asks for, in nanoseconds.
        var crawlDelay: Int64 = 0
        var rules = Rules.unknown
    }

    /// The state of the `robots.txt` of a host.
    enum Rules: Equatable, Sendable {
        case unknown
        case requested
        case known(until: Int64)
    }

    /// A transfer that has connections to a host.
    struct Holder: Sendable {
        var id: TransferID
        var count: Int32
        /// The number of connections fixed by its caller, or 0.
        var fixed: Int32
        /// The connections whose first request was permitted with them, and was not sent yet.
        var granted: Int32 = 0

        /// The connections within the fixed number.
        var fixedCount: Int32 { min(self.count, self.fixed) }
    }

    /// A running transfer that waits for a connection to another host.
    struct Claim: Sendable {
        var id: TransferID
        var number: WaiterID
    }

    private var hosts: [Host] = []
    private var indices: [Origin: Int] = [:]
    private var unused: [Int] = []
    private var sweepsAbove = Self.keptAtLeast
    /// The unreferenced hosts.
    private(set) var idleCount = 0

    private static let keptAtLeast = 1024

    var domains = DomainTable()
    /// Determines the registered domains; `nil` if domains have no limits.
    let suffixes: PublicSuffixes?

    init(suffixes: PublicSuffixes? = nil) { self.suffixes = suffixes }

    /// The number of hosts known.
    var count: Int { self.indices.count }

    subscript(index: Int) -> Host {
        @inline(__always) _read { yield self.hosts[index] }
        @inline(__always) _modify { yield &self.hosts[index] }
    }

    /// The number of a host, or `nil` if it is unknown.
    func index(of origin: Origin) -> Int? { self.indices[origin] }

    /// Adds a reference to a host.
    ///
    /// - Returns: Its number.
    mutating func retain(_ origin: Origin, gate: Origin? = nil) -> Int {
        if let index = self.indices[origin] {
            self.retain(index)
            if let gate, gate != origin || self.hosts[index].gate != index,
                self.hosts[self.hosts[index].gate].origin != gate
            {
                self.setGate(gate, of: index)
            }
            return index
        }
        let index: Int
        if let free = self.unused.popLast() {
            index = free
            self.hosts[free] = Host(origin: origin, gate: free)
        } else {
            index = self.hosts.count
            self.hosts.append(Host(origin: origin, gate: index))
        }
        self.indices[origin] = index
        self.hosts[index].references = 1
        if let suffixes = self.suffixes {
            self.hosts[index].domain = Int32(self.domains.retain(suffixes.registeredDomain(of: origin.host)))
        }
        if let gate, gate != origin { self.setGate(gate, of: index) }
        return index
    }

    private mutating func setGate(_ gate: Origin, of index: Int) {
        let old = self.hosts[index].gate
        let new = self.retain(gate)
        self.hosts[index].gate = new
        self.hosts[new].isGate = true
        if new == index { self.release(new) }
        if old != index { self.release(old) }
    }

    /// The numbers of all hosts.
    var allIndices: some Sequence<Int> { self.indices.values }

    /// The health that decides about a host.
    func gate(of index: Int) -> Host { self.hosts[self.hosts[index].gate] }

    /// Adds a reference to a host by its number.
    mutating func retain(_ index: Int) {
        if self.hosts[index].references == 0 { self.idleCount -= 1 }
        self.hosts[index].references += 1
    }

    /// Removes a reference to a host.
    mutating func release(_ index: Int) {
        self.hosts[index].references -= 1
        if self.hosts[index].references == 0 { self.idleCount += 1 }
    }

    /// Whether enough idle hosts are kept for `sweep(now:)` to be worth its cost.
    var needsSweep: Bool { self.idleCount > self.sweepsAbove }

    /// Removes idle hosts, except those that are throttled or have a learned limit.
    ///
    /// - Returns: Their numbers, which are unused now, and what they were.
    mutating func sweep(now: Int64) -> [(index: Int, host: Host)] {
        var removed: [(index: Int, host: Host)] = []
        for (origin, index) in self.indices where self.hosts[index].references == 0 {
            let until = self.hosts[index].health.throttledUntil ?? now
            guard until <= now, self.hosts[index].learnedUntil <= now, self.hosts[index].nextStart <= now,
                self.hosts[index].paceWakeUp == .min
            else { continue }
            let gate = self.hosts[index].gate
            if self.hosts[index].domain >= 0 { self.domains.release(Int(self.hosts[index].domain)) }
            self.indices[origin] = nil
            removed.append((index, self.hosts[index]))
            self.hosts[index] = Host(origin: Self.none, gate: index)
            self.unused.append(index)
            self.idleCount -= 1
            if gate != index { self.release(gate) }
        }
        self.sweepsAbove = max(Self.keptAtLeast, 2 * self.idleCount)
        return removed
    }

    private static let none = Origin(scheme: .http, host: "", port: 0)

    // MARK: Connections

    /// Counts a further connection of a transfer.
    mutating func connect(_ index: Int, _ id: TransferID, fixed: Int32) {
        self.retain(index)
        self.hosts[index].connections += 1
        if self.hosts[index].domain >= 0 { self.domains[Int(self.hosts[index].domain)].connections += 1 }
        guard let place = self.hosts[index].place(of: id) else {
            self.hosts[index].holders.append(Holder(id: id, count: 1, fixed: fixed))
            if fixed > 0 { self.hosts[index].fixedConnections += 1 }
            return
        }
        self.hosts[index].holders[place].count += 1
        if self.hosts[index].holders[place].count <= self.hosts[index].holders[place].fixed {
            self.hosts[index].fixedConnections += 1
        }
    }

    /// Removes a connection of a transfer.
    ///
    /// - Precondition: It has one.
    mutating func disconnect(_ index: Int, _ id: TransferID) {
        guard let place = self.hosts[index].place(of: id) else {
            preconditionFailure("transfer \(id) released a connection to \(self.hosts[index].origin.host) not taken")
        }
        self.hosts[index].connections -= 1
        if self.hosts[index].domain >= 0 { self.domains.disconnect(Int(self.hosts[index].domain)) }
        if self.hosts[index].holders[place].count <= self.hosts[index].holders[place].fixed {
            self.hosts[index].fixedConnections -= 1
        }
        self.hosts[index].holders[place].count -= 1
        // It may be one that was used: then the other's request waits, which is polite.
        if self.hosts[index].holders[place].granted > 0 { self.hosts[index].holders[place].granted -= 1 }
        if self.hosts[index].holders[place].count == 0 {
            self.hosts[index].holders.swapAt(place, self.hosts[index].holders.count - 1)
            self.hosts[index].holders.removeLast()
        }
        self.release(index)
    }
}

extension HostTable.Host {
    /// The place of a transfer among the holders.
    func place(of id: TransferID) -> Int? { self.holders.firstIndex { $0.id == id } }

    /// The waits of transfers that have no connection here.
    var urgentClaims: Int { self.claims.count { self.place(of: $0.id) == nil } }

    /// The connections of one transfer.
    func connections(of id: TransferID) -> Int { self.place(of: id).map { Int(self.holders[$0].count) } ?? 0 }
}
