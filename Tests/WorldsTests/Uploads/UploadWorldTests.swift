// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Worlds

/// That a seed is the same world twice is checked by `martlet-simulate --twice`, whose hashing is deterministic.
@Suite struct UploadWorldTests {
    @Test func worldsKeepTheirPromises() {
        for seed in UInt64(1)...150 {
            #expect(Shrinker.live(UploadWorld.self, seed: seed).end.broken == [], "seed \(seed)")
        }
    }
}
