// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Worlds

@Suite struct DatasetWorldTests {
    @Test func worldsKeepTheirPromises() {
        for seed in UInt64(1)...50 {
            #expect(Shrinker.live(DatasetWorld.self, seed: seed).end.broken == [], "seed \(seed)")
        }
    }

    @Test func anArchiveWithoutItsEndIsNotWhole() {
        let end = [UInt8](repeating: 0, count: 1024)
        #expect(TarWalk.members(end) == [])
        #expect(TarWalk.members(Array(end.dropLast())) == nil)
        #expect(TarWalk.members([UInt8](repeating: 1, count: 2048)) == nil)
        #expect(TarWalk.members([]) == nil)
    }
}
