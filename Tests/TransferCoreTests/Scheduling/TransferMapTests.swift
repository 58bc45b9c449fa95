// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import TransferCore

@Suite("A map of transfers")
struct TransferMapTests {
    @Test("It holds what a dictionary holds, after any sequence of changes", arguments: 0..<40 as Range<UInt64>)
    func walk(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = TransferMap<Int>()
        var naive: [TransferID: Int] = [:]
        // Numbers that follow one another, as in an engine; a few far away, as a caller may ask for.
        let ids = (0..<Int.random(in: 1...80, using: &random)).map { TransferID(UInt64($0)) } + [TransferID(.max - 1)]
        for step in 0..<2_000 {
            let id = ids[Int.random(in: 0..<ids.count, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                table[id] = step
                naive[id] = step
            case 2:
                let removed = table.removeValue(of: id)
                #expect(removed == naive.removeValue(forKey: id))
            default:
                table[id] = nil
                naive[id] = nil
            }
            #expect(table[id] == naive[id])
            #expect(table.count == naive.count && table.isEmpty == naive.isEmpty)
        }
        for id in ids { #expect(table[id] == naive[id]) }
        #expect(table.ids == naive.keys.sorted())
        #expect(table.values.sorted() == naive.values.sorted())
    }

    @Test("It does not keep what was removed alive")
    func release() {
        final class Object: Sendable {}
        var table = TransferMap<Object>()
        weak var object: Object?
        do {
            let new = Object()
            object = new
            table[TransferID(1)] = new
        }
        #expect(object != nil)
        table[TransferID(1)] = nil
        #expect(object == nil)
    }
}
