// SPDX-License-Identifier: Apache-2.0
import Testing
import Worlds

@Suite("Worlds of a store")
struct StorageWorldTests {
    @Test("No promise is broken by a crash at any call", arguments: 0..<2)
    func keepsPromises(part: Int) {
        for seed in UInt64(part) * 250..<UInt64(part) * 250 + 250 {
            var recipe = Recipe(seed: seed)
            let trace = Trace(isKept: false)
            let end = StorageWorld.run(&recipe, trace)
            guard end.broken.isEmpty else {
                Issue.record("seed \(seed): \(end.broken)")
                return
            }
        }
    }
}
