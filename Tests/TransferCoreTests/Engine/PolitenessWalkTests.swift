// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@Suite("Politeness")
struct PolitenessWalkTests {
    @Test("no limit is exceeded, no interval shortened, and no transfer forgotten", arguments: 0..<150)
    func walk(_ seed: Int) {
        var walk = PolitenessWalk(seed: seed)
        walk.run(steps: 500)
        #expect(walk.complaint == nil)
        #expect(walk.ended == walk.added)
    }

    @Test("a further connection to a new host begins its interval, and a permission is for one host and connection")
    func newHosts() {
        var limits = PolitenessLimits()
        limits.hostInterval = 100
        limits.connectionsPerDomain = 2
        var machine = EngineMachine(limit: 4, politeness: limits)
        machine.start()
        let (a, b, c) = (
            MachineStage.origin("a.big.com"), MachineStage.origin("b.big.com"), MachineStage.origin("c.big.com")
        )
        let id = machine.add(.init(origin: a))
        let start = machine.next(now: 0)
        #expect(start == .start(id, lane: 0))
        let isAcquired = machine.acquireConnection(b, for: id, now: 0)
        let isBeyondDomain = machine.acquireConnection(c, for: id, now: 0)
        #expect(isAcquired && !isBeyondDomain)
        let atOnce = machine.requestDelay(b, for: id, now: 0)
        let isTooEarly = machine.acquireConnection(b, for: id, now: 50)
        #expect(atOnce == 0 && !isTooEarly)
        // That of the connection to the other host was not used, and is none here.
        let atSameHost = machine.requestDelay(b, for: id, now: 50)
        machine.connectionReleased(a, by: id)
        let atOtherHost = machine.requestDelay(a, for: id, now: 50)
        #expect(atSameHost == 50 && atOtherHost == 50)
    }

    @Test("a thousand transfers of a full domain do not hold those of other hosts")
    func otherHosts() {
        var limits = PolitenessLimits()
        limits.connectionsPerDomain = 1
        var machine = EngineMachine(limit: 4, politeness: limits)
        machine.start()
        for number in 0..<1000 { _ = machine.add(.init(origin: MachineStage.origin("h\(number).big.com"))) }
        let other = machine.add(.init(origin: MachineStage.origin("small.com")))
        var starts: [TransferID] = []
        while true {
            let step = machine.next(now: 0)
            if case .start(let id, _) = step { starts.append(id) }
            if step == .none { break }
        }
        #expect(starts.count == 2)
        #expect(starts.contains(other))
        #expect(machine.hasIdlePlaces)
    }

    @Test("a retry that a server asks for later than permitted fails, and a permitted one keeps its time")
    func retryAfter() {
        let hour: Int64 = 3600
        for (most, asked) in [(hour, hour), (hour, hour + 1), (nil, 2 * hour)] as [(Int64?, Int64)] {
            var stage = MachineStage()
            stage.add(retries: 1) { $0.maximumRetryAfter = most }
            #expect(stage.starts() == [1])
            let verdict = stage.end(1, MachineStage.throttled(asked))
            switch (most, asked) {
            case (hour, hour): #expect(verdict == .retrying(attempt: 1, delay: hour * 1_000_000_000))
            case (nil, _): #expect(verdict == .retrying(attempt: 1, delay: 300_000_000_000))
            default: #expect(verdict == .refused(.retryAfter(seconds: asked)))
            }
        }
    }

    @Test("short delays that a server asks for again and again grow, up to the longest permitted one")
    func repeatedDelays() {
        for (most, expected) in [(nil, [1, 1, 1, 2, 4, 8, 16, 32, 60, 60]), (10, [1, 1, 1, 2, 4, 8, 10, 10])]
            as [(Int64?, [Int64])]
        {
            var stage = MachineStage()
            stage.add(retries: 0, patience: 60_000_000_000) { $0.maximumRetryAfter = most }
            for (number, seconds) in expected.enumerated() {
                #expect(stage.starts() == [1])
                let verdict = stage.end(1, MachineStage.throttled(1))
                #expect(verdict == .retrying(attempt: number + 1, delay: seconds * 1_000_000_000))
                stage.reach(stage.now + seconds * 1_000_000_000)
            }
        }
    }

    @Test("registered domains are one label longer than a public suffix")
    func domains() {
        let suffixes = PublicSuffixes("com\nco.uk\n*.ck\n!www.ck")
        for (host, domain) in [
            ("a.b.example.com", "example.com"), ("example.com", "example.com"), ("com", "com"),
            ("a.example.co.uk", "example.co.uk"), ("co.uk", "co.uk"), ("x.y.z.ck", "y.z.ck"), ("a.www.ck", "www.ck"),
            ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("a.b.unknown", "b.unknown"), ("localhost", "localhost"),
        ] { #expect(suffixes.registeredDomain(of: host) == domain) }
    }
}

/// A random walk of an ``EngineMachine`` with limits per domain, intervals and rules, checked against plain counts.
private struct PolitenessWalk {
    private struct Item {
        var host: String
        var isRunning = false
        var connections: [String] = []
        var claim: (host: String, number: WaiterID)?
        var isWaiting: Bool { !self.isRunning }
    }

    private var machine: EngineMachine
    private let limits: PolitenessLimits
    private let limit: Int
    private let perHost: Int
    private var random: SeededGenerator
    private var now: Int64 = 0
    private var timers: [Int64] = []
    private var items: [TransferID: Item] = [:]
    private var fetching: [String: Bool] = [:]
    private var known: Set<String> = []
    private var delays: [String: Int64] = [:]
    private var lastOfHost: [String: Int64] = [:]
    private var lastOfDomain: [String: Int64] = [:]
    private(set) var added = 0
    private(set) var ended = 0
    private(set) var complaint: String?

    init(seed: Int) {
        self.random = SeededGenerator(seed: UInt64(seed))
        self.limit = Int.random(in: 1...6, using: &self.random)
        self.perHost = Int.random(in: 1...4, using: &self.random)
        var limits = PolitenessLimits()
        if Bool.random(using: &self.random) { limits.connectionsPerDomain = Int.random(in: 1...3, using: &self.random) }
        if Bool.random(using: &self.random) { limits.hostInterval = Int64.random(in: 1...50, using: &self.random) }
        if Bool.random(using: &self.random) { limits.domainInterval = Int64.random(in: 1...50, using: &self.random) }
        limits.obeysRobots = Bool.random(using: &self.random)
        self.limits = limits
        self.machine = EngineMachine(limit: self.limit, connectionsPerHost: self.perHost, politeness: limits)
        self.machine.start()
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps where self.complaint == nil {
            switch Int.random(in: 0..<10, using: &self.random) {
            case 0..<4: self.add()
            case 4, 5: self.end()
            case 6: self.further()
            case 7: self.redirect()
            case 8: self.rules()
            default: self.pass(Int64.random(in: 0...60, using: &self.random))
            }
            if Bool.random(using: &self.random) { self.drain() }
        }
        self.machine.close()
        for _ in 0..<20_000 where self.complaint == nil && !self.items.isEmpty {
            self.drain()
            self.rules()
            self.end()
            self.pass(20)
        }
        if self.complaint == nil, !self.items.isEmpty { self.complaint = "\(self.items.count) transfers never started" }
    }

    private static func domain(_ host: String) -> String { String(host.suffix(5)) }

    private mutating func host() -> String {
        "h\(Int.random(in: 0..<5, using: &self.random)).\(Bool.random(using: &self.random) ? "a" : "b").com"
    }

    private mutating func fail(_ text: String) { self.complaint = self.complaint ?? text }

    private func connections(_ isCounted: (String) -> Bool) -> Int {
        self.items.values.reduce(0) { $0 + $1.connections.count(where: isCounted) }
            + self.fetching.keys.count(where: isCounted)
    }

    // MARK: Events

    private mutating func add() {
        guard self.items.count < 40 else { return }
        let host = self.host()
        self.items[self.machine.add(.init(origin: MachineStage.origin(host)))] = Item(host: host)
        self.added += 1
    }

    private mutating func pick(_ isCandidate: (Item) -> Bool) -> TransferID? {
        self.items.filter { isCandidate($0.value) }.keys.sorted().randomElement(using: &self.random)
    }

    private mutating func end() {
        guard let id = self.pick({ $0.isRunning }), let item = self.items[id] else { return }
        for host in item.connections { self.machine.connectionReleased(MachineStage.origin(host), by: id) }
        _ = self.machine.runEnded(id, .finished(isSkipped: false), EngineMachine.Tally(), now: self.now)
        self.items[id] = nil
        self.ended += 1
    }

    private mutating func further() {
        guard let id = self.pick({ $0.isRunning && !$0.connections.isEmpty }), let host = self.items[id]?.host,
            self.machine.acquireConnection(MachineStage.origin(host), for: id, now: self.now)
        else { return }
        self.items[id]?.connections.append(host)
        self.started(host, "a further connection")
    }

    private mutating func redirect() {
        guard let id = self.pick({ $0.connections.count == 1 && $0.claim == nil }) else { return }
        self.machine.connectionReleased(MachineStage.origin(self.items[id]?.connections[0] ?? ""), by: id)
        self.items[id]?.connections = []
        let host = self.host()
        self.items[id]?.claim = (host, self.machine.awaitConnection(MachineStage.origin(host), for: id))
    }

    private mutating func rules() {
        guard let host = self.fetching.keys.sorted().randomElement(using: &self.random) else { return }
        self.fetching[host] = nil
        self.known.insert(host)
        self.delays[host] = Int64.random(in: 0...30, using: &self.random)
        self.machine.rulesArrived(MachineStage.origin(host), crawlDelay: self.delays[host] ?? 0, until: .max)
    }

    private mutating func pass(_ time: Int64) {
        let end = self.now + time
        while let timer = self.timers.min(), timer <= end {
            self.timers.removeAll { $0 == timer }
            self.now = timer
            self.machine.timeReached(timer, now: timer)
            self.drain()
        }
        self.now = end
    }

    // MARK: Checks

    /// A request starts now over a connection that counts already.
    private mutating func started(_ host: String, _ kind: String) {
        let domain = Self.domain(host)
        if let most = self.limits.connectionsPerDomain, self.connections({ Self.domain($0) == domain }) > most {
            self.fail("\(kind) to \(host) exceeds the limit of its domain")
        }
        if self.connections({ $0 == host }) > self.perHost { self.fail("\(kind) to \(host) exceeds its limit") }
        if !self.mayRequest(host) { self.fail("\(kind) to \(host) at \(self.now) is too early") }
        self.lastOfHost[host] = self.now
        self.lastOfDomain[domain] = self.now
    }

    private func mayRequest(_ host: String) -> Bool {
        let interval = max(self.limits.hostInterval, self.delays[host] ?? 0)
        let next = self.lastOfHost[host].map { $0 + interval } ?? .min
        let nextOfDomain = self.lastOfDomain[Self.domain(host)].map { $0 + self.limits.domainInterval } ?? .min
        return max(next, nextOfDomain) <= self.now
    }

    private mutating func drain() {
        while self.complaint == nil {
            switch self.machine.next(now: self.now) {
            case .start(let id, _):
                guard let host = self.items[id]?.host, self.items[id]?.isRunning == false else {
                    return self.fail("\(id) started without waiting")
                }
                if self.limits.obeysRobots, !self.known.contains(host) { self.fail("\(host) has no rules") }
                self.items[id]?.isRunning = true
                self.items[id]?.connections = [host]
                self.started(host, "the start of \(id)")
            case .grant(let number):
                guard let id = self.items.first(where: { $0.value.claim?.number == number })?.key,
                    let host = self.items[id]?.claim?.host
                else { return self.fail("a connection without a waiter") }
                self.items[id]?.claim = nil
                self.items[id]?.connections.append(host)
                self.started(host, "the redirect of \(id)")
            case .fetchRules(let origin):
                if self.fetching[origin.host] != nil || self.known.contains(origin.host) { self.fail("rules twice") }
                self.fetching[origin.host] = true
                self.started(origin.host, "the request for rules")
            case .wake(let time): self.timers.append(time)
            case .none: return self.checkNothingForgotten()
            default: break
            }
        }
    }

    private mutating func checkNothingForgotten() {
        let places = self.limit - self.items.values.count { $0.isRunning }
        for (id, item) in self.items where item.isWaiting || item.claim != nil {
            let host = item.claim?.host ?? item.host
            if item.claim == nil {
                guard places > 0 else { continue }
                if self.limits.obeysRobots, !self.known.contains(host), self.fetching[host] != nil { continue }
            }
            let domain = Self.domain(host)
            let room = self.limits.connectionsPerDomain.map { self.connections { Self.domain($0) == domain } < $0 }
            if room ?? true, self.connections({ $0 == host }) < self.perHost, self.mayRequest(host) {
                self.fail("\(id) was forgotten at \(self.now)")
            }
            // A time that has to come needs a timer.
            if room ?? true, !self.mayRequest(host), self.timers.allSatisfy({ $0 <= self.now }) {
                self.fail("\(id) waits for a time without a timer")
            }
        }
    }
}
