// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import QueueStore

@Suite struct LineSpacingTests {
    @Test func positionsLieInOrderBetweenTheirNeighbours() throws {
        let gap = LineSpacing.gap
        #expect(LineSpacing.positions(2, after: nil, before: nil) == [0, gap])
        #expect(LineSpacing.positions(2, after: 5, before: nil) == [5 + gap, 5 + 2 * gap])
        #expect(LineSpacing.positions(2, after: nil, before: 5) == [5 - 2 * gap, 5 - gap])
        #expect(LineSpacing.positions(3, after: 0, before: 4) == [1, 2, 3])
    }

    @Test func noRoomIsSaidAndNothingOverflows() {
        let limit = LineSpacing.limit
        #expect(LineSpacing.positions(1, after: 0, before: 1) == nil)
        #expect(LineSpacing.positions(4, after: 0, before: 4) == nil)
        #expect(LineSpacing.positions(3, after: 0, before: 4, least: 2) == nil)
        #expect(LineSpacing.positions(1, after: limit, before: nil) == nil)
        #expect(LineSpacing.positions(1, after: nil, before: -limit) == nil)
        #expect(LineSpacing.positions(1, after: -limit, before: limit) == [0])
        #expect(LineSpacing.positions(.max, after: nil, before: nil) == nil)
    }

    @Test func aLineAtTheEdgeIsSpreadAnew() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...200))
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.connection.run(
                "UPDATE transfers SET position = position + ? WHERE position > 0",
                [LineSpacing.limit - 199 * LineSpacing.gap]
            )
            try w.connection.run("DELETE FROM tally")
            var tally = Tally()
            let rows = try w.connection.all("SELECT position FROM transfers") { $0.integer(0) ?? 0 }
            for position in rows { tally.count(1, state: 0, queue: 0, position: position) }
            try tally.store(w.connection)
            try w.add(transfers(201...300), at: nil)
        }
        #expect(try await scratch.ids() == (1...300).map { gid(UInt64($0)) })
        try await scratch.expectExactTally()
    }
}
