// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import HTTPServer

@Suite("The table of connections")
struct ConnectionTableTests {
    @Test("accepts connections up to the limit, then closes the oldest for a new one")
    func oldest() {
        var table = ConnectionTable<Int>(limit: 3)
        for id in 0..<3 { #expect(table.opened(id) == .accept(closing: nil)) }
        #expect(table.opened(3) == .accept(closing: 0))
        table.closed(1)
        #expect(table.opened(4) == .accept(closing: nil))
        #expect(table.opened(5) == .accept(closing: 2))
        #expect(table.count == 3)
    }

    @Test("never closes a protected connection, and refuses a new one when all are protected")
    func protection() {
        var table = ConnectionTable<Int>(limit: 2)
        for id in 0..<2 {
            #expect(table.opened(id) == .accept(closing: nil))
            table.protected(id)
        }
        #expect(table.opened(2) == .refuse)
        #expect(table.count == 2)
        // The time without protection counts, not the age.
        table.unprotected(1)
        table.unprotected(0)
        #expect(table.opened(3) == .accept(closing: 1))
        #expect(table.opened(4) == .accept(closing: 0))
    }

    @Test("reserves places for protected connections, but not all of them")
    func reserve() {
        var table = ConnectionTable<Int>(limit: 4, reserve: 2)
        for id in 0..<2 { #expect(table.opened(id) == .accept(closing: nil)) }
        #expect(table.opened(2) == .accept(closing: 0))
        table.protected(1)
        #expect(table.opened(3) == .accept(closing: nil))
        for id in [2, 3] { table.protected(id) }
        #expect(table.opened(4) == .accept(closing: nil))
        #expect(table.opened(5) == .accept(closing: 4))
        table.protected(5)
        #expect(table.opened(6) == .refuse)
        var full = ConnectionTable<Int>(limit: 1, reserve: 9)
        #expect(full.opened(0) == .accept(closing: nil))
        #expect(full.opened(1) == .accept(closing: 0))
    }

    @Test("decides as a list of connections does, whatever happens", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...12, using: &random)
        let reserve = Int.random(in: 0..<limit, using: &random)
        var table = ConnectionTable<Int>(limit: limit, reserve: reserve)
        // The model: the protected ones, and the others in the order in which they became unprotected.
        var (safe, others): (Set<Int>, [Int]) = ([], [])
        for id in 0..<3000 {
            // Connections that are closed already are reported, too.
            let some = Int.random(in: max(0, id - 20)...id, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<4:
                let isFull = safe.count + others.count >= limit || others.count >= limit - reserve
                let victim = isFull ? others.first : nil
                let refuses = safe.count + others.count >= limit && victim == nil
                #expect(table.opened(id) == (refuses ? .refuse : .accept(closing: victim)))
                if victim != nil { others.removeFirst() }
                if !refuses { others.append(id) }
            case 4:
                table.protected(some)
                if let index = others.firstIndex(of: some) {
                    others.remove(at: index)
                    safe.insert(some)
                }
            case 5, 6:
                // Without a reserve only: an authenticated client stays one.
                guard reserve == 0 else { continue }
                table.unprotected(some)
                if safe.remove(some) != nil { others.append(some) }
            default:
                table.closed(some)
                safe.remove(some)
                others.removeAll { $0 == some }
            }
            #expect(table.count == safe.count + others.count)
        }
    }
}
