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
        var state = TransferState.waiting
        /// The host of each of its connections.
        var connections: [String] = []
        /// The place in line: a lower number starts earlier among those of its host and priority.
        var place = 0
        var attempts = 0
        var failures = 0
        var kept: Int64 = 0
        var hasRun = false
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

    var now: Int64 = 0
    var limit: Int
    var perHost: Int?
    var hostLimits: [String: Int] = [:]
    var items: [Item] = []
    var ends: [UInt64: Int] = [:]
    var holds: [String: Int64] = [:]
    var hostFailures: [String: Int] = [:]
    var learned: [String: (count: Int, until: Int64)] = [:]
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

    func index(_ id: UInt64) -> Int? { self.items.firstIndex { $0.id == id } }

    // MARK: Rules

    var freePlaces: Int {
        guard self.isStarted, !self.isStopping, self.items.count(where: { $0.isSyncing }) < 512 else { return 0 }
        return max(0, self.limit - self.items.count { $0.hasRun })
    }

    func connections(_ host: String) -> Int {
        self.items.reduce(0) { $0 + $1.connections.count { $0 == host } }
    }

    func isHeld(_ host: String) -> Bool { (self.holds[host] ?? .min) > self.now }

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
        return self.freePlaces > 0 && self.items.contains { $0.state == .waiting && $0.host == host }
    }

    func mayAcquire(_ item: Item, _ host: String) -> Bool {
        if self.isHeld(host) || self.isAwaited(host) { return false }
        if let learned = self.learned[host], learned.until > self.now, self.connections(host) >= learned.count {
            return false
        }
        return self.isWithinLimit(item, host)
    }

    func mayStart(_ item: Item) -> Bool {
        item.state == .waiting && self.freePlaces > 0 && !self.isHeld(item.host) && self.isWithinLimit(item, item.host)
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
        guard self.isFirst(item) else { return "\(id) started before an earlier one" }
        // A more urgent class goes first, unless this one was passed over too often.
        let own = Int(item.priority.rawValue)
        let eligible = self.items.filter { self.mayStart($0) && self.isFirst($0) }
        let starved = eligible.filter { self.passedOver[Int($0.priority.rawValue)] >= EngineMachine.ageingPeriod }
        if starved.isEmpty {
            if eligible.contains(where: { $0.priority > item.priority }) { return "\(id) started before an urgent one" }
        } else if self.passedOver[own] < (starved.map { self.passedOver[Int($0.priority.rawValue)] }.max() ?? 0) {
            return "\(id) started before a starved one"
        }
        self.passedOver[own] = 0
        self.items[index].state = .running
        self.items[index].hasRun = true
        self.items[index].attempts += 1
        self.items[index].connections = [item.host]
        for lower in 0..<own where self.items.contains(where: { $0.state == .waiting && $0.priority.rawValue == lower })
        {
            self.passedOver[lower] += 1
        }
        return nil
    }

    mutating func remove(_ index: Int) {
        self.ends[self.items[index].id, default: 0] += 1
        self.items.remove(at: index)
    }

    /// A run has ended or a file could not be synced, and another attempt may follow.
    mutating func retry(_ index: Int, isHostFault: Bool, retryAfter: Int64?, jitter: Double) -> EngineMachine.Verdict {
        let item = self.items[index]
        if isHostFault { self.hostFailures[item.host, default: 0] += 1 }
        if self.hostFailures[item.host, default: 0] > 3 * (item.retries + 1) {
            self.remove(index)
            return .refused(.hostDown)
        }
        guard item.failures < item.retries else {
            self.remove(index)
            return .refused(.noneLeft(attempts: item.attempts))
        }
        self.items[index].failures += 1
        var delay = 50_000_000 + Int64(Double(min(500_000_000 << item.failures, 30_000_000_000) - 50_000_000) * jitter)
        if let retryAfter { delay = retryAfter * 1_000_000_000 }
        if isHostFault { self.holds[item.host] = max(self.holds[item.host] ?? .min, self.now + delay) }
        self.items[index].state = .retrying(at: self.now + delay)
        return .retrying(attempt: item.attempts, delay: delay)
    }

    /// The verdict that a run's end must lead to.
    mutating func runEnded(_ id: UInt64, _ result: EngineMachine.RunResult, kept: Int64, hasAdvanced: Bool)
        -> EngineMachine.Verdict
    {
        guard let index = self.index(id) else { return .unchanged }
        let item = self.items[index]
        self.items[index].hasRun = false
        self.items[index].claims = []
        self.items[index].isPausing = false
        self.items[index].isResumed = false
        self.items[index].cancelKeeping = nil
        self.asks.removeAll { $0.id == id }
        if kept > item.kept {
            self.items[index].kept = kept
            self.items[index].failures = 0
        }
        if hasAdvanced { self.hostFailures[item.host] = 0 }
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
            return self.retry(
                index,
                isHostFault: failure.isHostFault,
                retryAfter: failure.retryAfter,
                jitter: failure.jitter
            )
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
        guard !self.isHeld(host) else { return false }
        let claims = self.items.contains { item in
            item.isUrgent(host) && !self.isWithinLimit(item, host)
        }
        if claims { return true }
        return self.freePlaces > 0
            && self.items.contains { $0.state == .waiting && $0.host == host && !self.isWithinLimit($0, host) }
    }

    // MARK: What must not be missing

    /// What a machine that has no more steps has forgotten.
    func forgotten(hosts: [String]) -> String? {
        if let item = self.items.first(where: { self.mayStart($0) }) { return "\(item.id) should have started" }
        let asks = self.asks.filter { $0.expiry > self.now }
        let claims = self.items.reduce(0) { $0 + $1.claims.count }
        for host in hosts {
            let firstClaims = self.items.filter { $0.claims.contains { $0.host == host } }
            if !firstClaims.isEmpty, !self.isHeld(host), firstClaims.contains(where: { self.isWithinLimit($0, host) }) {
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
