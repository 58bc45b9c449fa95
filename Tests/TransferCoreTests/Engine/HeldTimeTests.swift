// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Time limits of transfers whose hosts are held")
struct HeldTimeTests {
    private static let second: Int64 = 1_000_000_000
    private static let day: Int64 = 86_400_000_000_000

    /// Lets time pass until a time; every attempt is refused.
    private func refuse(_ stage: inout MachineStage, until end: Int64) -> [EngineMachine.Step] {
        var steps: [EngineMachine.Step] = []
        while true {
            let news = stage.steps()
            steps += news
            for case .start(let id, _) in news { stage.end(id.rawValue, MachineStage.refused) }
            guard news.isEmpty else { continue }
            guard let time = stage.wakeUp, time <= end else { break }
            stage.reach(time)
        }
        stage.reach(end)
        return steps + stage.steps()
    }

    private func runOuts(_ steps: [EngineMachine.Step]) -> [UInt64] {
        steps.compactMap { if case .runOut(let id, _) = $0 { id.rawValue } else { nil } }
    }

    @Test("The time that a host is held counts after the first attempt, and ends the transfer at its limit")
    func ends() {
        var stage = MachineStage()
        stage.add(patience: Self.day) { $0.totalTimeout = 20 * Self.second }
        let before = self.refuse(&stage, until: 20 * Self.second - 1)
        #expect(self.runOuts(before).isEmpty && stage.state(1) == .waiting)
        let end = self.refuse(&stage, until: 20 * Self.second)
        #expect(self.runOuts(end) == [1] && stage.machine.isIdle)
        for case .runOut(_, let hold) in end { #expect(hold?.cause == .refused && hold?.since == 0) }
    }

    @Test("Many transfers of a held host: those that have made an attempt end at their limits, others wait")
    func many() {
        var stage = MachineStage(limit: 2)
        for _ in 1...3 { stage.add(patience: Self.day) { $0.totalTimeout = 5 * Self.second } }
        // Both that run are refused, and one of them makes each attempt; the third one never starts before they end.
        #expect(self.runOuts(self.refuse(&stage, until: 5 * Self.second - 1)).isEmpty)
        #expect(self.runOuts(self.refuse(&stage, until: 5 * Self.second)).sorted() == [1, 2])
        #expect(stage.state(3) != nil)
        let rest = self.refuse(&stage, until: 30 * Self.second)
        #expect(self.runOuts(rest) == [3])
    }

    @Test("The time that a transfer waits for a place does not count, also while its host is due for an attempt")
    func places() {
        var stage = MachineStage(limit: 1)
        stage.add("a", patience: Self.day) { $0.totalTimeout = 3 * Self.second }
        #expect(stage.starts() == [1])
        stage.add("b")
        stage.end(1, MachineStage.refused)
        #expect(stage.starts() == [2])
        // The attempt of the first one is due after a second, and the other one runs for an hour.
        while let time = stage.wakeUp, time < 3600 * Self.second {
            stage.reach(time)
            #expect(stage.steps().isEmpty)
        }
        stage.reach(3600 * Self.second)
        #expect(stage.steps().isEmpty && stage.state(1) == .waiting)
        stage.end(2, host: "b")
        #expect(stage.starts() == [1])
        // One second was counted while the host was held.
        #expect(stage.machine.earlierRuns(of: TransferID(1)).activeTime == Self.second)
        stage.end(1, MachineStage.refused)
        #expect(self.runOuts(self.refuse(&stage, until: 3602 * Self.second - 1)).isEmpty)
        #expect(self.runOuts(self.refuse(&stage, until: 3602 * Self.second)) == [1])
    }

    @Test("A pause does not count, and the time before it does")
    func pauses() {
        var stage = MachineStage()
        let id = stage.add(patience: Self.day) { $0.totalTimeout = 10 * Self.second }
        stage.starts()
        stage.end(1, MachineStage.refused)
        stage.steps()
        stage.now = Self.second / 2
        #expect(stage.machine.pause(id, now: stage.now) == .paused)
        #expect(stage.machine.earlierRuns(of: id).activeTime == Self.second / 2)
        stage.reach(500 * Self.second)
        #expect(stage.steps().isEmpty)
        _ = stage.machine.resume(id)
        let before = self.refuse(&stage, until: 509 * Self.second)
        #expect(self.runOuts(before).isEmpty)
        #expect(self.runOuts(self.refuse(&stage, until: 510 * Self.second)) == [1])
    }

    @Test("Without a limit nothing is timed")
    func unlimited() {
        var stage = MachineStage()
        stage.add(patience: Self.day)
        #expect(self.runOuts(self.refuse(&stage, until: 3600 * Self.second)).isEmpty)
        #expect(stage.machine.earlierRuns(of: TransferID(1)).activeTime == 0)
    }
}
