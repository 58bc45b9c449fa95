// SPDX-License-Identifier: Apache-2.0
import Testing
import Worlds

@Suite("Download worlds")
struct DownloadWorldTests {
    @Test("worlds keep their promises; Scripts/simulate runs many more", arguments: 0..<4 as Range<UInt64>)
    func worlds(block: UInt64) {
        for seed in block * 25 + 1...(block + 1) * 25 {
            #expect(Shrinker.live(DownloadWorld.self, seed: seed).end.broken == [], "seed \(seed)")
        }
    }

    @Test("a redirect's link may expire while an additional connection waits for the host: the file is not failed")
    func expiredWhileWaiting() {
        let end = Shrinker.live(DownloadWorld.self, seed: 420_003_333_521, without: [18, 47]).end
        #expect(end.broken == [])
    }

    // That a seed is the same world twice is checked by `martlet-simulate --twice`, whose hashing is deterministic.
    @Test("a world without an ingredient is the same otherwise")
    func omission() {
        for seed in 1...20 as ClosedRange<UInt64> {
            let first = Shrinker.live(DownloadWorld.self, seed: seed)
            // A disk without locks has no second process, which is not drawn then.
            guard let last = first.recipe.ingredients.last, !last.text.contains("no locks") else { continue }
            let without = Shrinker.live(DownloadWorld.self, seed: seed, without: [last.number])
            #expect(without.recipe.ingredients.map(\.text) == first.recipe.ingredients.dropLast().map(\.text))
        }
    }
}
