// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Outages of hosts and of the network")
struct OutageTests {
    private static let second: Int64 = 1_000_000_000
    private static let patience: Int64 = 30 * second

    /// A stage with so many transfers of host "a" that wait out an outage of 30 s, of which the first was refused.
    private func stage(_ count: Int, limit: Int = 10, hosts: [String] = ["a"]) -> MachineStage {
        var stage = MachineStage(limit: limit)
        for index in 0..<count { stage.add(hosts[index % hosts.count], patience: Self.patience) }
        return stage
    }

    @Test("the transfers of a host that refuses wait without using up retries, and are probed for one at a time")
    func waits() {
        var stage = self.stage(1)
        stage.starts()
        let first = stage.end(1, MachineStage.refused)
        for _ in 2...100 { stage.add("a", patience: Self.patience) }
        var starts: [[UInt64]] = [stage.starts()]
        for time in [1, 3, 7] as [Int64] {
            stage.reach(time * Self.second)
            starts.append(stage.starts())
            let verdict = stage.end(1, MachineStage.refused)
            #expect(!verdict.isEnd)
        }
        #expect(first == .held(attempt: 1, delay: Self.second))
        #expect(starts == [[], [1], [1], [1]] && stage.machine.waitingCount == 100)
    }

    @Test("an outage of which this machine is the cause is waited out without a limit, if the engine is to do so")
    func machine() {
        let resolver = EngineMachine.RunResult.retry(EngineMachine.Failure(OutageEvidence(.resolver), jitter: 0))
        for (result, waits) in [(resolver, true), (MachineStage.refused, false)] {
            var stage = self.stage(2)
            stage.machine.waitsForMachine = true
            var verdicts: [EngineMachine.Verdict] = []
            var expired: [UInt64] = []
            for id in stage.starts() { verdicts.append(stage.end(id, result)) }
            expired += stage.expirations()
            while stage.now < 10 * Self.patience, let time = stage.wakeUp {
                stage.reach(time)
                for id in stage.starts() { verdicts.append(stage.end(id, result)) }
                expired += stage.expirations()
            }
            #expect(verdicts.count > 2)
            #expect((verdicts.allSatisfy { !$0.isEnd } && expired.isEmpty) == waits)
        }
    }

    @Test("a transfer of another host starts at once, however many wait for a held one")
    func others() {
        var stage = self.stage(5)
        stage.starts()
        for id in 1...5 as ClosedRange<UInt64> { stage.end(id, MachineStage.refused) }
        for _ in 1...1000 { stage.add("a", patience: Self.patience) }
        let good = stage.add("b")
        let starts = stage.starts()
        #expect(starts == [good.rawValue])
    }

    @Test("everything continues when a probe makes a connection, before its response")
    func back() {
        var stage = self.stage(5, limit: 4)
        stage.starts()
        for id in 1...4 as ClosedRange<UInt64> { stage.end(id, MachineStage.refused) }
        stage.reach(Self.second)
        let probe = stage.starts()
        #expect(probe.count == 1)
        stage.machine.hostReached(TransferID(probe[0]), status: nil, now: stage.now)
        let rest = stage.starts()
        #expect(rest.count == 3 && stage.machine.hold(of: MachineStage.origin("a"), at: stage.now) == nil)
    }

    @Test("broken connections hold the host until a response, and every other probe is another transfer's")
    func broken() {
        var stage = self.stage(4)
        stage.starts()
        let one = stage.end(1, MachineStage.cut)
        let two = stage.end(2, MachineStage.cut)
        #expect(one == .refused(.noneLeft(attempts: 1)))
        #expect(two == .held(attempt: 1, delay: Self.second))
        stage.end(3, MachineStage.cut)
        stage.end(4, MachineStage.cut)
        stage.reach(Self.second)
        let probe = stage.starts()
        stage.machine.hostReached(TransferID(probe[0]), status: nil, now: stage.now)
        let none = stage.starts()
        stage.end(probe[0], MachineStage.cut)
        stage.reach(3 * Self.second)
        let again = stage.starts()
        stage.end(again[0], MachineStage.cut)
        stage.reach(7 * Self.second)
        let next = stage.starts()
        stage.machine.hostReached(TransferID(next[0]), status: 200, now: stage.now)
        let rest = stage.starts()
        #expect(probe == again && none.isEmpty && next != probe && rest.count == 2)
    }

    @Test("one resource whose connections break uses up its retries, and holds nothing")
    func oneResource() {
        var stage = MachineStage()
        stage.add("a", retries: 3, patience: Self.patience)
        stage.starts()
        for _ in 1...3 {
            stage.add("a", patience: Self.patience)
            let verdict = stage.end(1, MachineStage.cut)
            #expect(!verdict.isEnd)
            let others = stage.starts()
            #expect(!others.isEmpty)
            stage.end(others[0], hasResponse: true)
            stage.reach(stage.now + Self.patience)
            stage.starts()
        }
        let last = stage.end(1, MachineStage.cut)
        #expect(last == .refused(.noneLeft(attempts: 4)))
    }

    @Test("no transfer fails before the outage has lasted as long as it waits, then all do that a probe was made for")
    func timeout() {
        var stage = self.stage(20, limit: 1)
        stage.add("a", patience: 2 * Self.patience)
        stage.starts()
        stage.end(1, MachineStage.refused)
        stage.steps()
        var probes = 0
        var expired: [UInt64] = []
        var failed: [EngineMachine.Verdict] = []
        while stage.now < Self.patience, stage.wakeUp != nil {
            stage.reach(stage.wakeUp ?? stage.now + Self.second)
            let starts = stage.starts()
            guard let id = starts.first else { continue }
            probes += 1
            #expect(expired.isEmpty)
            let verdict = stage.end(id, MachineStage.refused)
            if verdict.isEnd { failed.append(verdict) }
            expired = stage.expirations()
        }
        #expect(stage.now == Self.patience && probes == 5)
        #expect(failed.count == 1 && expired.count == 19 && stage.machine.waitingCount == 1)
        #expect(stage.machine.totals.failed == 20)
        // A later one gets an attempt, soon, and the outage is not shortened by it.
        let late = stage.add("a", patience: Self.patience)
        let other = stage.add("b", patience: Self.patience)
        let none = stage.starts()
        #expect(none == [other.rawValue] && stage.state(late.rawValue) == .waiting)
    }

    @Test("one that is added to a host that nothing else waits for is tried within a second, and fails then")
    func newcomer() {
        var stage = self.stage(1)
        stage.starts()
        stage.end(1, MachineStage.refused)
        for time in [1, 3, 7, 15, 30] as [Int64] {
            stage.reach(time * Self.second)
            stage.starts()
            stage.end(1, MachineStage.refused)
        }
        #expect(stage.machine.isIdle)
        stage.now = 30 * Self.second + 5
        stage.add("a", patience: Self.patience)
        let early = stage.starts()
        stage.reach(31 * Self.second)
        let start = stage.starts()
        #expect(early.isEmpty && start == [2])
        let verdict = stage.end(2, MachineStage.refused)
        guard case .refused(.outage(let hold)) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(hold.since == 0 && hold.cause == .refused)
    }

    @Test(
        "one that waited elsewhere while attempts failed for longer than it waits fails at once, a newer one does not"
    )
    func waitedElsewhere() {
        var stage = self.stage(2)
        stage.starts()
        while stage.now <= Self.patience {
            for id in [1, 2] as [UInt64] where stage.state(id) == .running { stage.end(id, MachineStage.refused) }
            stage.starts()
            stage.reach(stage.wakeUp ?? stage.now + Self.second)
            stage.starts()
        }
        for id in [1, 2] as [UInt64] where stage.state(id) == .running { stage.end(id, MachineStage.refused) }
        _ = stage.expirations()
        // Something else that waits longer keeps the outage known.
        stage.add("a", patience: 100 * Self.patience)
        let old = stage.add("a", patience: Self.patience) { $0.waitsSince = 5 * Self.second }
        let now = stage.now
        let new = stage.add("a", patience: Self.patience) { $0.waitsSince = now }
        let patient = stage.add("a", patience: 2 * Self.patience) { $0.waitsSince = 5 * Self.second }
        let expired = stage.expirations()
        #expect(expired == [old.rawValue])
        #expect(stage.state(new.rawValue) == .waiting && stage.state(patient.rawValue) == .waiting)
    }

    @Test("attempts count as retries where the caller wants it")
    func counted() {
        var stage = MachineStage()
        stage.add("a", retries: 1, patience: Self.patience) { $0.countsOutages = true }
        stage.starts()
        let first = stage.end(1, MachineStage.refused)
        stage.reach(Self.second)
        stage.starts()
        let second = stage.end(1, MachineStage.refused)
        #expect(first == .held(attempt: 1, delay: Self.second))
        #expect(second == .refused(.noneLeft(attempts: 2)))
    }

    @Test("where outages are not waited out, attempts fail one by one, by their retries")
    func impatient() {
        var stage = MachineStage()
        for _ in 1...3 { stage.add("a", retries: 1) }
        stage.starts()
        let verdict = stage.end(1, MachineStage.refused)
        #expect(verdict == .retrying(attempt: 1, delay: MachineStage.firstDelay))
        #expect(stage.machine.holds(at: 0).isEmpty)
    }

    @Test("the network is held after three hosts, and probed by one transfer for all")
    func network() {
        var stage = MachineStage(limit: 10)
        for index in 1...200 { stage.add("h\(index)", patience: Self.patience) }
        stage.add("127.0.0.1")
        var started = stage.starts()
        #expect(started.count == 10)
        for id in started {
            let verdict = stage.end(id, host: "h\(id)", MachineStage.unreachable)
            #expect(!verdict.isEnd)
        }
        // This machine is not concerned.
        started = stage.starts()
        #expect(started == [201])
        stage.end(201, host: "127.0.0.1")
        stage.steps()
        var probes = 0
        while stage.now < 10 * Self.second, let time = stage.wakeUp {
            stage.reach(time)
            let starts = stage.starts()
            #expect(starts.count <= 1)
            probes += starts.count
            for id in starts { stage.end(id, host: "h\(id)", MachineStage.unreachable) }
            stage.steps()
        }
        #expect((3...6).contains(probes), "\(probes) probes")
        #expect(stage.machine.holds(at: stage.now).first?.reason == .network)
        while let time = stage.wakeUp {
            stage.reach(time)
            let starts = stage.starts()
            guard let id = starts.first else { continue }
            stage.machine.hostReached(TransferID(id), status: nil, now: stage.now)
            let all = stage.starts()
            #expect(all.count == 9)
            break
        }
    }

    @Test("every transfer that waits for the network fails when its time is over, also those never attempted")
    func networkTimeout() {
        var stage = MachineStage(limit: 4)
        for index in 1...50 { stage.add("h\(index)", patience: Self.patience) }
        var attempts = 0
        for _ in 0..<1000 {
            let starts = stage.starts()
            attempts += starts.count
            for id in starts { stage.end(id, host: "h\(id)", MachineStage.unreachable) }
            if !starts.isEmpty { continue }
            guard !stage.machine.isIdle, let time = stage.wakeUp else { break }
            stage.reach(time)
        }
        #expect(stage.machine.isIdle && stage.machine.totals.failed == 50)
        #expect(stage.now >= Self.patience && stage.now < Self.patience + 33 * Self.second)
        #expect(attempts < 20)
    }

    @Test("through a proxy the proxy is held, for all hosts")
    func proxy() {
        let proxy = MachineStage.origin("proxy")
        var stage = MachineStage(limit: 3)
        for index in 1...20 { stage.add("h\(index)", patience: Self.patience) { $0.gate = proxy } }
        for id in stage.starts() {
            stage.end(id, host: "h\(id)", .retry(.init(OutageEvidence(.refused, peer: proxy), jitter: 0)))
        }
        let none = stage.starts()
        stage.reach(Self.second)
        let probe = stage.starts()
        #expect(none.isEmpty && probe.count == 1)
        #expect(stage.machine.holds(at: stage.now).map(\.origin) == [proxy])
        stage.machine.hostReached(TransferID(probe[0]), status: 200, now: stage.now)
        let rest = stage.starts()
        #expect(rest.count == 2)
    }

    @Test("a redirect to a host that is away holds that host, and the transfer tries again without using up retries")
    func redirected() {
        let target = MachineStage.origin("b")
        let failure = EngineMachine.RunResult.retry(.init(OutageEvidence(.refused, peer: target), jitter: 0))
        var stage = self.stage(2)
        stage.add("a")
        stage.starts()
        let first = stage.end(1, failure)
        #expect(first == .held(attempt: 1, delay: Self.second))
        #expect(stage.state(1) == .retrying(at: Self.second))
        #expect(stage.machine.holds(at: 0).map(\.origin) == [target])
        var now: Int64 = 0
        var ends: [EngineMachine.Verdict] = []
        while ends.isEmpty, case .retrying(let time)? = stage.state(1) {
            now = time
            stage.reach(time)
            stage.starts()
            let verdict = stage.end(1, failure)
            if verdict.isEnd { ends.append(verdict) }
        }
        #expect(now == Self.patience && ends.count == 1)
    }

    @Test("holds begin and end with one report each, and can be released by a person")
    func reports() {
        var stage = self.stage(3)
        stage.starts()
        for id in 1...3 as ClosedRange<UInt64> { stage.end(id, MachineStage.refused) }
        let begun = stage.steps()
        stage.machine.releaseHolds(of: MachineStage.origin("a"), now: stage.now)
        let ended = stage.steps()
        guard case .held(let hold)? = begun.first, case .released? = ended.first else {
            Issue.record("\(begun) \(ended)")
            return
        }
        #expect(begun.count == 1 && ended.count == 4)
        #expect(hold.reason == .unreachable && hold.since == 0 && hold.nextTry == Self.second)
    }

    @Test("two transfers that are asked to come back later hold the host; it is released when one of them is cancelled")
    func throttled() {
        var stage = MachineStage()
        for _ in 1...2 { stage.add(retries: 3) }
        stage.starts()
        stage.end(1, MachineStage.throttled(100), hasResponse: true)
        stage.add()
        let free = stage.starts()
        stage.end(2, MachineStage.throttled(90), hasResponse: true)
        stage.add()
        let held = stage.steps()
        #expect(free == [3])
        guard case .held(let hold)? = held.first else {
            Issue.record("\(held)")
            return
        }
        #expect(held.count == 1 && hold.reason == .throttled && hold.nextTry == 90 * Self.second)
        var other = stage
        _ = stage.machine.cancel(TransferID(1), keeping: false)
        let released = stage.steps()
        #expect(released.count == 2 && released.last == .start(TransferID(4), lane: 0))
        // By itself it ends when the time of the second is over.
        other.reach(90 * Self.second)
        let later = other.starts()
        #expect(later == [2, 4])
    }

    @Test("a queue takes more transfers while none of those that wait may start")
    func starving() {
        var stage = MachineStage(limit: 2)
        for _ in 1...500 { stage.add("a", patience: Self.patience) }
        stage.starts()
        #expect(!stage.machine.isStarving(atMost: 100, limit: 1000))
        for id in [1, 2] as [UInt64] { stage.end(id, MachineStage.refused) }
        stage.starts()
        #expect(stage.machine.isStarving(atMost: 100, limit: 1000))
        #expect(!stage.machine.isStarving(atMost: 100, limit: 400))
        let wait = stage.machine.wait(for: .starving(atMost: 100, limit: 1000))
        let resumed = stage.steps()
        #expect(resumed == [.resume(wait)])
    }

    @Test("a held host costs nothing per start of others")
    func parked() {
        var stage = MachineStage(limit: 5)
        for index in 1...2000 { stage.add("h\(index)", patience: Self.patience) }
        while true {
            let starts = stage.starts()
            if starts.isEmpty { break }
            for id in starts { stage.end(id, host: "h\(id)", MachineStage.refused) }
        }
        let first = stage.add("good")
        for _ in 1...99 { stage.add("good") }
        var done = 0
        for _ in 1...100 {
            for id in stage.starts() {
                stage.end(id, host: "good")
                done += 1
            }
        }
        #expect(done == 100 && first.rawValue == 2001)
        #expect(stage.machine.storage.due <= 2001)
    }
}
