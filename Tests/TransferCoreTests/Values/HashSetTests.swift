// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("Sets of hashes")
struct HashSetTests {
    @Test("random walk against the standard library's set", arguments: 1...20 as ClosedRange<UInt64>)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var set = HashSet()
        var model: Set<UInt64> = []
        // Few numbers, so that they are added and removed again and again; 0 is one of them.
        let most = UInt64.random(in: 1...400, using: &random)
        for _ in 0..<5000 {
            let number = UInt64.random(in: 0...most, using: &random) &* 0x1_0000_0001
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let isNew = set.insert(number)
                #expect(isNew == model.insert(number).inserted)
            case 2:
                let wasThere = set.remove(number)
                #expect(wasThere == (model.remove(number) != nil))
            default: #expect(set.contains(number) == model.contains(number))
            }
            #expect(set.count == model.count)
        }
        for number in (0...most).map({ $0 &* 0x1_0000_0001 }) {
            #expect(set.contains(number) == model.contains(number))
        }
    }
}
