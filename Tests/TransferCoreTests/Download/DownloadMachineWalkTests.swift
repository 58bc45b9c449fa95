// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: random walks")
struct DownloadMachineWalkTests {
    @Test("no version is mixed, no byte lost, no slot kept, every run ends once", arguments: 0..<8 as Range<UInt64>)
    func walk(block: UInt64) {
        var steps = 0
        var results: [String: Int] = [:]
        for seed in 0..<60 as Range<UInt64> {
            let walk = MachineWalk(seed: block * 1000 + seed)
            while walk.step() {}
            steps += walk.steps
            results[walk.result ?? "unfinished", default: 0] += 1
        }
        #expect(steps > 3_000)
        #expect(results["finished", default: 0] > 30, "\(results)")
    }
}
