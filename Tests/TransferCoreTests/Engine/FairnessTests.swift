// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Sharing the connections of a host")
struct FairnessTests {
    private let a = MachineStage.origin("a")

    @Test("one that holds several connections yields one to a transfer that has none")
    func yields() {
        var stage = MachineStage(limit: 3)
        stage.add()
        stage.starts()
        let taken = stage.acquire(for: 1)
        #expect(taken == 3)
        stage.add()
        let asked = stage.steps()
        #expect(asked == [.yield(TransferID(1), self.a)])
        // It is asked once, and does not take the connection back before the one that waits.
        let again = stage.steps()
        #expect(again.isEmpty)
        stage.release(of: 1)
        let further = stage.acquire(for: 1)
        #expect(further == 0)
        let next = stage.steps()
        #expect(next == [.start(TransferID(2), lane: 0)])
    }

    @Test("as many connections are asked for as are needed, from those that hold most")
    func needed() {
        var stage = MachineStage(limit: 5, perHost: 6)
        stage.add()
        stage.add()
        stage.starts()
        stage.acquire(for: 1, atMost: 2)
        stage.acquire(for: 2)
        for _ in 1...4 { stage.add() }
        // 1 and 2 have three each; three more may start, and each of the two keeps one.
        let asked = stage.steps()
        #expect(asked.count == 3)
        let of1 = asked.count { $0 == .yield(TransferID(1), self.a) }
        #expect(of1 == 1 || of1 == 2)
    }

    @Test("nothing is asked for without a free place, of a held host, or from holders of one connection")
    func notNeeded() {
        var stage = MachineStage(limit: 1)
        stage.add()
        stage.starts()
        stage.acquire(for: 1)
        stage.add()
        let full = stage.steps()
        #expect(full.isEmpty)

        stage = MachineStage(limit: 3, perHost: 1)
        stage.add()
        stage.add()
        let single = stage.steps()
        #expect(single == [.start(TransferID(1), lane: 0)])

        stage = MachineStage(limit: 3, perHost: 2)
        stage.add()
        stage.add(patience: 1_000_000_000)
        stage.starts()
        stage.end(2, MachineStage.refused)
        // The report of the hold is a step, too.
        stage.steps()
        stage.reach(stage.now + 1)
        let held = stage.acquire(for: 1)
        let steps = stage.steps()
        #expect(held == 0 && steps.isEmpty)
    }

    @Test("an ignored request is repeated after a while, an impossible one is dropped with its run")
    func ignored() {
        var stage = MachineStage(limit: 3)
        stage.add()
        stage.starts()
        stage.acquire(for: 1)
        stage.add()
        stage.steps()
        stage.now = EngineMachine.yieldPatience - 1
        let early = stage.steps()
        stage.now = EngineMachine.yieldPatience
        let late = stage.steps()
        #expect(early.isEmpty && late == [.yield(TransferID(1), self.a)])
        stage.release(of: 1, count: 3)
        stage.end(1)
        let next = stage.starts()
        #expect(next == [2])
    }

    @Test("a redirected transfer waits for the other host, whose holder yields")
    func claims() {
        var stage = MachineStage(limit: 3)
        stage.add("a")
        stage.add("b")
        stage.starts()
        stage.acquire(for: 1)
        stage.release("b", of: 2)
        let number = stage.machine.awaitConnection(self.a, for: TransferID(2))
        let asked = stage.steps()
        #expect(asked == [.yield(TransferID(1), self.a)])
        stage.release(of: 1)
        let further = stage.acquire(for: 1)
        let granted = stage.steps()
        #expect(further == 0 && granted == [.grant(number)] && stage.machine.connections(to: self.a) == 4)
        // A wait before those that are in line.
        stage.release(of: 1)
        stage.add("a")
        let second = stage.machine.awaitConnection(self.a, for: TransferID(2))
        let order = stage.steps()
        #expect(order.prefix(1) == [.grant(second)])
    }

    @Test("a transfer that has connections to a host is not asked for one so that it gets another")
    func ownClaim() {
        var stage = MachineStage(limit: 3, perHost: 2)
        stage.add("a")
        stage.starts()
        stage.acquire(for: 1)
        let number = stage.machine.awaitConnection(self.a, for: TransferID(1))
        let none = stage.steps()
        stage.release(of: 1)
        let granted = stage.steps()
        #expect(none.isEmpty && granted == [.grant(number)])
    }

    @Test("what a run waits for is forgotten when it ends")
    func forgottenClaim() {
        var stage = MachineStage(limit: 3, perHost: 1)
        stage.add("a")
        stage.add("b")
        stage.starts()
        stage.release("b", of: 2)
        _ = stage.machine.awaitConnection(self.a, for: TransferID(2))
        _ = stage.machine.runEnded(TransferID(2), .failed, EngineMachine.Tally(), now: 0)
        stage.end(1)
        let steps = stage.steps()
        #expect(steps.isEmpty && stage.machine.connections(to: self.a) == 0)
    }

    @Test(
        "a derived limit does not cut a caller's fixed number, one that was set does",
        arguments: [(nil, 16), (5, 5), (20, 16)]
    )
    func fixed(perHost: Int?, expected: Int) {
        var stage = MachineStage(limit: 5, perHost: perHost)
        stage.add(fixed: 16)
        stage.starts()
        let further = stage.acquire(for: 1, atMost: 15)
        #expect(1 + further == expected)
        stage.machine.hostLimits = ["a": 3]
        stage.add(fixed: 16)
        let asked = stage.steps()
        #expect(!asked.isEmpty && asked.allSatisfy { $0 == .yield(TransferID(1), self.a) })
    }

    @Test("connections of a fixed number leave a derived limit to the others")
    func fixedAndShared() {
        var stage = MachineStage(limit: 5)
        stage.add(fixed: 16)
        stage.add()
        stage.add()
        let started = stage.starts()
        #expect(started == [1, 2, 3])
        let fixed = stage.acquire(for: 1, atMost: 15)
        let shared = stage.acquire(for: 2)
        #expect(fixed == 15 && shared == 3)
        stage.add()
        let asked = stage.steps()
        #expect(asked == [.yield(TransferID(2), self.a)])
    }

    @Test("the connections that a host refused to exceed are its limit for a while, for further ones")
    func learned() {
        var stage = MachineStage(limit: 10, perHost: 10)
        stage.add()
        stage.starts()
        stage.acquire(for: 1, atMost: 2)
        stage.release(of: 1)
        stage.machine.connectionRefused(self.a, now: stage.now)
        let refused = stage.acquire(for: 1)
        #expect(refused == 0)
        stage.add()
        let started = stage.starts()
        #expect(started == [2])
        stage.now = EngineMachine.learnedPeriod
        let later = stage.acquire(for: 1)
        #expect(later == 7)
    }
}
