// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("The health of a host")
struct HostHealthTests {
    private static let second: Int64 = 1_000_000_000

    private func failure(
        _ cause: OutageCause = .refused,
        of transfer: UInt64 = 1,
        timeout: Int64 = .max,
        jitter: Double = 0
    ) -> HostHealth.HostFailure {
        var failure = HostHealth.HostFailure(cause, "m", transfer: transfer, timeout: timeout, jitter: jitter)
        failure.resource = Int(transfer)
        return failure
    }

    @Test("a connection that cannot be made is an outage at once", arguments: OutageCause.allCases)
    func evidence(cause: OutageCause) {
        var health = HostHealth()
        let isOut = health.failed(self.failure(cause), now: 5)
        #expect(isOut == !cause.acceptsConnections)
        #expect((health.outage?.since == 5) == isOut)
    }

    @Test("broken connections are an outage only if two transfers had them since the last response")
    func broken() {
        var health = HostHealth()
        for now in 1...20 { #expect(health.failed(self.failure(.broken, of: 1), now: Int64(now)) == false) }
        health.responded()
        #expect(health.failed(self.failure(.broken, of: 2), now: 21) == false)
        #expect(health.failed(self.failure(.broken, of: 1), now: 22) == true)
        #expect(health.outage?.since == 22)
    }

    @Test("probes are made one at a time, at intervals from 1 s doubled to 60 s")
    func probes() {
        var health = HostHealth()
        var now: Int64 = 0
        _ = health.failed(self.failure(), now: now)
        var delays: [Int64] = []
        for number in UInt64(2)...9 {
            let next = health.outage?.nextProbe ?? 0
            delays.append((next - now) / Self.second)
            #expect(health.permission(at: next - 1) == .held(until: next))
            #expect(health.permission(at: next) == .probe)
            health.probeStarted(by: number, for: number)
            #expect(health.permission(at: next) == .held(until: nil))
            now = next
            #expect(health.failed(self.failure(of: number), now: now) == true)
        }
        #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test("the interval is shorter by up to a quarter")
    func jitter() {
        var health = HostHealth()
        _ = health.failed(self.failure(jitter: 1), now: 0)
        #expect(health.outage?.nextProbe == Self.second * 3 / 4)
    }

    @Test("a probe is made when the time of the transfer that probes is over")
    func lastProbe() {
        var health = HostHealth()
        _ = health.failed(self.failure(timeout: Self.second * 4), now: 0)
        for (number, now) in [(UInt64(1), 1), (2, 3)] as [(UInt64, Int64)] {
            health.probeStarted(by: number, for: number)
            _ = health.failed(self.failure(of: number, timeout: Self.second * 4), now: now * Self.second)
        }
        #expect(health.outage?.nextProbe == 4 * Self.second)
        #expect(health.outage?.served == 2)
    }

    @Test("attempts that were under way when the outage began put off nothing")
    func late() {
        var health = HostHealth()
        _ = health.failed(self.failure(of: 1), now: 0)
        let next = health.outage?.nextProbe
        for number in UInt64(2)...10 { #expect(health.failed(self.failure(of: number), now: 5) == true) }
        #expect(health.outage?.nextProbe == next && health.outage?.failures == 1)
    }

    @Test(
        "a response ends every outage, a connection those in which none could be made",
        arguments: OutageCause.allCases
    )
    func ends(cause: OutageCause) {
        var health = HostHealth()
        _ = health.failed(self.failure(cause, of: 1), now: 0)
        _ = health.failed(self.failure(cause, of: 2), now: 0)
        _ = health.failed(self.failure(cause, of: 3), now: 0)
        var other = health
        let (ended, connected) = (health.responded(), other.connected())
        #expect(ended != nil && health.permission(at: 0) == .free)
        #expect((connected != nil) == !cause.acceptsConnections)
        #expect((other.permission(at: 0) == .free) == !cause.acceptsConnections)
    }

    @Test("a probe that ends without evidence is followed by another one at once")
    func abandoned() {
        var health = HostHealth()
        _ = health.failed(self.failure(), now: 0)
        health.probeStarted(by: 2, for: 9)
        health.probeAbandoned(by: 1)
        #expect(health.permission(at: Self.second) == .held(until: nil))
        health.probeAbandoned(by: 2)
        #expect(health.permission(at: Self.second) == .probe)
        #expect(health.outage?.served == 1)
    }

    @Test("a host is throttled as long as two different transfers were asked to come back later")
    func throttled() {
        var health = HostHealth()
        #expect(health.throttled(1, until: 100, "m", now: 0) == false)
        #expect(health.throttled(1, until: 120, "m", now: 5) == false)
        #expect(health.permission(at: 5) == .free)
        #expect(health.throttled(2, until: 80, "m", now: 10) == true)
        #expect(health.permission(at: 79) == .held(until: 80) && health.permission(at: 80) == .free)
        #expect(health.throttled(3, until: 90, "m", now: 20) == false)
        #expect(health.permission(at: 80) == .held(until: 90))
        #expect(health.throttledSince == 10)
        // A response does not shorten it; the end of a transfer that was asked does.
        health.responded()
        #expect(health.permission(at: 80) == .held(until: 90))
        #expect(health.forgetThrottle(of: 7) == false)
        #expect(health.forgetThrottle(of: 3) == false)
        #expect(health.permission(at: 79) == .held(until: 80))
        #expect(health.forgetThrottle(of: 1) == true)
        #expect(health.permission(at: 20) == .free)
    }

    @Test("a person releases every hold")
    func release() {
        var health = HostHealth()
        _ = health.failed(self.failure(), now: 0)
        _ = health.throttled(1, until: 100, "m", now: 0)
        _ = health.throttled(2, until: 100, "m", now: 0)
        health.release()
        #expect(health.permission(at: 0) == .free)
    }
}

@Suite("The health of the network")
struct NetworkHealthTests {
    private func origin(_ host: String) -> Origin { MachineStage.origin(host) }

    private func failure(_ cause: OutageCause) -> HostHealth.HostFailure {
        HostHealth.HostFailure(cause, "m", transfer: 1, timeout: .max, jitter: 0)
    }

    @Test("three hosts that cannot be reached are an outage of the network")
    func hosts() {
        var network = NetworkHealth()
        for (now, host) in ["a", "b", "a", "b"].enumerated() {
            #expect(network.failed(self.origin(host), self.failure(.unreachable), now: Int64(now)) == false)
        }
        #expect(network.failed(self.origin("c"), self.failure(.resolver), now: 7) == true)
        #expect(network.outage?.since == 0)
    }

    @Test("not if another host responded meanwhile, if they refuse, or if it is this machine")
    func not() {
        var network = NetworkHealth()
        for host in ["a", "b", "c", "d"] {
            #expect(network.failed(self.origin(host), self.failure(.unreachable), now: 0) == false)
            network.responded()
        }
        for host in ["a", "b", "c", "d"] {
            #expect(network.failed(self.origin(host), self.failure(.refused), now: 0) == false)
        }
        for host in ["localhost", "127.0.0.1", "127.0.0.2", "::1"] {
            #expect(network.failed(self.origin(host), self.failure(.unreachable), now: 0) == false)
        }
    }

    @Test(
        "it concerns other hosts, but no address when only the name servers are away",
        arguments: [OutageCause.resolver, .unreachable]
    )
    func concerns(cause: OutageCause) {
        var network = NetworkHealth()
        #expect(!network.concerns(self.origin("x")))
        for host in ["a", "b", "c"] { _ = network.failed(self.origin(host), self.failure(cause), now: 0) }
        #expect(network.concerns(self.origin("x")) && !network.concerns(self.origin("127.0.0.9")))
        #expect(network.concerns(self.origin("10.0.0.1")) == (cause == .unreachable))
        #expect(network.concerns(self.origin("fd00::1")) == (cause == .unreachable))
        let ended = network.responded()
        #expect(ended != nil && !network.concerns(self.origin("x")))
    }
}
