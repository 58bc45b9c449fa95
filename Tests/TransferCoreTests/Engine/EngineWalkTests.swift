// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Random walks of the queue")
struct EngineWalkTests {
    @Test("the machine agrees with a naive model of the queue", arguments: 1...16)
    func walk(seed: Int) {
        var walk = EngineWalk(seed: seed)
        walk.run(steps: 1000)
        #expect(walk.complaint == nil)
        let expected = [
            "grant", "granted further", "refused further", "resume", "retrying", "start", "sync", "wake", "held",
            "silent", "file released", "chosen delay",
        ]
        for kind in expected { #expect(walk.seen[kind, default: 0] > 0, "no \(kind)") }
    }
}
