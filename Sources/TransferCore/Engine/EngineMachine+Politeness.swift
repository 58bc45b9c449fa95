// SPDX-License-Identifier: Apache-2.0
/// Limits per registered domain, intervals between requests, and the wait for `robots.txt`.
///
/// A host that must wait is taken out of rotation, so that it costs nothing until its time has come, a connection of its
/// domain is released, or its rules are known. At most as many hosts of a domain as it has free connections return to
/// the rotation at a time.
extension EngineMachine {
    /// The reason why a host may not be sent another request now.
    enum PoliteWait: Equatable {
        /// The next request may start at a time.
        case hostInterval(until: Int64)
        /// The domain has as many connections as permitted, or its next request may start at a time.
        case domain(until: Int64?)
    }

    /// The longest interval that a `Crawl-delay` may set, in nanoseconds.
    package static let longestCrawlDelay: Int64 = 30_000_000_000
    /// The minimum for the number of `robots.txt` that are requested at once.
    static let ruleFetchesAtLeast = 16

    /// The reason why a host must wait before another request, or `nil`.
    func politeWait(_ host: Int, _ now: Int64) -> PoliteWait? {
        if self.hosts[host].nextStart > now { return .hostInterval(until: self.hosts[host].nextStart) }
        let domain = Int(self.hosts[host].domain)
        guard domain >= 0 else { return nil }
        let next = self.hosts.domains[domain].nextStart
        if next > now { return .domain(until: next) }
        return self.hasDomainRoom(host) ? nil : .domain(until: nil)
    }

    /// Whether the domain of a host permits another connection.
    func hasDomainRoom(_ host: Int) -> Bool {
        let domain = Int(self.hosts[host].domain)
        guard domain >= 0, let limit = self.politeness.connectionsPerDomain else { return true }
        return self.hosts.domains[domain].connections < max(1, limit)
    }

    /// A request to a host starts: the intervals begin.
    mutating func requestStarts(_ host: Int, by id: TransferID?, _ now: Int64) {
        guard self.politeness.concernsRequests else { return }
        if let id, let place = self.hosts[host].place(of: id) { self.hosts[host].holders[place].granted += 1 }
        self.reserveStart(host, at: now)
    }

    private mutating func reserveStart(_ host: Int, at time: Int64) {
        let interval = max(self.politeness.hostInterval, self.hosts[host].crawlDelay)
        // With rules, the interval may become known only after the request for them.
        if interval > 0 || self.politeness.obeysRobots { self.hosts[host].nextStart = time + interval }
        let domain = Int(self.hosts[host].domain)
        if domain >= 0, self.politeness.domainInterval > 0 {
            self.hosts.domains[domain].nextStart = time + self.politeness.domainInterval
        }
    }

    /// The time that a running transfer must wait before it sends a request, in nanoseconds.
    ///
    /// The first request over a connection that was granted starts at once, because the grant waited. Others, such as
    /// those that follow a redirect within a host, take the host's and the domain's next free time.
    package mutating func requestDelay(_ origin: Origin, for id: TransferID, now: Int64) -> Int64 {
        guard self.slots[id] != nil, let host = self.host(origin, of: id) else { return 0 }
        if let place = self.hosts[host].place(of: id), self.hosts[host].holders[place].granted > 0 {
            self.hosts[host].holders[place].granted -= 1
            return 0
        }
        var time = max(now, self.hosts[host].nextStart)
        let domain = Int(self.hosts[host].domain)
        if domain >= 0 { time = max(time, self.hosts.domains[domain].nextStart) }
        self.reserveStart(host, at: time)
        return time - now
    }

    // MARK: Rotation

    /// Takes a host out of rotation until it may be sent a request.
    mutating func park(_ host: Int, in index: Int, for wait: PoliteWait) {
        self.classes[index].park(host)
        switch wait {
        case .hostInterval(let time): self.scheduleTurn(of: host, at: time)
        case .domain(let time):
            let domain = Int(self.hosts[host].domain)
            self.hosts.domains[domain].parked[index].append(host)
            if let time { self.scheduleTurn(ofDomain: domain, at: time) }
        }
    }

    /// A running transfer waits for a connection to a host that may not be sent a request yet.
    mutating func schedule(_ wait: PoliteWait, of host: Int) {
        switch wait {
        case .hostInterval(let time): self.scheduleTurn(of: host, at: time)
        case .domain(let time?): self.scheduleTurn(ofDomain: Int(self.hosts[host].domain), at: time)
        case .domain(nil): break
        }
    }

    private mutating func scheduleTurn(of host: Int, at time: Int64) {
        guard self.hosts[host].paceWakeUp != time else { return }
        self.hosts[host].paceWakeUp = time
        self.due.insert(DueQueue.Element(time: time, id: nil, gate: Int32(host), kind: .hostInterval))
    }

    private mutating func scheduleTurn(ofDomain domain: Int, at time: Int64) {
        guard self.hosts.domains[domain].wakeUp != time else { return }
        self.hosts.domains[domain].wakeUp = time
        self.due.insert(DueQueue.Element(time: time, id: nil, gate: Int32(domain), kind: .domainInterval))
    }

    mutating func intervalEnded(_ element: DueQueue.Element) {
        let index = Int(element.gate)
        if element.kind == .hostInterval {
            if element.time == self.hosts[index].paceWakeUp { self.hosts[index].paceWakeUp = .min }
            self.returnToRotation(index)
        } else {
            if element.time == self.hosts.domains[index].wakeUp { self.hosts.domains[index].wakeUp = .min }
            self.hosts.domains.wakeable.insert(index)
        }
    }

    private mutating func returnToRotation(_ host: Int) {
        for index in self.classes.indices { self.classes[index].unpark(host) }
    }

    /// Returns parked hosts to the rotation, one of each class for every domain that permits a connection.
    mutating func wakeDomains(_ now: Int64) {
        for domain in self.hosts.domains.wakeable {
            let (next, isUnwanted) = (self.hosts.domains[domain].nextStart, self.hosts.domains[domain].isUnwanted)
            let limit = self.politeness.connectionsPerDomain.map { max(1, $0) } ?? .max
            let free = limit - self.hosts.domains[domain].connections
            guard !isUnwanted, next <= now, free > 0 else {
                self.hosts.domains.wakeable.remove(domain)
                if !isUnwanted, next > now { self.scheduleTurn(ofDomain: domain, at: next) }
                continue
            }
            for index in self.classes.indices {
                guard let host = self.hosts.domains[domain].parked[index].popFirst() else { continue }
                self.classes[index].unpark(host)
            }
        }
    }

    // MARK: Rules

    /// Requests the rules of a host's origin, over a connection to it, unless they are known or requested.
    ///
    /// - Returns: Whether transfers must wait for them.
    mutating func awaitRules(_ host: Int, in index: Int, _ now: Int64) -> Bool {
        guard self.politeness.obeysRobots else { return false }
        switch self.hosts[host].rules {
        case .known(let until) where until > now: return false
        case .requested: break
        case .unknown, .known:
            guard self.hasPlaceForRules else {
                self.hostsWithoutRules.append(host)
                break
            }
            self.ruleFetches += 1
            self.hosts[host].rules = .requested
            self.hosts.connect(host, Self.rulesFetcher, fixed: 0)
            self.requestStarts(host, by: nil, now)
            self.notices.append(.fetchRules(self.hosts[host].origin))
        }
        self.classes[index].park(host)
        return true
    }

    /// The holder of the connections for rules; transfers have ids from 1.
    private static let rulesFetcher = TransferID(0)

    /// The rules of an origin are known, or known to be unavailable.
    ///
    /// - Parameters:
    ///   - origin: The origin, of a step ``Step/fetchRules(_:)``.
    ///   - crawlDelay: The interval that they ask for, in nanoseconds; bounded by ``longestCrawlDelay``.
    ///   - end: The time until which they are valid.
    package mutating func rulesArrived(_ origin: Origin, crawlDelay: Int64, until end: Int64) {
        guard let host = self.hosts.index(of: origin), self.hosts[host].rules == .requested else { return }
        self.ruleFetches -= 1
        self.hosts[host].rules = .known(until: end)
        self.setCrawlDelay(crawlDelay, of: host)
        self.hosts.disconnect(host, Self.rulesFetcher)
        self.returnToRotation(host)
    }

    private var hasPlaceForRules: Bool { self.ruleFetches < max(self.limit, Self.ruleFetchesAtLeast) }

    /// Whether a host may be waiting only for fewer `robots.txt` to be requested at once.
    var mayFetchRules: Bool { !self.hostsWithoutRules.isEmpty && self.hasPlaceForRules }

    /// Returns a host to the rotation that waits until fewer `robots.txt` are being requested.
    mutating func wakeForRules() {
        guard self.hasPlaceForRules, let host = self.hostsWithoutRules.popFirst() else { return }
        self.returnToRotation(host)
    }

    private mutating func setCrawlDelay(_ delay: Int64, of host: Int) {
        let delay = min(max(0, delay), Self.longestCrawlDelay)
        let interval = self.politeness.hostInterval
        let raise = max(interval, delay) - max(interval, self.hosts[host].crawlDelay)
        self.hosts[host].crawlDelay = delay
        // The interval begins with the request for the rules.
        if self.hosts[host].nextStart > .min { self.hosts[host].nextStart += raise }
    }
}
