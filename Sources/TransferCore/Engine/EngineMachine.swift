// SPDX-License-Identifier: Apache-2.0
/// Decides which transfers of a queue run, which connections they may open, and when failed ones are retried.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock; ids and times are arguments. An event
/// changes the state and returns the consequence for the transfer concerned. Consequences for others (transfers to start,
/// connections to grant, waits that end) are returned one step at a time by ``next(now:lane:)``, which the driver
/// calls after every event until there is none.
///
/// - Invariant: Every transition of a transfer is permitted by ``TransferState/allows(_:)``.
package struct EngineMachine: Sendable {
    /// A transfer in the queue.
    struct Entry: Sendable {
        var id: TransferID
        var state: TransferState = .waiting
        var budget: RetryBudget
        var ticket: UInt64 = 0
        var activeTime: Int64 = 0
        var received: Int64 = 0
        var sent: Int64 = 0
        var retryWait: Int64
        var totalTimeout: Int64
        /// In seconds; negative if longer delays are shortened.
        var maximumRetryAfter: Int32
        var host: Int32
        var attempts: Int32 = 0
        var fixedConnections: Int32
        /// Another host that an attempt could not reach, such as the target of a redirect; -1 for none.
        var foreign: Int32 = -1
        /// In nanoseconds; negative if an outage is a failure like any other.
        var outageTimeout: Int64
        var lane: Int16 = 0
        /// The number of reductions of ``affordable`` when its run started.
        var reductions: Int32 = 0
        /// The waits for a connection to another host.
        var claims: Int16 = 0
        var priority: Priority
        var isDurable: Bool
        /// Whether the run has ended and the file waits to be synced; the transfer counts as running until then.
        var isUnsynced = false
        var countsOutages: Bool
        var obeysRobots: Bool
        /// Whether its content is short, and its request may be repeated after a response that reports an outage.
        var mayProbe: Bool
        /// The other hosts from which it can be fetched.
        var mirrors: [MirrorHost]
        /// Whether its run has received no response.
        var isUnanswered = false
        /// Whether it waits for the end of a hold until its next attempt, instead of retrying after its own delay.
        var isHeld = false
        /// Whether it waits until another process has finished its file.
        var awaitsFile = false
        /// The number of consecutive delays that it waited because its server requested them, and the end of the time
        /// in which they use up no retries.
        var askedWaits: Int16 = 0
        var askedEnd: Int64 = 0
        /// The host or network that its run was started to probe.
        var probe = Probe.none
        var wish: Wish?
        /// The time since which its host is held and that is not counted in ``activeTime``; `Int64.max` for none.
        var heldSince = Int64.max
        /// The time until which the hold is known to last.
        var heldUntil = Int64.max
        /// Whether a timer runs for its time limit.
        var isLimitScheduled = false
    }

    /// The target of a probe.
    enum Probe: Sendable {
        case none
        case host
        case network
    }

    /// A command given to a running transfer, whose run may be ending already.
    enum Wish: Sendable {
        case pause
        case resume
        case cancel(keeping: Bool)
    }

    // MARK: State

    /// The maximum number of running transfers, not counting those that have lent their slots.
    package var limit: Int
    /// The maximum number of connections to a host, if it was set; otherwise it follows from ``limit``.
    package var connectionsPerHost: Int?
    /// Whether transfers that wait out outages wait without a limit if this machine is the cause: no network, no name
    /// server that responds, no descriptors.
    package var waitsForMachine = false
    /// Whether transfers wait without a limit for a file system that is full or read-only.
    package var waitsForFileSystems = false
    /// Whether all transfers of a host run on the same event loop.
    ///
    /// Idle connections belong to an event loop. Otherwise a server has, in addition to the permitted number of busy
    /// connections, idle ones that the other event loops keep.
    package var keepsHostsOnLanes = false
    /// The maximum numbers of connections to single hosts, by lower-case name.
    package var hostLimits: [String: Int] = [:]

    package internal(set) var totals = Totals()
    package internal(set) var waitingCount = 0
    package internal(set) var pausedCount = 0
    package internal(set) var retryingCount = 0
    /// Those of them that wait for the end of a hold, such as that of another host, or for descriptors.
    var heldRetries = 0
    /// The hosts whose holds were reported, and whose ends were not.
    var reportedHolds = 0
    /// The transfers that wait and have started before.
    package internal(set) var waitingAgainCount = 0
    /// The transfers that have mirrors.
    var mirroredCount = 0
    /// The running transfers, including those whose files wait to be synced.
    package internal(set) var runningCount = 0
    /// The transfers that have a run.
    package internal(set) var runCount = 0

    package internal(set) var isStarted = false
    package internal(set) var isClosed = false
    package internal(set) var isStopping = false

    var entries: [Entry] = []
    var slots = TransferMap<Int>()
    var freeSlots: [Int] = []
    var nextID: UInt64 = 0
    var nextTicket: UInt64 = 0
    var classes = Priority.allCases.map { _ in PriorityClass() }
    var hosts: HostTable
    /// The limits per domain and the intervals, which do not change.
    package let politeness: PolitenessLimits
    let isPolite: Bool
    /// The number of `robots.txt` being fetched, and the hosts that wait until fewer are.
    var ruleFetches = 0
    var hostsWithoutRules = FirstInFirstOut<Int>()
    /// The hosts to which running transfers wait for a connection.
    var claimedHosts: [Int] = []
    var yieldRequests: [YieldRequest] = []
    var names = NameRegistry()
    var due = DueQueue()
    /// The times for which a timer runs, the earliest last.
    var timers: [Int64] = []
    /// The elements of `due` whose transfer no longer waits for that time.
    var staleDue = 0
    var laneLoad: [Int]
    var isTicking = false
    /// The file systems that transfers wait for.
    var fileSystems: [FileSystemHold] = []
    /// The runs that ended in a row because of their file systems; the transfers that may start until one succeeds, and
    /// when there is another.
    var failuresOfFileSystems = 0
    var startsLeft = Int.max
    var pauseEnd = Int64.min
    /// The number of slots for which descriptors are available, as a shortage has shown.
    var affordable = AffordablePlaces()
    /// The time since which a transfer has found no descriptor although no other one runs.
    var shortageSince: Int64?
    /// The runs without a response whose hosts are silent.
    var unansweredOfSilent = 0
    var unsyncedCount = 0
    var isSyncing = false
    var terminations = 0
    var waits: [(number: WaiterID, condition: WaitCondition)] = []
    var network = NetworkHealth()
    /// The hosts out of rotation because the network is held.
    var parkedByNetwork: [Int] = []
    /// The time for which a wake-up is scheduled because the network is held.
    var networkWakeUp = Int64.min
    /// Waiting transfers whose outage timeout has expired.
    var expired: [(id: TransferID, hold: Hold)] = []
    /// The waiting transfers that have made an attempt and have a time limit.
    var timed: Set<Int> = []
    /// Whether the times for which their hosts are held have to be updated.
    var holdsHaveChanged = false
    /// The transfers that are out of time.
    var ranOut: [TransferID] = []
    /// Holds that started or ended and are not yet reported.
    var notices: [Step] = []
    var nextWaiter: UInt64 = 0

    /// Creates a machine that starts no transfers before ``start()``.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of running transfers.
    ///   - connectionsPerHost: The maximum number of connections to a host; by default derived from `limit`.
    ///   - lanes: The number of event loops.
    ///   - politeness: The limits per registered domain, and the intervals.
    ///   - suffixes: Determines the registered domains; read if a limit concerns them.
    package init(
        limit: Int,
        connectionsPerHost: Int? = nil,
        lanes: Int = 1,
        politeness: PolitenessLimits = PolitenessLimits(),
        suffixes: @autoclosure () -> PublicSuffixes = PublicSuffixes()
    ) {
        self.politeness = politeness
        self.isPolite = !politeness.isEmpty
        self.hosts = HostTable(suffixes: politeness.concernsDomains ? suffixes() : nil)
        self.limit = limit
        self.connectionsPerHost = connectionsPerHost
        self.laneLoad = Array(repeating: 0, count: lanes)
    }

    // MARK: The lifecycle of the queue

    /// Adds a transfer, which waits to be admitted.
    ///
    /// - Precondition: The machine is not closed.
    package mutating func add(_ terms: Terms) -> TransferID {
        precondition(!self.isClosed, "a transfer was added to a closed queue")
        self.nextID += 1
        let id = TransferID(self.nextID)
        let entry = Entry(
            id: id,
            budget: RetryBudget(retries: terms.retries),
            retryWait: terms.retryWait,
            totalTimeout: terms.totalTimeout,
            maximumRetryAfter: terms.maximumRetryAfter.map { Int32(min(max(0, $0), 366 * 86_400)) } ?? -1,
            host: Int32(self.hosts.retain(terms.origin, gate: terms.gate)),
            fixedConnections: Int32(clamping: max(0, terms.fixedConnections ?? 0)),
            outageTimeout: terms.outageTimeout.map { max(0, $0) } ?? -1,
            priority: terms.priority,
            isDurable: terms.isDurable,
            countsOutages: terms.countsOutages,
            obeysRobots: terms.obeysRobots,
            mayProbe: terms.mayProbe,
            mirrors: terms.mirrors
        )
        let slot: Int
        if let free = self.freeSlots.popLast() {
            slot = free
            self.entries[slot] = entry
        } else {
            slot = self.entries.count
            self.entries.append(entry)
        }
        self.slots[id] = slot
        self.waitingCount += 1
        if !terms.mirrors.isEmpty { self.mirroredCount += 1 }
        self.probeForNewcomer(Int(entry.host))
        self.enterLine(slot, atFront: false)
        if terms.waitsSince < .max { self.collectExpired(slot, waitsSince: terms.waitsSince) }
        return id
    }

    /// Allows transfers to start.
    package mutating func start() { self.isStarted = true }

    /// No more transfers will be added.
    package mutating func close() { self.isClosed = true }

    /// Starts no more transfers; the driver interrupts the running ones.
    package mutating func stop() { self.isStopping = true }

    /// Whether every transfer has ended.
    package var isIdle: Bool { self.slots.isEmpty }

    /// Whether the queue is closed and has nothing left to do.
    var isDrained: Bool { self.isClosed && self.isIdle && self.terminations == 0 }

    /// Whether the engine was stopped and nothing is running any more.
    var hasStopped: Bool { self.isStopping && self.runningCount == 0 }

    /// The state of a transfer; `nil` once it has ended.
    package func state(of id: TransferID) -> TransferState? { self.slots[id].map { self.entries[$0].state } }

    /// The counts of a transfer's earlier runs.
    package func earlierRuns(of id: TransferID) -> (activeTime: Int64, received: Int64, sent: Int64) {
        guard let slot = self.slots[id] else { return (0, 0, 0) }
        return (self.entries[slot].activeTime, self.entries[slot].received, self.entries[slot].sent)
    }

    package func health(of origin: Origin) -> HostHealth {
        self.hosts.index(of: origin).map { self.hosts[$0].health } ?? HostHealth()
    }

    /// The connections to a host.
    package func connections(to origin: Origin) -> Int {
        self.hosts.index(of: origin).map { self.hosts[$0].connections } ?? 0
    }

    /// The number of stored elements, to verify that they are bounded.
    package var storage: (transfers: Int, hosts: Int, places: Int, due: Int, timers: Int) {
        let places = self.classes.reduce(0) { $0 + $1.total }
        return (self.entries.count, self.hosts.count, places, self.due.count, self.timers.count)
    }

    // MARK: Transitions

    /// Moves a transfer to another non-final state.
    ///
    /// - Precondition: `TransferState.allows` permits it.
    mutating func move(_ slot: Int, to next: TransferState) {
        self.endHold(slot)
        self.count(self.leave(slot, to: next), by: -1)
        self.count(next, by: 1)
        self.entries[slot].state = next
    }

    /// Ends a transfer and forgets it.
    mutating func end(_ slot: Int, _ end: TransferState) {
        self.endHold(slot)
        self.count(self.leave(slot, to: end), by: -1)
        self.slots[self.entries[slot].id] = nil
        if !self.entries[slot].mirrors.isEmpty { self.mirroredCount -= 1 }
        self.forgetHolds(slot)
        self.hosts.release(Int(self.entries[slot].host))
        // An unused entry of a queue must not apply to the next transfer in this slot.
        self.entries[slot].ticket = 0
        self.freeSlots.append(slot)
        if self.slots.isEmpty, self.entries.count > Self.keptSlots { self.shrink() }
    }

    private static let keptSlots = 4096

    /// Frees the memory of a long queue once it is empty.
    private mutating func shrink() {
        self.entries = []
        self.freeSlots = []
        self.slots = TransferMap()
        for index in self.classes.indices { self.classes[index].removeAll() }
    }

    private func leave(_ slot: Int, to next: TransferState) -> TransferState {
        let state = self.entries[slot].state
        precondition(state.allows(next), "transfer \(self.entries[slot].id) cannot go from \(state) to \(next)")
        return state
    }

    private mutating func count(_ state: TransferState, by step: Int) {
        switch state {
        case .waiting: self.waitingCount += step
        case .running: self.runningCount += step
        case .paused: self.pausedCount += step
        case .retrying: self.retryingCount += step
        case .finished, .failed, .cancelled: break
        }
    }

    /// Adds a waiting transfer to its host's queue.
    mutating func enterLine(_ slot: Int, atFront: Bool) {
        let host = Int(self.entries[slot].host)
        self.nextTicket += 1
        self.entries[slot].ticket = self.nextTicket
        self.hosts[host].waiting += 1
        if self.entries[slot].attempts > 0 {
            self.hosts[host].waitingAgain += 1
            self.waitingAgainCount += 1
        }
        self.watchHeldTime(slot)
        let index = Int(self.entries[slot].priority.rawValue)
        self.classes[index]
            .append(PriorityClass.Place(slot: slot, ticket: self.nextTicket), host: host, atFront: atFront)
        // At its turn, a transfer with mirrors leaves a held host. One that may probe ends a wait in which none could.
        let mayProbe = self.entries[slot].mayProbe && self.hosts[host].health.outage?.cause == .errors
        if mayProbe || !self.entries[slot].mirrors.isEmpty { self.classes[index].unpark(host) }
    }

    /// Removes a waiting transfer from its host's queue.
    mutating func leaveLine(_ slot: Int) {
        let index = Int(self.entries[slot].priority.rawValue)
        self.entries[slot].ticket = 0
        self.leaveHost(slot)
        self.classes[index].count -= 1
        self.classes[index].compact { [entries = self.entries] in entries[$0.slot].ticket == $0.ticket }
    }

    /// A transfer no longer waits for its host.
    mutating func leaveHost(_ slot: Int) {
        let host = Int(self.entries[slot].host)
        self.hosts[host].waiting -= 1
        guard self.entries[slot].attempts > 0 else { return }
        self.hosts[host].waitingAgain -= 1
        self.waitingAgainCount -= 1
        if self.entries[slot].totalTimeout > 0 { self.timed.remove(slot) }
    }
}

/// The number of a wait, for a connection or for a condition of the queue.
package struct WaiterID: Hashable, Sendable {
    package let rawValue: UInt64
}

/// A condition of the queue that a caller waits for.
package enum WaitCondition: Hashable, Sendable {
    /// The engine was stopped, and nothing runs.
    case stopped
    /// The queue is closed and empty, or was stopped.
    case drained
    /// At most this many transfers are waiting.
    case waiting(atMost: Int)
    /// At most this many transfers are waiting, or a slot is free that none of them may use.
    case starving(atMost: Int, limit: Int)
}
