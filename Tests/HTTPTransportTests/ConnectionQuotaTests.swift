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
    @Test(arguments: 0..<300)
    func noLimitIsExceededAndNothingWaitsForever(_ seed: Int) {
        var world = QuotaWorld(seed: UInt64(seed))
        for _ in 0..<400 {
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
                #expect(self.phases[number] == .waiting)
                self.phases[number] = .used
            case .close(let number):
                #expect(self.phases[number] == .idle)
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
            #expect(isTaken == (self.phases[number] == .idle))
            if isTaken { self.phases[number] = .used }
        case 7:
            guard let number = self.any(.waiting, &self.random) else { return }
            let isWithdrawn = self.quota.withdrawn(number)
            #expect(isWithdrawn)
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

    private func count(_ phases: Set<Phase>, _ isMember: (Int) -> Bool) -> Int {
        self.phases.count { phases.contains($0.value) && isMember(self.hosts[$0.key] ?? -1) }
    }

    func check() {
        let open: Set<Phase> = [.used, .idle, .closing]
        for host in 0..<6 {
            if let limit = self.perHost { #expect(self.count(open) { $0 == host } <= limit) }
        }
        for domain in 0..<2 {
            if let limit = self.perDomain { #expect(self.count(open) { $0 / 3 == domain } <= limit) }
        }
        // A request waits for used connections of its host or domain, or for some that are being closed.
        for (number, phase) in self.phases where phase == .waiting {
            guard let host = self.hosts[number] else { continue }
            let ofHost = { (one: Int) in one == host }
            let ofDomain = { (one: Int) in one / 3 == host / 3 }
            let isFull =
                self.perHost.map { self.count(open, ofHost) >= $0 } ?? false
                || self.perDomain.map { self.count(open, ofDomain) >= $0 } ?? false
            #expect(isFull)
            let usedUp =
                self.perHost.map { self.count([.used], ofHost) >= $0 } ?? false
                || self.perDomain.map { self.count([.used], ofDomain) >= $0 } ?? false
            #expect(usedUp || self.count([.closing], ofDomain) > 0)
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
