import Testing
import TransferTesting
import TransferCore

@Suite("Scheduler")
struct SchedulerTests {
    private let one = Origin(scheme: .http, host: "one.test", port: 80)
    private let two = Origin(scheme: .http, host: "two.test", port: 80)

    private func id(_ number: UInt64) -> TransferID { TransferID(number) }

    @Test("first in, first out inside one priority and host")
    func order() {
        var scheduler = Scheduler(limit: 10, perHost: 10)
        for number in 1...5 { scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal) }
        let order = (1...5).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(order == [1, 2, 3, 4, 5])
        let result16 = scheduler.admitNext(now: 0) == nil
        #expect(result16)
    }

    @Test("a host's own limit holds in place of the one for all, whatever its port")
    func hostLimits() {
        var scheduler = Scheduler(limit: 10, perHost: 2)
        scheduler.hostLimits = ["one.test": 1, "two.test": 3]
        for number in 1...4 {
            scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal)
            scheduler.enqueue(self.id(UInt64(number + 10)), origin: self.two, priority: .normal)
        }
        let started = (1...10).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(started.filter { $0 < 10 } == [1] && started.filter { $0 > 10 } == [11, 12, 13])
        scheduler.hostLimits = [:]
        let next = scheduler.admitNext(now: 0)
        #expect(next == self.id(2))
    }

    @Test("a more urgent priority starts first")
    func priorities() {
        var scheduler = Scheduler(limit: 10, perHost: 10)
        scheduler.enqueue(self.id(1), origin: self.one, priority: .low)
        scheduler.enqueue(self.id(2), origin: self.one, priority: .normal)
        scheduler.enqueue(self.id(3), origin: self.one, priority: .high)
        scheduler.enqueue(self.id(4), origin: self.one, priority: .foreground)
        let order = (1...4).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(order == [4, 3, 2, 1])
    }

    @Test("hosts take turns, so that a long line for one does not hold up another")
    func roundRobin() {
        var scheduler = Scheduler(limit: 10, perHost: 10)
        for number in 1...4 { scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal) }
        scheduler.enqueue(self.id(5), origin: self.two, priority: .normal)
        let order = (1...5).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(order == [1, 5, 2, 3, 4])
    }

    @Test("the cap per host holds over all transfers, and the next host goes on")
    func perHost() {
        var scheduler = Scheduler(limit: 10, perHost: 2)
        for number in 1...3 { scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal) }
        scheduler.enqueue(self.id(9), origin: self.two, priority: .normal)
        let order = (1...4).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(order == [1, 9, 2])
        let result46 = !scheduler.acquireConnection(self.one, now: 0)
        #expect(result46)
        scheduler.releaseConnection(self.one)
        let result48 = scheduler.admitNext(now: 0)?.rawValue == 3
        #expect(result48)
    }

    @Test("the limit can change while it runs")
    func limit() {
        var scheduler = Scheduler(limit: 1, perHost: 10)
        for number in 1...3 { scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal) }
        let result55 = scheduler.admitNext(now: 0) != nil
        #expect(result55)
        let result56 = scheduler.admitNext(now: 0) == nil
        #expect(result56)
        scheduler.limit = 2
        let result58 = scheduler.admitNext(now: 0) != nil
        #expect(result58)
        scheduler.limit = 1
        scheduler.ended()
        let result61 = scheduler.admitNext(now: 0) == nil
        #expect(result61)
        scheduler.ended()
        let result63 = scheduler.admitNext(now: 0) != nil
        #expect(result63)
    }

    @Test("under a constant supply of high ones a low one starts within the stated bound")
    func ageing() {
        var scheduler = Scheduler(limit: 1, perHost: 10)
        scheduler.enqueue(self.id(1), origin: self.one, priority: .low)
        scheduler.enqueue(self.id(2), origin: self.one, priority: .normal)
        scheduler.enqueue(self.id(3), origin: self.one, priority: .high)
        var next: UInt64 = 10
        var startedAt: [UInt64: Int] = [:]
        for start in 1...Scheduler.ageingPeriod + 3 {
            scheduler.enqueue(self.id(next), origin: self.one, priority: .foreground)
            next += 1
            if let id = scheduler.admitNext(now: 0)?.rawValue { startedAt[id] = start }
            scheduler.ended()
            scheduler.releaseConnection(self.one)
        }
        #expect(startedAt[1] != nil)
        #expect(startedAt[2] != nil)
        #expect(startedAt[3] != nil)
    }

    @Test("a host that is held back starts nothing until its time; others go on")
    func heldBack() {
        var scheduler = Scheduler(limit: 10, perHost: 10)
        scheduler.enqueue(self.id(1), origin: self.one, priority: .normal)
        scheduler.enqueue(self.id(2), origin: self.two, priority: .normal)
        scheduler.holdBack(self.one, until: 100)
        let result92 = scheduler.admitNext(now: 0)?.rawValue == 2
        #expect(result92)
        let result93 = scheduler.admitNext(now: 99) == nil
        #expect(result93)
        let result94 = scheduler.admitNext(now: 100)?.rawValue == 1
        #expect(result94)
    }

    @Test("what is removed never starts; what changes its priority starts once")
    func removal() {
        var scheduler = Scheduler(limit: 10, perHost: 10)
        for number in 1...3 { scheduler.enqueue(self.id(UInt64(number)), origin: self.one, priority: .normal) }
        let result101 = scheduler.remove(self.id(1))
        #expect(result101)
        let result102 = !scheduler.remove(self.id(1))
        #expect(result102)
        scheduler.setPriority(.high, of: self.id(3))
        let order = (1...3).compactMap { _ in scheduler.admitNext(now: 0)?.rawValue }
        #expect(order == [3, 2])
        #expect(scheduler.waitingCount == 0)
    }

    @Test("random walk: caps hold, nothing is lost, nothing starts twice", arguments: 1...20)
    func randomWalk(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let origins = (0..<4).map { Origin(scheme: .http, host: "h\($0).test", port: 80) }
        var scheduler = Scheduler(limit: 5, perHost: 2)
        var waiting: [TransferID: Origin] = [:]
        var running: [TransferID: Origin] = [:]
        var seen: Set<TransferID> = []
        var next: UInt64 = 1
        for _ in 0..<2000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let origin = origins[Int.random(in: 0..<4, using: &random)]
                let priority = Priority.allCases[Int.random(in: 0..<4, using: &random)]
                scheduler.enqueue(TransferID(next), origin: origin, priority: priority)
                waiting[TransferID(next)] = origin
                next += 1
            case 4..<8:
                if let id = scheduler.admitNext(now: 0) {
                    let result128 = seen.insert(id).inserted
                    #expect(result128)
                    running[id] = waiting.removeValue(forKey: id)
                    #expect(running[id] != nil)
                }
            case 8:
                if let (id, origin) = running.first {
                    running[id] = nil
                    scheduler.ended()
                    scheduler.releaseConnection(origin)
                }
            default:
                if let id = waiting.keys.first {
                    let result140 = scheduler.remove(id)
                    #expect(result140)
                    waiting[id] = nil
                }
            }
            #expect(running.count <= 5)
            for origin in origins { #expect(running.values.count { $0 == origin } <= 2) }
            #expect(scheduler.waitingCount == waiting.count)
            #expect(scheduler.runningCount == running.count)
        }
    }
}
