// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// What a queue must do, in plain arrays: the model against which ``EngineMachine`` is tested.
///
/// It does not predict the order of steps but says which are permitted, and which must not be missing.
struct NaiveQueue {
    struct Item {
        var id: UInt64
        var host: String
        var priority: Priority
        var fixed: Int
        var retries: Int
        var isDurable: Bool
        /// How long it waits out an outage.
        var patience: Int64?
        var countsOutages = false
        /// The time for its attempts, the time between them, and the waits for its held host; 0 for no limit.
        var total: Int64 = 0
        /// How much of it has passed.
        var active: Int64 = 0
        /// The target that its run probes: a host or "" for the network.
        var probe: String?
        /// Whether it must be reported as failed because of an outage.
        var isExpired = false
        var state = TransferState.waiting
        /// The host of each of its connections.
        var connections: [String] = []
        /// The place in line: a lower number starts earlier among those of its host and priority.
        var place = 0
        var attempts = 0
        var reductions: Int32 = 0
        var failures = 0
        /// The delays in a row that it waited because its server asked for them, and until when they cost no retries.
        var askedWaits = 0
        var askedEnd: Int64 = 0
        var kept: Int64 = 0
        var hasRun = false
        /// Whether its run has received no response.
        var isUnanswered = false
        var isSyncing = false
        var isPausing = false
        var isResumed = false
        /// Whether the partial file is kept, if it is to be cancelled.
        var cancelKeeping: Bool?
        var claims: [(host: String, number: WaiterID)] = []

        /// Whether it waits for a connection to a host, and has none there.
        func isUrgent(_ host: String) -> Bool {
            self.claims.contains { $0.host == host } && !self.connections.contains(host)
        }
    }

    struct Ask {
        var id: UInt64
        var host: String
        var expiry: Int64
    }

    /// A time in which a host, or the network, cannot be reached.
    struct Outage {
        var since: Int64
        var next: Int64
        var failures = 1
        var isBroken = false
        var concernsNetwork = false
        var prober: UInt64?
        var probed: UInt64 = 0
        var served: UInt64

        static func delay(_ failures: Int, isBroken: Bool = false) -> Int64 {
            min(isBroken ? 10 : 60, 1 << min(failures - 1, 6)) * 1_000_000_000
        }
    }

    var now: Int64 = 0
    var limit: Int
    var perHost: Int?
    var hostLimits: [String: Int] = [:]
    var items: [Item] = []
    var ends: [UInt64: Int] = [:]
    var outages: [String: Outage] = [:]
    var broken: [String: Set<UInt64>] = [:]
    /// Until when each transfer was asked to stay away.
    var throttles: [String: [UInt64: Int64]] = [:]
    var network: Outage?
    var networkSuspects: [String] = []
    var firstNetworkFailure: Int64 = 0
    /// The number of transfers added.
    var added: UInt64 = 0
    /// The time of the last failed probe of each host.
    var lastFailures: [String: Int64] = [:]
    var learned: [String: (count: Int, until: Int64)] = [:]
    /// The hosts with runs that wait for a response, and since when none has come.
    var quiet: [String: Int64] = [:]
    var silentHosts: Set<String> = []
    /// The places for which there were descriptors, and since when one alone found none.
    var affordable = AffordablePlaces()
    var shortageSince: Int64?
    var asks: [Ask] = []
    var passedOver = Array(repeating: 0, count: 4)
    var isStarted = true
    var isStopping = false
    var lastPlace = 0
    var firstPlace = 0

    init(limit: Int, perHost: Int?) {
        self.limit = limit
        self.perHost = perHost
    }

    /// Time passes, without an event.
    mutating func pass(to time: Int64) {
        for index in self.items.indices where self.isTimed(self.items[index]) {
            guard case .held(let until) = self.permission(self.items[index].host) else { continue }
            self.items[index].active += max(0, min(time, until ?? .max) - self.now)
        }
        self.now = time
    }

    /// Whether the time of a transfer passes while its host is held.
    func isTimed(_ item: Item) -> Bool { item.total > 0 && item.attempts > 0 && item.state == .waiting }

    /// Whether a waiting transfer fails because its time has run out.
    func hasRunOut(_ item: Item) -> Bool {
        self.isTimed(item) && item.active >= item.total
    }

    func index(_ id: UInt64) -> Int? { self.items.firstIndex { $0.id == id } }

    // MARK: Rules

    var freePlaces: Int {
        guard self.isStarted, !self.isStopping, self.items.count(where: { $0.isSyncing }) < 512 else { return 0 }
        return max(0, min(self.limit, self.affordable.count) - self.items.count { $0.hasRun } + self.lent)
    }

    /// The places that runs lend because their hosts are silent.
    var lent: Int {
        guard self.affordable.count == .max, self.limit > 1 else { return 0 }
        let count = self.items.count { $0.isUnanswered && self.silentHosts.contains($0.host) }
        return min(count, max(self.limit, EngineMachine.lentAtLeast))
    }

    /// The places that a transfer of a host may take.
    func places(_ host: String) -> Int {
        guard self.silentHosts.contains(host), self.freePlaces > 0 else { return self.freePlaces }
        return max(0, min(self.limit, self.affordable.count) - self.items.count { $0.hasRun })
    }

    /// Time for the periodic work has come.
    mutating func ticked() {
        guard self.freePlaces == 0, self.items.contains(where: { $0.state == .waiting }) else { return }
        for (host, since) in self.quiet where self.now - since >= EngineMachine.silence {
            self.silentHosts.insert(host)
        }
    }

    /// A run received its first response.
    mutating func responds(_ id: UInt64) {
        guard let index = self.index(id), self.items[index].isUnanswered else { return }
        self.endAwaiting(index, hasResponse: true)
    }

    /// A run received a response, or has ended.
    mutating func endAwaiting(_ index: Int, hasResponse: Bool) {
        let host = self.items[index].host
        self.items[index].isUnanswered = false
        if hasResponse {
            self.quiet[host] = self.now
            self.silentHosts.remove(host)
        }
        guard !self.items.contains(where: { $0.host == host && $0.isUnanswered }) else { return }
        self.quiet[host] = nil
        self.silentHosts.remove(host)
    }

    func connections(_ host: String) -> Int {
        self.items.reduce(0) { $0 + $1.connections.count { $0 == host } }
    }

    /// Whether two transfers were asked to stay away from a host.
    func isThrottled(_ host: String) -> Bool { self.throttleEnd(host) > self.now }

    func throttleEnd(_ host: String) -> Int64 {
        let ends = (self.throttles[host] ?? [:]).values.sorted(by: >)
        return ends.count > 1 ? ends[1] : .min
    }

    func isHeld(_ host: String) -> Bool { self.permission(host) != .free }

    func permission(_ host: String) -> HostHealth.Permission {
        if self.isThrottled(host) { return .held(until: self.throttleEnd(host)) }
        guard let outage = self.network ?? self.outages[host] else { return .free }
        if outage.prober != nil { return .held(until: nil) }
        return outage.next > self.now ? .held(until: outage.next) : .probe
    }

    /// Whether a transfer's host lets it start.
    func isAdmitted(_ host: String) -> Bool { [.free, .probe].contains(self.permission(host)) }

    /// The limit that was set for a host.
    func setLimit(_ host: String) -> Int? { (self.hostLimits[host] ?? self.perHost).map { max(1, $0) } }

    /// Whether one more connection of a transfer keeps within the limit.
    func isWithinLimit(_ item: Item, _ host: String) -> Bool {
        if let limit = self.setLimit(host) { return self.connections(host) < limit }
        let own = item.connections.count { $0 == host }
        if own < item.fixed { return true }
        var shared = 0
        for item in self.items { shared += max(0, item.connections.count { $0 == host } - item.fixed) }
        return shared < max(4, self.limit)
    }

    /// Whether a transfer without a connection waits for a host.
    func isAwaited(_ host: String) -> Bool {
        if self.items.contains(where: { $0.isUrgent(host) }) { return true }
        return self.places(host) > 0 && self.items.contains { $0.state == .waiting && $0.host == host }
    }

    func mayAcquire(_ item: Item, _ host: String) -> Bool {
        if self.isHeld(host) || self.isAwaited(host) { return false }
        if let learned = self.learned[host], learned.until > self.now, self.connections(host) >= learned.count {
            return false
        }
        return self.isWithinLimit(item, host)
    }

    func mayStart(_ item: Item) -> Bool {
        item.state == .waiting && self.places(item.host) > 0 && self.isAdmitted(item.host) && !item.isExpired
            && self.isWithinLimit(item, item.host)
    }

    /// The first in line among those of the same host and priority.
    func isFirst(_ item: Item) -> Bool {
        !self.items.contains { other in
            other.state == .waiting && other.host == item.host && other.priority == item.priority
                && other.place < item.place
        }
    }

    // MARK: Changes

    mutating func enterLine(_ index: Int, atFront: Bool) {
        self.items[index].state = .waiting
        if atFront {
            self.firstPlace -= 1
            self.items[index].place = self.firstPlace
        } else {
            self.lastPlace += 1
            self.items[index].place = self.lastPlace
        }
    }

    /// A transfer starts; returns what was wrong about it.
    mutating func start(_ id: UInt64) -> String? {
        guard let index = self.index(id) else { return "\(id) started, which is unknown" }
        let item = self.items[index]
        guard self.mayStart(item) else { return "\(id) started without permission" }
        // Connections of a host that breaks them are tried by a transfer from anywhere in line.
        let isAnywhere = self.permission(item.host) == .probe && self.network == nil && self.isBroken(item.host)
        guard isAnywhere || self.isFirst(item) else { return "\(id) started before an earlier one" }
        // A more urgent class goes first, unless this one was passed over too often.
        let own = Int(item.priority.rawValue)
        let eligible = self.items.filter { self.mayStart($0) && (self.isFirst($0) || $0.id == id) }
        let starved = eligible.filter { self.passedOver[Int($0.priority.rawValue)] >= EngineMachine.ageingPeriod }
        if starved.isEmpty {
            if eligible.contains(where: { $0.priority > item.priority }) { return "\(id) started before an urgent one" }
        } else if self.passedOver[own] < (starved.map { self.passedOver[Int($0.priority.rawValue)] }.max() ?? 0) {
            return "\(id) started before a starved one"
        }
        self.passedOver[own] = 0
        self.items[index].state = .running
        self.items[index].hasRun = true
        self.items[index].isUnanswered = true
        self.quiet[item.host] = self.quiet[item.host] ?? self.now
        self.items[index].attempts += 1
        self.items[index].reductions = self.affordable.reductions
        self.items[index].connections = [item.host]
        if self.permission(item.host) == .probe {
            if self.network != nil {
                self.network?.prober = id
                self.network?.probed = self.added
            } else {
                self.outages[item.host]?.prober = id
                self.outages[item.host]?.probed = self.added
            }
            self.items[index].probe = self.network == nil ? item.host : ""
        }
        for lower in 0..<own where self.items.contains(where: { $0.state == .waiting && $0.priority.rawValue == lower })
        {
            self.passedOver[lower] += 1
        }
        return nil
    }

    private func isBroken(_ host: String) -> Bool { self.outages[host]?.isBroken ?? false }

    mutating func remove(_ index: Int) {
        self.ends[self.items[index].id, default: 0] += 1
        self.throttles[self.items[index].host]?[self.items[index].id] = nil
        self.items.remove(at: index)
    }

    /// A run has ended or a file could not be synced, and another attempt may follow.
    mutating func retry(_ index: Int, _ failure: EngineMachine.Failure) -> EngineMachine.Verdict {
        let item = self.items[index]
        let patience = item.countsOutages ? 0 : item.patience ?? 0
        if failure.retryAfter == nil || patience == 0 {
            self.items[index].askedWaits = 0
        } else if item.askedWaits == 0 {
            self.items[index].askedEnd = self.now + patience
        }
        let isAsked =
            failure.retryAfter != nil && patience > 0 && item.askedWaits < RetryBudget.longestWaits
            && self.now <= self.items[index].askedEnd
        guard isAsked || item.failures < item.retries else {
            self.remove(index)
            return .refused(.noneLeft(attempts: item.attempts))
        }
        // 2, 4, 8 … 60 s from the fourth in a row.
        let least = isAsked && item.askedWaits > 2 ? Int64(min(60, 1 << (item.askedWaits - 2))) * 1_000_000_000 : 0
        if isAsked {
            self.items[index].askedWaits += 1
            self.items[index].askedEnd += max((failure.retryAfter ?? 0) * 1_000_000_000, least)
        } else {
            self.items[index].failures += 1
        }
        let ceiling = min(500_000_000 << item.failures, 30_000_000_000)
        var delay = 50_000_000 + Int64(Double(ceiling - 50_000_000) * failure.jitter)
        if let retryAfter = failure.retryAfter { delay = max(retryAfter * 1_000_000_000, least) }
        return self.retry(index, failure, after: delay)
    }

    private mutating func retry(_ index: Int, _ failure: EngineMachine.Failure, after delay: Int64)
        -> EngineMachine.Verdict
    {
        let item = self.items[index]
        self.items[index].active += delay
        if item.total > 0, self.items[index].active >= item.total {
            self.remove(index)
            return .refused(.outOfTime)
        }
        if failure.isThrottled {
            self.throttles[item.host, default: [:]] = (self.throttles[item.host] ?? [:]).filter { $0.value > self.now }
            self.throttles[item.host]?[item.id] = self.now + delay
        }
        self.items[index].state = .retrying(at: self.now + delay)
        return .retrying(attempt: item.attempts, delay: delay)
    }

    // MARK: Outages

    /// A host responded.
    mutating func responded(_ host: String) {
        self.broken[host] = nil
        self.outages[host] = nil
        self.networkResponded()
    }

    private mutating func networkResponded() {
        self.networkSuspects = []
        guard self.network != nil else { return }
        self.network = nil
        for (host, outage) in self.outages
        where outage.concernsNetwork && outage.prober == nil && outage.next > self.now {
            self.outages[host]?.next = self.now
        }
    }

    /// A run that probes made a connection, or received a response.
    mutating func reached(_ id: UInt64, hasResponse: Bool) {
        guard let index = self.index(id), let probe = self.items[index].probe else { return }
        let host = self.items[index].host
        if hasResponse {
            self.responded(host)
        } else {
            if self.outages[host]?.isBroken == false { self.outages[host] = nil }
            self.networkResponded()
        }
        if probe.isEmpty || self.outages[host] == nil { self.items[index].probe = nil }
    }

    /// A transfer was added; an outage that nothing else waits for is not left alone for long.
    mutating func wasAdded(_ index: Int) {
        self.added = self.items[index].id
        let host = self.items[index].host
        guard var outage = self.outages[host], outage.prober == nil,
            !self.items.dropLast().contains(where: { $0.state == .waiting && $0.host == host })
        else { return }
        outage.next = min(outage.next, (self.lastFailures[host] ?? 0) + 1_000_000_000)
        self.outages[host] = outage
    }

    /// Judges a host by the end of a run.
    ///
    /// - Returns: Since when the transfer waits and until when, if it failed in an outage that it waits out.
    mutating func judge(_ index: Int, _ result: EngineMachine.RunResult, hasResponse: Bool) -> Outage? {
        let item = self.items[index]
        self.items[index].probe = nil
        if hasResponse { self.responded(item.host) }
        guard case .retry(let failure) = result, let cause = failure.evidence?.cause, !(hasResponse && cause == .broken)
        else {
            if self.network?.prober == item.id { self.network?.prober = nil }
            if self.outages[item.host]?.prober == item.id { self.outages[item.host]?.prober = nil }
            return nil
        }
        guard item.patience != nil || item.probe != nil else { return nil }
        self.judgeNetwork(item, cause)
        self.lastFailures[item.host] = self.lastFailures[item.host] ?? self.now
        if self.outages[item.host] == nil {
            if cause == .broken {
                self.broken[item.host, default: []].insert(item.id)
                if (self.broken[item.host] ?? []).count < 2 { return nil }
            }
            self.broken[item.host] = nil
            var outage = Outage(since: self.now, next: self.now + Outage.delay(1), served: item.id)
            if let patience = item.patience, patience > 0 { outage.next = min(outage.next, self.now + patience) }
            self.outages[item.host] = outage
            self.lastFailures[item.host] = self.now
        } else if self.outages[item.host]?.prober == item.id {
            self.outages[item.host]?.fail(item, isBroken: cause == .broken, self.now)
            self.lastFailures[item.host] = self.now
        } else {
            if cause != .broken { self.outages[item.host]?.isBroken = false }
            return self.expireAndReturn(item)
        }
        self.outages[item.host]?.isBroken = cause == .broken
        self.outages[item.host]?.concernsNetwork = cause.concernsNetwork
        return self.expireAndReturn(item)
    }

    private mutating func judgeNetwork(_ item: Item, _ cause: OutageCause) {
        if cause == .refused || cause == .broken { return self.networkResponded() }
        if self.network != nil {
            if self.network?.prober == item.id {
                self.network?.fail(item, isBroken: false, self.now)
                for index in self.items.indices where self.items[index].state == .waiting {
                    let since = min(self.network?.since ?? 0, self.outages[self.items[index].host]?.since ?? .max)
                    self.expire(index, since: since, served: self.network?.served ?? 0)
                }
            }
            return
        }
        guard cause.concernsNetwork else { return }
        if self.networkSuspects.isEmpty { self.firstNetworkFailure = self.now }
        if !self.networkSuspects.contains(item.host) { self.networkSuspects.append(item.host) }
        guard self.networkSuspects.count > 2 else { return }
        self.network = Outage(since: self.firstNetworkFailure, next: self.now + Outage.delay(1), served: 0)
    }

    private mutating func expireAndReturn(_ item: Item) -> Outage? {
        guard let outage = self.outages[item.host] else { return nil }
        for index in self.items.indices where self.items[index].state == .waiting && self.items[index].host == item.host
        {
            self.expire(index, since: outage.since, served: outage.served)
        }
        return item.patience == nil ? nil : outage
    }

    private mutating func expire(_ index: Int, since: Int64, served: UInt64) {
        guard let patience = self.items[index].patience, self.items[index].id <= served, self.now - since >= patience
        else { return }
        self.items[index].isExpired = true
    }

    /// The verdict about a transfer whose attempt failed in an outage.
    private mutating func waitOut(_ outage: Outage, _ index: Int, isProbe: Bool) -> EngineMachine.Verdict? {
        self.items[index].askedWaits = 0
        let item = self.items[index]
        guard let patience = item.patience, self.now - outage.since < patience else {
            self.remove(index)
            return nil
        }
        if item.countsOutages {
            guard item.failures < item.retries else {
                self.remove(index)
                return .refused(.noneLeft(attempts: item.attempts))
            }
            self.items[index].failures += 1
        }
        if isProbe, outage.isBroken, !item.countsOutages, item.failures + 1 < item.retries {
            self.items[index].failures += 1
        }
        if item.total > 0, item.active >= item.total {
            self.remove(index)
            return .refused(.outOfTime)
        }
        self.enterLine(index, atFront: !outage.isBroken)
        let next = self.network?.next ?? outage.next
        let isProbing = self.network == nil && outage.prober != nil
        return .held(attempt: item.attempts, delay: isProbing ? 0 : max(0, next - self.now))
    }

    /// The verdict that a run's end must lead to.
    ///
    /// `nil` stands for a failure because an outage lasted too long.
    mutating func runEnded(_ id: UInt64, _ result: EngineMachine.RunResult, _ tally: EngineMachine.Tally)
        -> EngineMachine.Verdict?
    {
        guard let index = self.index(id) else { return .unchanged }
        let (kept, hasResponse) = (tally.kept, tally.hasResponse)
        self.items[index].active += tally.duration
        let item = self.items[index]
        self.items[index].hasRun = false
        self.endAwaiting(index, hasResponse: hasResponse)
        self.items[index].claims = []
        self.items[index].isPausing = false
        self.items[index].isResumed = false
        self.items[index].cancelKeeping = nil
        self.asks.removeAll { $0.id == id }
        if kept > item.kept {
            self.items[index].kept = kept
            self.items[index].failures = 0
        }
        if hasResponse { self.shortageSince = nil }
        if case .finished = result { self.affordable.transferFinished(limit: self.limit) }
        let outage = self.judge(index, result, hasResponse: hasResponse)
        switch result {
        case .finished(let isSkipped):
            if item.isDurable, !isSkipped {
                self.items[index].isSyncing = true
                return .unsynced
            }
            self.remove(index)
            return .finished
        case .failed:
            self.remove(index)
            return .failed
        case .cancelled(let keeping):
            self.remove(index)
            return .cancelled(keeping: keeping)
        case .retry, .paused, .stopped: break
        }
        if let keeping = item.cancelKeeping {
            self.remove(index)
            return .cancelled(keeping: keeping)
        }
        if item.isPausing {
            self.items[index].state = .paused
            return .paused
        }
        switch result {
        case .retry(let failure):
            if failure.awaitsFile {
                self.items[index].state = .retrying(at: .max)
                return .held(attempt: item.attempts, delay: EngineMachine.lookInterval)
            }
            if let delay = failure.chosenDelay {
                self.items[index].askedWaits = 0
                return self.retry(index, failure, after: max(0, delay))
            }
            if let outage { return self.waitOut(outage, index, isProbe: item.probe != nil) }
            if failure.isShortage {
                let runs = self.items.count { $0.hasRun }
                self.affordable.fellShort(startedAt: item.reductions, running: runs, now: self.now)
                if runs == 0 { self.shortageSince = self.shortageSince ?? self.now }
                if runs > 0 || self.now - (self.shortageSince ?? 0) < item.patience ?? 0 {
                    self.items[index].state = .retrying(at: self.now + EngineMachine.shortageDelay)
                    return .held(attempt: item.attempts, delay: EngineMachine.shortageDelay)
                }
            }
            return self.retry(index, failure)
        case .paused where !item.isResumed:
            self.items[index].state = .paused
            return .paused
        default:
            self.enterLine(index, atFront: true)
            return .waiting
        }
    }

    /// The timers have fired that are due: attempts that are due wait at the front of their lines.
    mutating func timeReached() {
        var due: [(time: Int64, id: UInt64)] = []
        for item in self.items {
            if case .retrying(let time) = item.state, time <= self.now { due.append((time, item.id)) }
        }
        _ = self.affordable.timeReached(self.now, limit: self.limit)
        for (_, id) in due.sorted(by: { ($0.time, $0.id) < ($1.time, $1.id) }) {
            if let index = self.index(id) { self.enterLine(index, atFront: true) }
        }
    }

    // MARK: Fairness

    /// Whether a transfer may be asked to yield a connection to a host; returns what is wrong about it.
    mutating func ask(_ id: UInt64, _ host: String) -> String? {
        self.asks.removeAll { $0.expiry <= self.now }
        guard let index = self.index(id), self.items[index].hasRun else { return "\(id) was asked without a run" }
        let pending = self.asks.count { $0.id == id && $0.host == host }
        let own = self.items[index].connections.count { $0 == host }
        guard own - pending > 1 else { return "\(id) was asked for its last connection" }
        guard self.isStarving(host) else { return "\(id) was asked although none is needed at \(host)" }
        let more = self.items.contains { other in
            let left = other.connections.count { $0 == host } - self.asks.count { $0.id == other.id && $0.host == host }
            return left > own - pending && (self.setLimit(host) != nil || other.fixed == 0)
        }
        guard !more else { return "\(id) was asked, but another one has more" }
        self.asks.append(Ask(id: id, host: host, expiry: self.now + EngineMachine.yieldPatience))
        return nil
    }

    /// Whether a transfer waits for a host only because its connections are used.
    func isStarving(_ host: String) -> Bool {
        guard self.permission(host) == .free else { return false }
        let claims = self.items.contains { item in
            item.isUrgent(host) && !self.isWithinLimit(item, host)
        }
        if claims { return true }
        return self.places(host) > 0
            && self.items.contains { $0.state == .waiting && $0.host == host && !self.isWithinLimit($0, host) }
    }

    // MARK: What must not be missing

    /// The state that a machine without further steps has released.
    func forgotten(hosts: [String]) -> String? {
        if let item = self.items.first(where: { self.mayStart($0) && self.isFirst($0) }) {
            return "\(item.id) should have started"
        }
        let asks = self.asks.filter { $0.expiry > self.now }
        let claims = self.items.reduce(0) { $0 + $1.claims.count }
        for host in hosts {
            let firstClaims = self.items.filter { $0.claims.contains { $0.host == host } }
            if !firstClaims.isEmpty, !self.isThrottled(host),
                firstClaims.contains(where: { self.isWithinLimit($0, host) })
            {
                return "a connection to \(host) should have been granted"
            }
            guard self.isStarving(host), !asks.contains(where: { $0.host == host }) else { continue }
            let canYield = self.items.contains { item in
                item.hasRun
                    && item.connections.count(where: { $0 == host })
                        > max(1, self.setLimit(host) == nil ? item.fixed : 1)
            }
            if canYield, asks.count < claims + self.freePlaces { return "a connection to \(host) should be yielded" }
        }
        return nil
    }
}

extension NaiveQueue.Outage {
    /// A probe failed.
    mutating func fail(_ item: NaiveQueue.Item, isBroken: Bool, _ now: Int64) {
        let patience = item.patience
        self.failures += 1
        self.prober = nil
        self.served = max(self.served, self.probed)
        self.next = now + Self.delay(self.failures, isBroken: isBroken)
        if let patience, self.since + patience > now { self.next = min(self.next, self.since + patience) }
    }
}
