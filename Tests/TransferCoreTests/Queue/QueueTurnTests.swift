// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("The turns of transfers that change while the queue is read")
struct QueueTurnTests {
    /// A machine with waiting transfers, and its first read of the store.
    private func machine(waiting: Int) throws -> (QueueMachine, QueueMachine.Claim) {
        var machine = QueueMachine()
        self.count(waiting, &machine)
        machine.open(nil, limit: 1)
        let claim = self.claim(&machine)
        return (machine, try #require(claim))
    }

    private func count(_ waiting: Int, _ machine: inout QueueMachine) {
        var counts = LaneCounts()
        counts.waiting = waiting
        machine.counted(nil, counts)
    }

    private func claim(_ machine: inout QueueMachine) -> QueueMachine.Claim? {
        guard case .claim(nil, let claim) = machine.next(now: 0) else { return nil }
        return claim
    }

    private func expect(_ action: QueueMachine.Action, _ machine: inout QueueMachine) {
        let next = machine.next(now: 0)
        #expect(next == action)
    }

    private func found(_ ids: UInt64...) -> [QueueMachine.Claimed] {
        ids.map { QueueMachine.Claimed(id: $0, host: 1) }
    }

    @Test("A transfer added to the front during a read of the store precedes what the read finds")
    func addedToFrontDuringRead() throws {
        let (beginning, claim) = try self.machine(waiting: 2)
        var machine = beginning
        self.count(3, &machine)
        machine.added(nil, priority: 0, mayPrecede: true)
        machine.claimed(nil, claim, self.found(1, 2))
        self.expect(.stage(nil, [1, 2]), &machine)
        let next = self.claim(&machine)
        let again = try #require(next)
        #expect(again.replacesStaged)
        machine.claimed(nil, again, self.found(3, 1, 2))
        self.expect(.withdraw(nil, [2, 1]), &machine)
        machine.withdrew(nil, [2, 1], gone: [1, 2])
        self.expect(.stage(nil, [3, 1, 2]), &machine)
    }

    @Test(
        "A greater priority added during a read of the store precedes what the read finds; the same one does not",
        arguments: [(1, true), (0, false)]
    )
    func priorityAddedDuringRead(_ priority: Int, _ replaces: Bool) throws {
        let (beginning, claim) = try self.machine(waiting: 2)
        var machine = beginning
        self.count(3, &machine)
        machine.added(nil, priority: priority, mayPrecede: false)
        machine.claimed(nil, claim, self.found(1, 2))
        self.expect(.stage(nil, [1, 2]), &machine)
        let next = self.claim(&machine)
        #expect(next?.replacesStaged == replaces)
    }

    @Test("A transfer that changes before it is staged keeps its turn")
    func changedBeforeStaging() throws {
        let (beginning, claim) = try self.machine(waiting: 3)
        var machine = beginning
        machine.claimed(nil, claim, self.found(1, 2, 3))
        machine.changed(nil, 1)
        self.expect(.stage(nil, [2, 3]), &machine)
        let next = self.claim(&machine)
        #expect(next?.replacesStaged == true)
    }
}
