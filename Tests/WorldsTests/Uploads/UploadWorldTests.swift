// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Worlds

@Suite struct UploadWorldTests {
    @Test func worldsKeepTheirPromises() {
        for seed in UInt64(1)...150 {
            #expect(Shrinker.live(UploadWorld.self, seed: seed).end.broken == [], "seed \(seed)")
        }
    }

    @Test func aSeedIsTheSameWorldTwice() {
        for seed in UInt64(1)...20 {
            let first = Shrinker.live(UploadWorld.self, seed: seed, isTraced: true).trace.lines
            let second = Shrinker.live(UploadWorld.self, seed: seed, isTraced: true).trace.lines
            #expect(first == second, "seed \(seed)")
        }
    }
}
