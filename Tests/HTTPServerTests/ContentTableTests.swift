// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import HTTPServer

@Suite("The table of unauthenticated content")
struct ContentTableTests {
    @Test("drops the oldest content for more bytes, not what is being handled, and at last the growing content itself")
    func oldest() {
        var table = ContentTable(limit: 10)
        let ids = (0..<4).map { _ in table.opened() }
        for id in ids.prefix(3) { #expect(table.grew(id, by: 3) == .keep(dropping: [])) }
        table.pinned(ids[0])
        #expect(table.grew(ids[3], by: 3) == .keep(dropping: [ids[1]]))
        #expect(table.grew(ids[1], by: 1) == .unknown)
        #expect(table.grew(ids[3], by: 4) == .keep(dropping: [ids[2]]))
        #expect(table.total == 10)
        #expect(table.grew(ids[3], by: 1) == .drop)
        #expect(table.total == 3)
        table.closed(ids[0])
        #expect(table.total == 0 && table.count == 0)
    }

    @Test("counts and drops as a list of contents does, whatever happens", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...100, using: &random)
        var table = ContentTable(limit: limit)
        var model: [(id: Int, size: Int, isPinned: Bool)] = []
        var last = 0
        for _ in 0..<2000 {
            // Contents that are gone are reported, too.
            let id = Int.random(in: max(0, last - 15)...last, using: &random)
            let index = model.firstIndex { $0.id == id }
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1:
                last = table.opened()
                model.append((last, 0, false))
            case 2..<7:
                let more = Int.random(in: 0...30, using: &random)
                guard let index else {
                    #expect(table.grew(id, by: more) == .unknown)
                    continue
                }
                var rest = model
                var dropped: [Int] = []
                while rest.reduce(more, { $0 + $1.size }) > limit, let first = rest.first(where: { !$0.isPinned }),
                    first.id != id
                {
                    rest.removeAll { $0.id == first.id }
                    dropped.append(first.id)
                }
                if rest.reduce(more, { $0 + $1.size }) > limit {
                    #expect(table.grew(id, by: more) == .drop)
                    model = rest.filter { $0.id != id }
                } else {
                    #expect(table.grew(id, by: more) == .keep(dropping: dropped))
                    model[index].size += more
                    model.removeAll { dropped.contains($0.id) }
                }
            case 7:
                let less = Int.random(in: 0...30, using: &random)
                table.shrank(id, by: less)
                if let index { model[index].size = max(0, model[index].size - less) }
            case 8:
                table.pinned(id)
                if let index { model[index].isPinned = true }
            default:
                table.closed(id)
                model.removeAll { $0.id == id }
            }
            #expect(table.total == model.reduce(0) { $0 + $1.size })
            #expect(table.total <= limit)
            #expect(table.count == model.count)
        }
    }
}
