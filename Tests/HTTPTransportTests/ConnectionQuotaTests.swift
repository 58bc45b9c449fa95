// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import HTTPTransport

@Suite struct ConnectionQuotaTests {
    private static func host(_ name: String) -> Origin { Origin(scheme: .http, host: name, port: 80) }

    @Test func aRequestBeyondTheLimitWaitsForAConnectionThatIsClosed() {
        var quota = ConnectionQuota(perHost: 1, perDomain: nil)
        let first = quota.requested(Self.host("a"), domain: "")
        #expect(first.steps == [.open(first.number)])
        let second = quota.requested(Self.host("a"), domain: "")
        #expect(second.steps.isEmpty)
        let other = quota.requested(Self.host("b"), domain: "")
        #expect(other.steps == [.open(other.number)])
        let steps = quota.closed(first.number)
        #expect(steps == [.open(second.number)])
    }

    @Test func anIdleConnectionIsClosedFirstAndCountsUntilItIsClosed() {
        var quota = ConnectionQuota(perHost: 2, perDomain: nil)
        let old = quota.requested(Self.host("a"), domain: "").number
        let young = quota.requested(Self.host("a"), domain: "").number
        let early = quota.becameIdle(old) + quota.becameIdle(young)
        #expect(early.isEmpty)
        let next = quota.requested(Self.host("a"), domain: "")
        #expect(next.steps == [.close(old)])
        let isTaken = (quota.taken(old), quota.taken(young))
        #expect(isTaken == (false, true))
        let steps = quota.closed(old)
        #expect(steps == [.open(next.number)])
    }

    @Test func aConnectionThatBecomesIdleIsClosedForAWaitingRequest() {
        var quota = ConnectionQuota(perHost: 1, perDomain: nil)
        let first = quota.requested(Self.host("a"), domain: "").number
        let second = quota.requested(Self.host("a"), domain: "").number
        let steps = (quota.becameIdle(first), quota.closed(first))
        #expect(steps == ([.close(first)], [.open(second)]))
    }

    @Test func theIdleConnectionOfAnotherHostOfTheDomainIsClosed() {
        var quota = ConnectionQuota(perHost: nil, perDomain: 1)
        let first = quota.requested(Self.host("a.example.org"), domain: "example.org").number
        let early = quota.becameIdle(first)
        #expect(early.isEmpty)
        let second = quota.requested(Self.host("b.example.org"), domain: "example.org")
        #expect(second.steps == [.close(first)])
        let steps = quota.closed(first)
        #expect(steps == [.open(second.number)])
    }

    @Test func nothingIsClosedForARequestThatWaitsForUsedConnections() {
        var quota = ConnectionQuota(perHost: 1, perDomain: 2)
        let used = quota.requested(Self.host("a"), domain: "d").number
        let idle = quota.requested(Self.host("b"), domain: "d").number
        let early = quota.becameIdle(idle)
        #expect(early.isEmpty)
        let waiting = quota.requested(Self.host("a"), domain: "d")
        #expect(waiting.steps.isEmpty)
        let isTaken = quota.taken(idle)
        let steps = quota.closed(used)
        #expect(isTaken && steps == [.open(waiting.number)])
    }

    @Test func aRequestThatIsWithdrawnGetsNoConnection() {
        var quota = ConnectionQuota(perHost: 1, perDomain: nil)
        let first = quota.requested(Self.host("a"), domain: "").number
        let second = quota.requested(Self.host("a"), domain: "").number
        let results = (quota.withdrawn(second), quota.withdrawn(first))
        #expect(results == (true, false))
        let steps = quota.closed(first)
        #expect(steps.isEmpty && quota.count == 0)
    }

    /// Random requests, ends, reuses and closings, with both limits: the limits hold, nothing waits without a reason, and
    /// everything ends.
    @Test(arguments: 0..<100)
    func noLimitIsExceededAndNothingWaitsForever(_ seed: Int) {
        var world = QuotaWorld(seed: UInt64(seed))
        for _ in 0..<200 {
            world.act()
            world.check()
        }
        world.finish()
        #expect(world.quota.count == 0)
    }
}

/// A naive model of the connections, and a driver that performs each step sooner or later.
private struct QuotaWorld {
    enum Phase { case waiting, used, idle, closing }

    var random: SeededGenerator
    var quota: ConnectionQuota
    private let perHost: Int?
    private let perDomain: Int?
    private var phases: [Int: Phase] = [:]
    private var hosts: [Int: Int] = [:]

    init(seed: UInt64) {
        self.random = SeededGenerator(seed: seed)
        self.perHost = Int.random(in: 0..<4, using: &self.random) == 0 ? nil : .random(in: 1...3, using: &self.random)
        self.perDomain = Bool.random(using: &self.random) ? nil : .random(in: 1...5, using: &self.random)
        self.quota = ConnectionQuota(perHost: self.perHost, perDomain: self.perDomain)
    }

    private func any(_ phase: Phase, _ random: inout SeededGenerator) -> Int? {
        self.phases.filter { $0.value == phase }.keys.sorted().randomElement(using: &random)
    }

    private mutating func perform(_ steps: [ConnectionQuota.Step]) {
        for step in steps {
            switch step {
            case .open(let number):
                if self.phases[number] != .waiting { Issue.record("a connection is opened that no request waits for") }
                self.phases[number] = .used
            case .close(let number):
                if self.phases[number] != .idle { Issue.record("a connection is closed that is not idle") }
                self.phases[number] = .closing
            }
        }
    }

    mutating func act() {
        switch Int.random(in: 0..<10, using: &self.random) {
        case 0...3:
            // Hosts 0 to 2 are of domain 0, the others of domain 1.
            let host = Int.random(in: 0..<6, using: &self.random)
            let origin = Origin(scheme: .http, host: "h\(host)", port: 80)
            let (number, steps) = self.quota.requested(origin, domain: "d\(host / 3)")
            self.phases[number] = .waiting
            self.hosts[number] = host
            self.perform(steps)
        case 4...5:
            guard let number = self.any(.used, &self.random) else { return }
            self.phases[number] = .idle
            self.perform(self.quota.becameIdle(number))
        case 6:
            guard let number = self.any(Bool.random(using: &self.random) ? .idle : .closing, &self.random) else {
                return
            }
            let isTaken = self.quota.taken(number)
            if isTaken != (self.phases[number] == .idle) { Issue.record("a connection that is being closed is taken") }
            if isTaken { self.phases[number] = .used }
        case 7:
            guard let number = self.any(.waiting, &self.random) else { return }
            let isWithdrawn = self.quota.withdrawn(number)
            if !isWithdrawn { Issue.record("a waiting request cannot be withdrawn") }
            self.phases[number] = nil
        default:
            let phase: Phase = [.used, .idle, .closing, .closing].randomElement(using: &self.random) ?? .closing
            guard let number = self.any(phase, &self.random) else { return }
            self.close(number)
        }
    }

    private mutating func close(_ number: Int) {
        self.phases[number] = nil
        self.perform(self.quota.closed(number))
    }

    /// The connections of each host, and those of each domain, by phase.
    private struct Tally {
        var hosts = [[Phase: Int]](repeating: [:], count: 6)
        var domains = [[Phase: Int]](repeating: [:], count: 2)

        static func open(_ counts: [Phase: Int]) -> Int {
            counts[.used, default: 0] + counts[.idle, default: 0] + counts[.closing, default: 0]
        }
    }

    mutating func check() {
        var tally = Tally()
        var waiting: Set<Int> = []
        for (number, phase) in self.phases {
            guard let host = self.hosts[number] else { continue }
            tally.hosts[host][phase, default: 0] += 1
            tally.domains[host / 3][phase, default: 0] += 1
            if phase == .waiting { waiting.insert(host) }
        }
        let perHost = self.perHost ?? .max
        let perDomain = self.perDomain ?? .max
        let exceeded =
            tally.hosts.contains { Tally.open($0) > perHost } || tally.domains.contains { Tally.open($0) > perDomain }
        if exceeded { Issue.record("a limit is exceeded") }
        // A request waits for used connections of its host or domain, or for some that are being closed.
        for host in waiting {
            let (own, domain) = (tally.hosts[host], tally.domains[host / 3])
            let isFull = Tally.open(own) >= perHost || Tally.open(domain) >= perDomain
            let isUsed = own[.used, default: 0] >= perHost || domain[.used, default: 0] >= perDomain
            if !isFull || !isUsed && domain[.closing, default: 0] == 0 { Issue.record("a request waits for nothing") }
        }
    }

    /// Uses, releases and closes everything.
    mutating func finish() {
        for _ in 0..<10_000 where !self.phases.isEmpty {
            if let number = self.any(.closing, &self.random) ?? self.any(.used, &self.random) {
                self.close(number)
            } else if let number = self.any(.idle, &self.random) {
                self.close(number)
            } else {
                Issue.record("requests wait although nothing is open")
                return
            }
            self.check()
        }
        #expect(self.phases.isEmpty)
    }
}
