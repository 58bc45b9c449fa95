// SPDX-License-Identifier: Apache-2.0
/// Decides which transfers of a durable queue are taken from its store and passed to engines, and which are returned.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock; ids and times are arguments. The store is
/// authoritative for waiting, paused and ended transfers, and its responses are reported in the order of its
/// transactions. The machine knows only taken transfers. An event changes the state; ``next(now:)`` returns the effects
/// one at a time until there are none.
///
/// - Invariant: A taken transfer is not taken again before it has left its engine and its end, if any, is stored.
package struct QueueMachine: Sendable {
    /// A transfer's number.
    package typealias ID = UInt64
    /// A host's number: transfers of one host share limits and holds.
    package typealias Host = Int64
    /// A session's identifier, or `nil` for the shared queue.
    package typealias LaneID = String?

    /// The reason why no transfer starts.
    package enum Hold: Hashable, Sendable, CaseIterable {
        /// The daemon is stopping.
        case stopping
        /// The disk of the store is full.
        case databaseFull
        /// The schedule allows no transfers now.
        case schedule
        /// The conditions of power or network are not met.
        case conditions
        /// The whole queue is paused.
        case paused

        /// Whether running transfers are interrupted as well.
        var cutsRunning: Bool { self == .schedule || self == .conditions }
    }

    /// A transfer that the store returned.
    package struct Claimed: Hashable, Sendable {
        /// Its number.
        package var id: ID
        package var host: Host
        /// The priority; higher values start first.
        package var priority: Int
        /// Whether it can be interrupted and resumed or repeated safely.
        package var mayBeCut: Bool

        /// Creates one.
        package init(id: ID, host: Host, priority: Int = 0, mayBeCut: Bool = true) {
            self.id = id
            self.host = host
            self.priority = priority
            self.mayBeCut = mayBeCut
        }
    }

    /// A read of the next transfers in the store: highest priority first, then the queue's order.
    package struct Claim: Hashable, Sendable {
        /// The maximum number.
        package var limit: Int
        /// The transfers to omit.
        package var excluded: Set<ID>
        /// The maximum numbers for single hosts.
        package var caps: [Host: Int]
        /// Whether the staged transfers are chosen again.
        package var replacesStaged: Bool
    }

    /// An effect for the driver.
    package enum Action: Hashable, Sendable {
        /// Reads the store; ``claimed(_:_:_:)`` or ``claimFailed(_:)`` follows.
        case claim(LaneID, Claim)
        /// Withdraws transfers from their engines unless they have started; ``withdrew(_:_:gone:)`` follows at once.
        case withdraw(LaneID, [ID])
        /// Cancels a transfer in its engine; ``cancelled(_:_:)`` or ``ended(_:_:)`` follows.
        case cancel(LaneID, ID, keeping: Bool)
        /// Passes transfers to an engine, in this order.
        case stage(LaneID, [ID])
        /// Sets the maximum number of running transfers of a lane's engines.
        case limit(LaneID, Int)
        /// Stores the recorded ends and events; ``stored()`` or ``storingFailed(isFull:now:)`` follows.
        case store
        /// Forgets the oldest ended transfers of the shared queue; ``trimmed(_:now:)`` follows.
        case trim(keeping: Int)
        /// Calls ``next(now:)`` again at this time.
        case wake(at: Int64)
    }

    /// The sessions and the shared queue, if any of their transfers were taken or are waiting.
    var lanes = LaneTable()
    /// The reasons why no transfer starts in any lane.
    package internal(set) var holds: Set<Hold> = []
    /// The counts of lanes outside memory.
    var otherCounts: [LaneID: LaneCounts] = [:]
    /// The maximum number of running transfers over all lanes.
    package internal(set) var mostAtOnce = Int.max

    /// The maximum number of ended transfers of the shared queue that are kept.
    package private(set) var historyLimit = 1000
    /// Whether failed transfers are forgotten as well.
    var forgetsFailed = false
    var isTrimming = false
    var nextTrim = Int64.min
    /// The time before which nothing is forgotten because there was nothing to forget.
    var trimTime = Int64.min

    /// Whether a recorded end or event is not yet stored.
    var hasRecords = false
    var isStoring = false
    var storeTime = Int64.min

    var nextOrder: UInt64 = 0
    /// The lanes that may have an effect to perform.
    var dirty: Set<LaneID> = []
    /// The time of the requested wake-up.
    var wakeTime: Int64?

    /// Creates a machine without lanes.
    package init() {}

    // MARK: Effects

    /// Takes the next effect, which the driver must perform.
    package mutating func next(now: Int64) -> Action? {
        if let wakeTime = self.wakeTime, wakeTime <= now { self.wakeTime = nil }
        if let store = self.nextStore(now) { return store }
        while let id = self.dirty.first {
            if let action = self.next(of: id, now) { return action }
            self.dirty.remove(id)
        }
        if let trim = self.nextTrim(now) { return trim }
        return self.nextWake(now)
    }

    private mutating func next(of id: LaneID, _ now: Int64) -> Action? {
        let share = max(1, self.mostAtOnce / max(1, self.lanes.count))
        guard var lane = self.lanes.take(id) else { return nil }
        defer { self.lanes.put(lane, id) }
        let limit = min(lane.configuredLimit, share)
        if lane.limit != limit {
            lane.limit = limit
            lane.mayFindMore = true
            return .limit(id, limit)
        }
        if !lane.withdrawals.isEmpty {
            let ids = lane.withdrawals.sorted { lane.entries[$0]?.order ?? 0 > lane.entries[$1]?.order ?? 0 }
            lane.withdrawals = []
            return .withdraw(id, ids)
        }
        while let transfer = lane.cancellations.popLast() {
            guard let entry = lane.entries[transfer], entry.phase == .leaving else { continue }
            return .cancel(id, transfer, keeping: entry.wish.keepsFile)
        }
        if !lane.arrivals.isEmpty { return .stage(id, self.stage(&lane)) }
        return self.nextClaim(&lane, now).map { .claim(id, $0) }
    }

    private mutating func nextWake(_ now: Int64) -> Action? {
        var time: Int64?
        func at(_ candidate: Int64) { if candidate > now { time = min(time ?? candidate, candidate) } }
        if self.hasRecords, !self.isStoring { at(self.storeTime) }
        for lane in self.lanes.all {
            if lane.isReordered, !lane.isClaiming, !self.isHeld(lane) { at(lane.reorders.time(after: now)) }
        }
        guard let time, self.wakeTime.map({ time < $0 }) ?? true else { return nil }
        self.wakeTime = time
        return .wake(at: time)
    }

    /// A requested wake-up is due.
    package mutating func woke() {
        self.wakeTime = nil
        self.dirty.formUnion(self.lanes.ids)
    }

    // MARK: Storing ends

    /// An end, or an event of a session, is to be stored.
    package mutating func recorded() { self.hasRecords = true }

    private mutating func nextStore(_ now: Int64) -> Action? {
        guard self.hasRecords, !self.isStoring, now >= self.storeTime else { return nil }
        self.hasRecords = false
        self.isStoring = true
        return .store
    }

    /// The recorded ends and events were stored.
    package mutating func stored() {
        self.isStoring = false
        self.storeTime = .min
        self.release(.databaseFull)
    }

    /// The recorded ends and events could not be stored; the attempt is repeated after a pause in nanoseconds.
    package mutating func storingFailed(isFull: Bool, now: Int64, pause: Int64) {
        self.isStoring = false
        self.hasRecords = true
        self.storeTime = now + pause
        if isFull { self.hold(.databaseFull) }
    }

    // MARK: History

    /// The time between two checks for transfers that ended too long ago, in nanoseconds.
    static let trimInterval: Int64 = 600_000_000_000

    /// Sets the maximum number of ended transfers of the shared queue that are kept.
    package mutating func setHistory(limit: Int, forgetsFailed: Bool) {
        self.historyLimit = max(0, limit)
        self.forgetsFailed = forgetsFailed
    }

    private var trimmable: Int {
        let counts = self.counts(of: nil)
        return counts.finished + counts.removed + (self.forgetsFailed ? counts.failed : 0)
    }

    private mutating func nextTrim(_ now: Int64) -> Action? {
        let ended = self.trimmable
        guard !self.isTrimming, ended > 0, !self.holds.contains(.databaseFull), !self.holds.contains(.stopping),
            ended > self.historyLimit && now >= self.trimTime || now >= self.nextTrim
        else { return nil }
        self.isTrimming = true
        self.nextTrim = now + Self.trimInterval
        return .trim(keeping: self.historyLimit)
    }

    /// The oldest ended transfers were forgotten.
    ///
    /// - Parameters:
    ///   - count: Their number; ``trimmedAtOnce`` means that there may be more.
    ///   - now: The time.
    package mutating func trimmed(_ count: Int, now: Int64) {
        self.isTrimming = false
        if count >= Self.trimmedAtOnce { self.nextTrim = now }
        // If nothing could be forgotten now, the next attempt is delayed.
        self.trimTime = count == 0 && self.trimmable > self.historyLimit ? now + 1_000_000_000 : now
    }

    /// The maximum number forgotten in one transaction, so that other changes can run in between.
    package static let trimmedAtOnce = 1000

    // MARK: Counts

    /// The store's counts of a lane, as of its latest response.
    package func counts(of lane: LaneID) -> LaneCounts {
        if let place = self.lanes.place(of: lane) { return self.lanes[place].counts }
        return self.otherCounts[lane] ?? LaneCounts()
    }

    /// The store's counts over all lanes.
    package var totals: LaneCounts {
        var sum = LaneCounts()
        for lane in self.lanes.all { sum += lane.counts }
        for counts in self.otherCounts.values { sum += counts }
        return sum
    }

    /// The number of running transfers over all lanes.
    package var activeCount: Int { self.lanes.all.reduce(0) { $0 + $1.activeCount } }

    /// The store has counted the transfers of a lane.
    package mutating func counted(_ id: LaneID, _ counts: LaneCounts) {
        guard let place = self.lanes.place(of: id) else {
            self.otherCounts[id] = counts == LaneCounts() ? nil : counts
            return
        }
        let known = self.lanes[place].counts
        guard known != counts else { return }
        self.lanes[place].counts = counts
        if counts.waiting > known.waiting { self.lanes[place].mayFindMore = true }
        self.dirty.insert(id)
    }

    // MARK: Lanes

    /// Sets the maximum number of running transfers over all lanes, which is divided equally among them.
    package mutating func setMostAtOnce(_ count: Int) {
        self.mostAtOnce = max(1, count)
        self.dirty.formUnion(self.lanes.ids)
    }

    /// Creates a lane and checks it for waiting transfers.
    package mutating func open(_ id: LaneID, limit: Int) {
        guard self.lanes.place(of: id) == nil else { return self.setLimit(limit, of: id) }
        var lane = QueueLane(limit: limit)
        lane.counts = self.otherCounts.removeValue(forKey: id) ?? LaneCounts()
        self.lanes.insert(lane, id)
        self.dirty.insert(id)
        // The shares of the others have changed.
        if self.mostAtOnce < Int.max { self.dirty.formUnion(self.lanes.ids) }
    }

    /// Whether a lane has no transfers in an engine and none to start.
    package func isIdle(_ id: LaneID) -> Bool {
        guard let lane = self.lanes[id] else { return true }
        return lane.entries.isEmpty && lane.counts.waiting == 0 && !lane.isClaiming && lane.holds.isEmpty
    }

    /// Forgets a lane with its taken transfers; its counts are kept.
    package mutating func close(_ id: LaneID) {
        guard let lane = self.lanes.remove(id) else { return }
        if lane.counts != LaneCounts() { self.otherCounts[id] = lane.counts }
        self.dirty.remove(id)
    }

    /// Forgets the counts of a session that is removed.
    package mutating func forget(_ id: LaneID) {
        self.close(id)
        self.otherCounts[id] = nil
    }

    /// Changes the maximum number of running transfers of a lane.
    package mutating func setLimit(_ limit: Int, of id: LaneID) {
        self.lanes.change(id) { $0.configuredLimit = max(1, limit) }
        self.dirty.insert(id)
    }

    /// The current state of a lane.
    package subscript(lane id: LaneID) -> QueueLane? { self.lanes[id] }

    /// A taken transfer.
    package func entry(_ id: ID, in lane: LaneID) -> QueueLane.Entry? {
        self.lanes.place(of: lane).flatMap { self.lanes[$0].entries[id] }
    }
}
