// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Too few file descriptors")
struct ShortageTests {
    private static let second: Int64 = 1_000_000_000
    private static let shortage = EngineMachine.RunResult.retry(EngineMachine.Failure(isShortage: true, jitter: 0))

    @Test("a transfer that finds no descriptor waits, however often, and fewer run at once")
    func fewer() {
        var stage = MachineStage(limit: 4)
        for _ in 0..<6 { stage.add() }
        stage.starts()
        let verdict = stage.end(4, Self.shortage)
        let none = stage.starts()
        #expect(verdict == .held(attempt: 1, delay: Self.second))
        #expect(none.isEmpty)
        stage.end(1, Self.paused)
        let stillNone = stage.starts()
        #expect(stillNone.isEmpty)
        stage.end(2, Self.paused)
        let one = stage.starts()
        #expect(one == [5])
    }

    private static let paused = EngineMachine.RunResult.paused

    @Test("of those that started together, all that find no descriptor reduce the number once")
    func together() {
        var stage = MachineStage(limit: 64)
        for _ in 0..<64 { stage.add() }
        stage.starts()
        for id in UInt64(25)...64 { stage.end(id, Self.shortage) }
        let none = stage.starts()
        #expect(none.isEmpty && stage.machine.runCount == 24)
        stage.reach(Self.second)
        let more = stage.starts()
        #expect(more.count == 8)
    }

    @Test("each round of transfers that finish adds a place")
    func recovery() {
        var stage = MachineStage(limit: 8)
        for _ in 0..<40 { stage.add() }
        stage.starts()
        for id in UInt64(3)...8 { stage.end(id, Self.shortage) }
        stage.reach(Self.second)
        var running = Set([1, 2] + stage.starts())
        var counts: [Int] = []
        while let id = running.min() {
            running.remove(id)
            stage.end(id, hasResponse: true)
            running.formUnion(stage.starts())
            counts.append(running.count)
        }
        #expect(counts.max() == 8)
    }

    @Test("after a while as many run as before")
    func end() {
        var stage = MachineStage(limit: 3)
        for _ in 0..<3 { stage.add() }
        stage.starts()
        stage.end(3, Self.shortage)
        stage.end(2, Self.shortage)
        stage.steps()
        stage.reach(Self.second)
        let soon = stage.starts()
        stage.reach(AffordablePlaces.period)
        let later = stage.starts()
        stage.reach(2 * AffordablePlaces.period)
        let last = stage.starts()
        #expect(soon.isEmpty && later.count == 1 && Set(later + last) == [2, 3])
    }

    @Test("one that is alone waits as long as in an outage, then fails like any other")
    func alone() {
        var stage = MachineStage(limit: 3)
        stage.add(patience: 2 * Self.second)
        stage.starts()
        for second in Int64(1)...2 {
            let verdict = stage.end(1, Self.shortage)
            #expect(verdict == .held(attempt: Int(second), delay: Self.second))
            stage.reach(second * Self.second)
            let again = stage.starts()
            #expect(again == [1])
        }
        let last = stage.end(1, Self.shortage)
        #expect(last == .refused(.noneLeft(attempts: 3)))
    }

    @Test("without a time for outages one that is alone counts as failed at once")
    func impatient() {
        var stage = MachineStage(limit: 3)
        stage.add()
        stage.starts()
        let verdict = stage.end(1, Self.shortage)
        #expect(verdict == .refused(.noneLeft(attempts: 1)))
    }
}
