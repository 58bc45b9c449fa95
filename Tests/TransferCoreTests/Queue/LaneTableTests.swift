// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("The lanes by identifier")
struct LaneTableTests {
    private func table(_ limits: [String?: Int]) -> LaneTable {
        var table = LaneTable()
        for (id, limit) in limits { table.insert(QueueLane(limit: limit), id) }
        return table
    }

    @Test("A removed lane leaves the others in place, wherever it was", arguments: [nil, "a", "b"] as [String?])
    func remove(id: String?) {
        var table = self.table([nil: 1, "a": 2, "b": 3])
        #expect(table.remove(id)?.limit == [nil: 1, "a": 2, "b": 3][id])
        #expect(table.remove(id) == nil)
        #expect(table.count == 2 && table.place(of: id) == nil)
        for (other, limit) in [nil: 1, "a": 2, "b": 3] as [String?: Int] where other != id {
            #expect(table[other]?.limit == limit)
        }
    }

    @Test("A lane is changed in its place, and after it was taken out")
    func change() {
        var table = self.table([nil: 1, "a": 2])
        table.change("a") { $0.limit = 5 }
        #expect(table.change("b") { $0.limit } == nil)
        if let place = table.place(of: nil) { table[place].limit = 7 }
        if var lane = table.take("a") {
            lane.limit += 1
            table.put(lane, "a")
        }
        #expect(table["a"]?.limit == 6 && table[nil]?.limit == 7)
        #expect(table.all.map(\.limit).sorted() == [6, 7] && Set(table.ids) == [nil, "a"])
    }
}
