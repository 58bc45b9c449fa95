// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import MartletURLSession

@Suite("The life of a URLSession's task")
struct TaskLifecycleTests {
    /// The same rules, told by the whole history instead of a state.
    private struct Naive {
        var commands: [Command] = []

        var effects: [TaskLifecycle.Effect] {
            var effects: [TaskLifecycle.Effect] = []
            var balance = 1
            var isOver = false
            for command in self.commands {
                var effect = TaskLifecycle.Effect.nothing
                switch command {
                case .resume where !isOver && balance > 0:
                    balance -= 1
                    if balance == 0 { effect = effects.contains(.start) ? .resume : .start }
                case .suspend where !isOver:
                    balance += 1
                    if balance == 1 { effect = .suspend }
                case .cancel where !isOver:
                    isOver = true
                    effect = .cancel
                case .complete: isOver = true
                case .resume, .suspend, .cancel: break
                }
                effects.append(effect)
            }
            return effects
        }

        var state: TaskLifecycle.State {
            if self.commands.contains(.complete) { return .completed }
            if self.effects.contains(.cancel) { return .canceling }
            let moves = self.effects.filter { $0 != .nothing }
            return moves.last == .start || moves.last == .resume ? .running : .suspended
        }
    }

    private enum Command: CaseIterable { case resume, suspend, cancel, complete }

    @Test("follows its commands as a history does") func walks() {
        for seed in 0..<2000 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var life = TaskLifecycle()
            var naive = Naive()
            for _ in 0..<Int.random(in: 1...14, using: &generator) {
                // Ends are rare.
                let isEnd = Int.random(in: 0..<6, using: &generator) == 0
                let command: Command =
                    isEnd
                    ? (Bool.random(using: &generator) ? .cancel : .complete)
                    : (Bool.random(using: &generator) ? .resume : .suspend)
                let wasComplete = naive.commands.contains(.complete)
                naive.commands.append(command)
                let effect: TaskLifecycle.Effect
                switch command {
                case .resume: effect = life.resume()
                case .suspend: effect = life.suspend()
                case .cancel: effect = life.cancel()
                case .complete:
                    effect = .nothing
                    #expect(life.complete() == !wasComplete)
                }
                #expect(effect == naive.effects.last, "seed \(seed): \(naive.commands)")
                #expect(life.state == naive.state, "seed \(seed): \(naive.commands)")
            }
        }
    }

    @Test("continues that of an earlier run", arguments: [false, true]) func adopts(_ isSuspended: Bool) {
        var life = TaskLifecycle.adopted(isSuspended: isSuspended)
        #expect(life.hasStarted && life.state == (isSuspended ? .suspended : .running))
        #expect(isSuspended ? life.resume() == .resume : life.suspend() == .suspend)
    }

    @Test("the number and the description of a background session's task are kept")
    func keptInfo() {
        for description in [nil, "", "a b  c", "7 lines"] {
            let kept = KeptInfo(KeptInfo(number: 17, description: description).text)
            #expect(kept?.number == 17 && kept?.description == description)
        }
        #expect(KeptInfo("something else") == nil && KeptInfo("") == nil)
    }
}
