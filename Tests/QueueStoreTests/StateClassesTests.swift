// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import QueueStore

@Suite struct StateClassesTests {
    /// Rows with codes against rows with states.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aWalkAgreesWithStates(seed: UInt64) {
        var numbers = SeededNumbers(state: seed)
        var classes = StateClasses()
        var codes: [Int64] = []
        var states: [Int64] = []
        for _ in 0..<2000 {
            switch Int.random(in: 0..<8, using: &numbers) {
            case 0:
                classes.pauseAll()
                states = states.map { $0 == 0 ? 1 : $0 }
            case 1:
                classes.resumeAll()
                states = states.map { $0 == 1 ? 0 : $0 }
            case 2 where Int.random(in: 0..<20, using: &numbers) == 0:
                classes.removeAll(at: 1, deletesPartial: false)
                states = states.map { $0 < 2 ? 4 : $0 }
            case 3 where Int.random(in: 0..<20, using: &numbers) == 0:
                classes.forgetAll()
                states = states.map { $0 == 4 ? 5 : $0 }
            default:
                let isPaused = Bool.random(using: &numbers)
                for code in classes.meanings.keys where !codes.contains(code) { classes.drop(code) }
                guard let code = classes.code(for: isPaused ? .paused : .waiting) else {
                    #expect(!classes.twins.isEmpty)
                    continue
                }
                if codes.isEmpty || Bool.random(using: &numbers) {
                    codes.append(code)
                    states.append(isPaused ? 1 : 0)
                } else {
                    let row = Int.random(in: 0..<codes.count, using: &numbers)
                    (codes[row], states[row]) = (code, isPaused ? 1 : 0)
                }
            }
            #expect(codes.map { classes.state(of: $0) } == states)
            let waiting = Set(zip(codes, states).filter { $0.1 == 0 }.map(\.0))
            #expect(waiting.isSubset(of: classes.codes(in: 0b01)))
        }
    }

    @Test func aQueueWithoutOrdersIsUsual() {
        var classes = StateClasses()
        #expect(classes.isUsual && classes.codes(in: 0b11) == [1, 0])
        classes.pauseAll()
        #expect(!classes.isUsual && classes.codes(in: 0b01).isEmpty)
        classes.drop(0)
        #expect(classes.isUsual && classes.code(for: .waiting) == 0)
    }
}
