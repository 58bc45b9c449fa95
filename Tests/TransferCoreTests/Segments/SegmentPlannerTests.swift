// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting
import TransferCore

@Suite("Segment planner")
struct SegmentPlannerTests {
    @Test("what is there is not fetched again")
    func gaps() {
        let planner = SegmentPlanner(length: 100, have: [10..<20, 50..<100])
        #expect(planner.pieces.map(\.start) == [0, 20])
        #expect(planner.pieces.map(\.end) == [10, 50])
        #expect(planner.completed == 60)
        #expect(planner.remaining == 40)
    }

    @Test("the ranges that are held follow what is written")
    func held() {
        var planner = SegmentPlanner(length: 100, have: [10..<20, 50..<60])
        #expect(planner.held == [10..<20, 50..<60])
        _ = planner.assign(to: 1, minimumSplit: 1)
        _ = planner.reserve(10, for: 1)
        _ = planner.wrote(5, by: 1)
        #expect(planner.held == [0..<5, 10..<20, 50..<60])
        _ = planner.wrote(5, by: 1)
        #expect(planner.held == [0..<20, 50..<60])
        #expect(SegmentPlanner(length: 100, have: [90..<100]).held == [90..<100])
        #expect(SegmentPlanner(length: nil, have: [0..<7]).held == [0..<7])
        #expect(SegmentPlanner(length: nil).held == [])
    }

    @Test("an empty file is complete at once")
    func empty() {
        #expect(SegmentPlanner(length: 0).isComplete)
        #expect(SegmentPlanner(length: 10, have: [0..<10]).isComplete)
        #expect(!SegmentPlanner(length: nil).isComplete)
    }

    @Test("a piece that has hardly begun is halved as a whole, a later one in the middle of what is left")
    func halves() {
        var planner = SegmentPlanner(length: 6400)
        _ = planner.assign(to: 1, minimumSplit: 1)
        let reserved = planner.reserve(100, for: 1)
        let second = planner.assign(to: 2, minimumSplit: 1)?.start
        #expect(reserved == 100 && second == 3200)
        _ = planner.reserve(100, for: 1)
        let third = planner.assign(to: 3, minimumSplit: 1)?.start
        let fourth = planner.assign(to: 4, minimumSplit: 1)?.start
        #expect(third == 4800 && fourth == 1700)
    }

    @Test("a further connection takes half of the largest piece, down to the minimum")
    func stealing() {
        var planner = SegmentPlanner(length: 100)
        let result24 = planner.assign(to: 1, minimumSplit: 20)?.end == 100
        #expect(result24)
        let result25 = planner.assign(to: 2, minimumSplit: 20)?.start == 50
        #expect(result25)
        #expect(planner.piece(of: 1)?.end == 50)
        let result27 = planner.assign(to: 3, minimumSplit: 20)?.start == 25 || planner.piece(of: 3)?.start == 75
        #expect(result27)
        #expect(planner.canAssign(minimumSplit: 20))
        #expect(!planner.canAssign(minimumSplit: 30))
    }

    @Test("bytes that were handed out are never given to another")
    func reservedIsSafe() {
        var planner = SegmentPlanner(length: 100)
        _ = planner.assign(to: 1, minimumSplit: 1)
        let result36 = planner.reserve(60, for: 1) == 60
        #expect(result36)
        let taken = planner.assign(to: 2, minimumSplit: 1)
        #expect(taken?.start == 80)
        let result39 = planner.reserve(60, for: 1) == 20
        #expect(result39)
        let result40 = !planner.wrote(60, by: 1)
        #expect(result40)
        let result41 = planner.wrote(20, by: 1)
        #expect(result41)
        #expect(planner.piece(of: 1) == nil)
    }

    @Test("a dead connection's piece continues from its written bytes")
    func release() {
        var planner = SegmentPlanner(length: 100)
        _ = planner.assign(to: 1, minimumSplit: 1)
        _ = planner.reserve(40, for: 1)
        _ = planner.wrote(30, by: 1)
        planner.release(1)
        let result52 = planner.assign(to: 2, minimumSplit: 1)?.start == 30
        #expect(result52)
    }

    @Test("a connection that stays alone takes the unowned pieces that follow without a gap")
    func joining() {
        var planner = SegmentPlanner(length: 1000, have: [0..<100, 900..<950])
        for connection in 1...3 { _ = planner.assign(to: connection, minimumSplit: 10) }
        for connection in 1...3 { planner.release(connection) }
        #expect(planner.pieces.map(\.start).sorted() == [100, 500, 950])
        let piece = planner.assign(to: 4, minimumSplit: 10, joining: true)
        #expect(piece?.start == 100 && piece?.end == 900)
        let last = planner.assign(to: 5, minimumSplit: 10, joining: true)
        #expect(last?.start == 950 && last?.end == 1000)
    }

    @Test("a length that contradicts what is there is refused")
    func length() {
        var planner = SegmentPlanner(length: nil)
        _ = planner.assign(to: 1, minimumSplit: 1)
        _ = planner.reserve(50, for: 1)
        _ = planner.wrote(50, by: 1)
        var short = planner
        let result62 = !short.setLength(49)
        #expect(result62)
        let result63 = planner.setLength(50)
        #expect(result63)
        #expect(planner.isComplete)
        let result65 = !planner.setLength(51)
        #expect(result65)
    }

    @Test("random walk against a bitmap: every byte is fetched exactly once", arguments: 1...30)
    func randomWalk(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let length = 3000
        var have: [ByteRange] = []
        var position: Int64 = 0
        while position < length {
            let start = position + Int64.random(in: 1...400, using: &random)
            let end = start + Int64.random(in: 1...200, using: &random)
            if end < length { have.append(start..<end) }
            position = end
        }
        var bitmap = [Int](repeating: 0, count: length)
        for range in have { for byte in range { bitmap[Int(byte)] += 1 } }
        var planner = SegmentPlanner(length: Int64(length), have: have)
        var live: [Int: Int64] = [:]
        var next = 1
        var steps = 0
        while !planner.isComplete {
            steps += 1
            guard steps < 100_000 else { break }
            if live.isEmpty || (live.count < 8 && Int.random(in: 0..<4, using: &random) == 0) {
                if let piece = planner.assign(to: next, minimumSplit: 10, joining: Bool.random(using: &random)) {
                    live[next] = piece.start
                    next += 1
                }
            }
            guard let (connection, at) = live.randomElement(using: &random) else { continue }
            if Int.random(in: 0..<20, using: &random) == 0 {
                planner.release(connection)
                live[connection] = nil
                continue
            }
            let count = planner.reserve(Int.random(in: 1...50, using: &random), for: connection)
            for byte in Int(at)..<Int(at) + count { bitmap[byte] += 1 }
            live[connection] = at + Int64(count)
            if planner.wrote(count, by: connection) { live[connection] = nil }
        }
        #expect(planner.isComplete)
        #expect(bitmap.allSatisfy { $0 == 1 })
        #expect(planner.completed == Int64(length))
    }
}
