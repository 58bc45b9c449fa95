// SPDX-License-Identifier: Apache-2.0
/// The transfers of one session, or of the shared queue, that were taken from the store.
///
/// The counters are kept with the entries; ``QueueMachine`` decides.
package struct QueueLane: Sendable {
    /// The stage of a transfer that was taken.
    package enum Phase: Hashable, Sendable {
        /// An engine has it and is not known to have started it.
        case staged
        case running
        /// It is waiting between two attempts, without a slot.
        case retrying
        /// Its cancellation was requested from the engine.
        case leaving
        /// It has ended, and the end is not yet stored.
        case ended
    }

    /// The stored state of a transfer that was taken.
    package enum Wish: Hashable, Sendable {
        /// It is waiting for its turn.
        case waits
        case paused
        /// It was removed; its partial file is kept or not.
        case removed(keeping: Bool)

        var keepsFile: Bool { self != .removed(keeping: false) }
    }

    /// A transfer that was taken.
    package struct Entry: Hashable, Sendable {
        package var host: QueueMachine.Host
        /// The priority; higher values start first.
        package var priority: Int
        /// Whether it can be interrupted and resumed or repeated safely.
        package var mayBeCut: Bool
        package var phase = Phase.staged
        /// The stored state.
        package var wish = Wish.waits
        /// Whether the engine has reported that it started.
        package var hasStarted = false
        /// Whether the engine has started it, so that it cannot be withdrawn.
        package var hasBegun = false
        /// The order of staging.
        package var order: UInt64

        /// Whether it is running, or waits between attempts, and no stop was requested.
        package var isActive: Bool { self.hasStarted && self.phase != .leaving }

        var isWithdrawable: Bool { self.phase == .staged && !self.hasBegun }
    }

    /// The use of one host by taken transfers.
    struct HostUse: Sendable {
        var staged = 0
        /// The maximum number of staged transfers; `nil` for no separate limit.
        var cap: Int?
        /// Whether the engine starts only attempts to find out whether the host is reachable again.
        var isHeld = false
        /// The number of transfers started since the last check.
        var starts = 0

        var isLimited: Bool { self.cap != nil || self.isHeld }
        var isUnused: Bool { self.staged == 0 && !self.isLimited }
    }

    /// The taken transfers.
    package internal(set) var entries: [UInt64: Entry] = [:]
    /// The store's counts, as of its latest response.
    package internal(set) var counts = LaneCounts()
    /// The maximum number of running transfers that was configured.
    var configuredLimit: Int
    /// The maximum number of running transfers.
    package internal(set) var limit: Int
    /// The reasons why no transfer of this lane starts.
    package internal(set) var holds: Set<QueueMachine.Hold> = []
    /// The transfers that an engine has not started.
    package private(set) var stagedCount = 0
    /// The transfers that have started and have not left.
    package private(set) var activeCount = 0
    /// The transfers between two attempts.
    private(set) var retryingCount = 0
    /// The transfers whose end is not yet stored.
    private(set) var endedCount = 0
    /// The taken transfers that are waiting according to the store.
    private(set) var wantedCount = 0
    private var stagedPriorities: [Int: Int] = [:]
    var hosts: [QueueMachine.Host: HostUse] = [:]
    /// The hosts with a cap or a hold.
    var limitedHosts: Set<QueueMachine.Host> = []

    /// Whether a read of the store is in progress.
    var isClaiming = false
    /// The greatest priority that was added while a read of the store was in progress.
    var priorityAddedSince: Int?
    /// Whether the store may have further transfers to run.
    var mayFindMore = true
    /// Whether the order of the staged transfers may have changed.
    var isReordered = false
    var reorders = Pace(limit: 10, period: 1_000_000_000)
    /// The transfers to withdraw, cancel and stage.
    var withdrawals: Set<UInt64> = []
    var cancellations: [UInt64] = []
    var arrivals: [QueueMachine.Claimed] = []
    /// The staged transfers whose request has changed: started ones are cancelled and restarted.
    var restarts: Set<UInt64> = []
    /// Whether the last claim failed.
    var claimHasFailed = false
    /// The number of consecutive checks at which all slots were taken.
    var busyLooks = 0

    init(limit: Int) {
        self.configuredLimit = max(1, limit)
        self.limit = self.configuredLimit
    }

    /// The number of stored transfers that are waiting and not taken.
    package var unclaimed: Int { max(0, self.counts.waiting - self.wantedCount) }

    /// The number of transfers that may be taken in addition to running ones.
    var lookAhead: Int { min(max(8 * self.limit, 1024), 4096) }

    /// The maximum number of ends that may wait for the store before fewer transfers are taken.
    static let mostEnded = 4096
    /// The maximum number of transfers between attempts before fewer transfers are taken.
    static let mostRetrying = 10_000

    /// The transfers that occupy capacity, excluding those of held hosts and those between attempts.
    var occupied: Int {
        var blocked = 0
        for host in self.limitedHosts { blocked += self.hosts[host]?.staged ?? 0 }
        let idle = min(self.retryingCount, Self.mostRetrying) + min(self.endedCount, Self.mostEnded)
        return max(0, self.entries.count - blocked - idle)
    }

    /// Whether a transfer of this priority, at the end of the queue, would precede some that are staged or about to be.
    func precedes(_ priority: Int) -> Bool {
        self.stagedPriorities.contains { $0.key < priority && $0.value > 0 }
            || self.arrivals.contains { $0.priority < priority }
    }

    /// Whether transfers are staged, about to be staged, or being read from the store.
    var isTaking: Bool { self.stagedCount > 0 || self.isClaiming || !self.arrivals.isEmpty }

    /// Drops transfers that were found but not staged, because the store's response is outdated.
    mutating func dropArrivals(_ ids: [UInt64]) {
        guard !self.arrivals.isEmpty else { return }
        let (dropped, count) = (Set(ids), self.arrivals.count)
        self.arrivals.removeAll { dropped.contains($0.id) }
        // They had taken the places of others, if their host has only few.
        if self.arrivals.count < count { self.mayFindMore = true }
    }

    // MARK: Entries

    mutating func insert(_ claimed: QueueMachine.Claimed, order: UInt64) {
        self.entries[claimed.id] = Entry(
            host: claimed.host,
            priority: claimed.priority,
            mayBeCut: claimed.mayBeCut,
            order: order
        )
        self.wantedCount += 1
        self.count(.staged, claimed.host, claimed.priority, by: 1)
    }

    mutating func remove(_ id: UInt64) {
        guard let entry = self.entries.removeValue(forKey: id) else { return }
        self.count(entry.phase, entry.host, entry.priority, by: -1)
        if entry.hasStarted { self.activeCount -= 1 }
        if entry.wish == .waits { self.wantedCount -= 1 }
        self.withdrawals.remove(id)
        self.restarts.remove(id)
    }

    mutating func move(_ id: UInt64, to phase: Phase) {
        guard let index = self.entries.index(forKey: id) else { return }
        let entry = self.entries.values[index]
        guard entry.phase != phase else { return }
        self.entries.values[index].phase = phase
        self.count(entry.phase, entry.host, entry.priority, by: -1)
        self.count(phase, entry.host, entry.priority, by: 1)
    }

    mutating func setStarted(_ id: UInt64) {
        guard let index = self.entries.index(forKey: id), !self.entries.values[index].hasStarted else { return }
        self.entries.values[index].hasBegun = true
        self.entries.values[index].hasStarted = true
        self.activeCount += 1
    }

    mutating func setWish(_ wish: Wish, of id: UInt64) {
        guard let entry = self.entries[id] else { return }
        self.wantedCount += (wish == .waits ? 1 : 0) - (entry.wish == .waits ? 1 : 0)
        self.entries[id]?.wish = wish
    }

    private mutating func count(_ phase: Phase, _ host: QueueMachine.Host, _ priority: Int, by step: Int) {
        switch phase {
        case .staged:
            self.stagedCount += step
            let sum = (self.stagedPriorities[priority] ?? 0) + step
            self.stagedPriorities[priority] = sum == 0 ? nil : sum
            self.change(host) { $0.staged += step }
        case .retrying: self.retryingCount += step
        case .ended: self.endedCount += step
        case .running, .leaving: break
        }
    }

    mutating func change(_ host: QueueMachine.Host, _ change: (inout HostUse) -> Void) {
        var use = self.hosts[host] ?? HostUse()
        let wasLimited = use.isLimited
        change(&use)
        self.hosts[host] = use.isUnused ? nil : use
        guard use.isLimited != wasLimited else { return }
        if use.isLimited { self.limitedHosts.insert(host) } else { self.limitedHosts.remove(host) }
    }

    /// The number of further transfers of a host that may be staged; `nil` for no limit.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - replacing: Whether the staged transfers are chosen again.
    /// - Returns: The number.
    func allowance(_ host: QueueMachine.Host, replacing: Bool) -> Int? {
        guard let use = self.hosts[host] else { return nil }
        let cap = use.isHeld ? QueueMachine.probes : use.cap
        return cap.map { max(0, $0 - (replacing ? 0 : use.staged)) }
    }
}

extension QueueLane {
    /// The maximum number of staged transfers of a host; `nil` for no separate limit.
    package func limitOfHost(_ host: QueueMachine.Host) -> Int? {
        guard let use = self.hosts[host] else { return nil }
        return use.isHeld ? QueueMachine.probes : use.cap
    }
}
