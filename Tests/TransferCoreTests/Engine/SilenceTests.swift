// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Hosts that do not respond")
struct SilenceTests {
    private static let second: Int64 = 1_000_000_000

    /// A stage in which all places are taken by runs of a host that has not responded for 5 s.
    private func silent(limit: Int = 2, waiting: Int = 3) -> MachineStage {
        var stage = MachineStage(limit: limit)
        for _ in 0..<(limit + waiting) { stage.add("slow") }
        stage.starts()
        stage.now = EngineMachine.silence
        _ = stage.machine.ticked(now: stage.now)
        return stage
    }

    @Test("a transfer of another host takes a lent place; those of the silent one wait")
    func lending() {
        var stage = self.silent()
        let own = stage.starts()
        stage.add("good")
        stage.add("good")
        stage.add("good")
        let others = stage.starts()
        #expect(own.isEmpty && others == [6, 7])
        #expect(stage.machine.runCount == 4)
        stage.end(6, host: "good", hasResponse: true)
        let next = stage.starts()
        #expect(next == [8])
    }

    @Test("nothing is lent before the time")
    func early() {
        var stage = MachineStage(limit: 2)
        for _ in 0..<2 { stage.add("slow") }
        stage.starts()
        stage.add("good")
        stage.now = EngineMachine.silence - 1
        _ = stage.machine.ticked(now: stage.now)
        let early = stage.starts()
        stage.now += 1
        _ = stage.machine.ticked(now: stage.now)
        let late = stage.starts()
        #expect(early.isEmpty && late == [3])
    }

    @Test("a limit of 1 is an order: nothing is lent")
    func one() {
        var stage = self.silent(limit: 1, waiting: 1)
        stage.add("good")
        let starts = stage.starts()
        #expect(starts.isEmpty)
    }

    @Test("a response ends the silence: no more start until the runs are fewer than the limit")
    func response() {
        var stage = self.silent()
        stage.add("good")
        stage.starts()
        stage.machine.hostResponds(to: TransferID(1), status: 200, now: stage.now)
        stage.add("good")
        let beyond = stage.starts()
        stage.end(6, host: "good", hasResponse: true)
        let full = stage.starts()
        stage.end(1, host: "slow", hasResponse: true)
        let next = stage.starts()
        #expect(beyond.isEmpty && full.isEmpty && next == [3])
    }

    @Test("a response to one run of a host within the time keeps the others from lending")
    func slowResources() {
        var stage = MachineStage(limit: 2)
        for _ in 0..<2 { stage.add("a") }
        stage.starts()
        stage.add("b")
        stage.now = 3 * Self.second
        stage.machine.hostResponds(to: TransferID(1), status: 200, now: stage.now)
        stage.now = 6 * Self.second
        _ = stage.machine.ticked(now: stage.now)
        let soon = stage.starts()
        stage.now = 8 * Self.second
        _ = stage.machine.ticked(now: stage.now)
        let later = stage.starts()
        #expect(soon.isEmpty && later == [3])
    }

    @Test("a silent host takes the places that are left over, and its runs that end are replaced")
    func leftOver() {
        var stage = self.silent(limit: 2, waiting: 3)
        stage.end(1, host: "slow", .failed)
        let replaced = stage.starts()
        stage.add("good")
        let good = stage.starts()
        #expect(replaced == [3] && good == [6])
    }

    @Test("once no run of it is left, a host has its turn like others")
    func turn() {
        var stage = self.silent(limit: 2, waiting: 2)
        for _ in 0..<4 { stage.add("good") }
        stage.starts()
        for id in [1, 2] as [UInt64] { stage.end(id, host: "slow", .failed) }
        for id in [5, 6] as [UInt64] { stage.end(id, host: "good", hasResponse: true) }
        let next = stage.starts()
        #expect(next.count == 2 && next.contains { $0 == 3 || $0 == 4 })
    }

    @Test("no more is lent than the limit, or 32 places")
    func most() {
        var stage = MachineStage(limit: 40)
        for index in 0..<200 { stage.add("h\(index)") }
        var counts: [Int] = []
        for _ in 0..<3 {
            counts.append(stage.starts().count)
            stage.now += EngineMachine.silence
            _ = stage.machine.ticked(now: stage.now)
        }
        #expect(counts == [40, 40, 0])
        var few = MachineStage(limit: 2)
        for index in 0..<200 { few.add("h\(index)") }
        for _ in 0..<100 {
            few.starts()
            few.now += EngineMachine.silence
            _ = few.machine.ticked(now: few.now)
        }
        #expect(few.machine.runCount == 34)
    }

    @Test("places that are lent count as free for those who add transfers")
    func feeding() {
        var stage = self.silent()
        stage.steps()
        #expect(stage.machine.hasIdlePlaces)
        #expect(stage.machine.isStarving(atMost: 0, limit: 100))
    }
}
