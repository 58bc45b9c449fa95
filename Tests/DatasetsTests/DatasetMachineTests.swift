// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Datasets

@Suite struct DatasetMachineTests {
    private typealias Machine = DatasetMachine<Int64>

    @Test func aRowIsFetchedOnceAndReportedOnce() {
        var machine = Machine()
        let read = (machine.rowRead(4), machine.rowRead(4))
        #expect(read == (.fetch, .repeated))
        let lines = [machine.fetched(4, 4), machine.fetched(4, 4), machine.failed(4, code: "x", 4)]
        #expect(lines == [4, nil, nil])
        let again = machine.rowRead(4)
        #expect(again == .reported)
    }

    @Test func aStoredRowIsReportedWithItsShard() {
        var machine = Machine()
        _ = machine.rowRead(1)
        let isStored = (machine.contentReceived(1), machine.contentReceived(1))
        #expect(isStored == (true, false))
        let early = machine.shardClosed([1])
        #expect(early.isEmpty)
        machine.stored(1, 1)
        #expect(machine.summary.stored == 1 && machine.summary.done == 0 && machine.summary.ended == 1)
        let late = machine.failed(1, code: "x", 1)
        let lines = machine.shardClosed([1])
        #expect(late == nil && lines == [1])
        #expect(machine.summary.done == 1 && machine.activeCount == 0)
        #expect(machine.summary.stored == 0 && machine.summary.ended == 1)
    }

    /// A run with what survives its kills: the report, of which a kill may lose the last lines.
    private struct World {
        var report: [Int64] = []
        /// The lines that a kill cannot lose.
        var durable = 0
        var machine = Machine()
        var next: Int64 = 0
        var fetching: [Int64] = []
        var storing: [Int64] = []
        var shard: [Int64] = []

        mutating func append(_ line: Int64?) { if let line { self.report.append(line) } }

        mutating func kill(_ random: inout SeededGenerator) {
            self.report.removeLast(Int.random(in: 0...(self.report.count - self.durable), using: &random))
            self.durable = self.report.count
            var contents = ReportFile.Contents()
            for number in self.report { contents.reported.insert(number) }
            self = World(report: self.report, durable: self.durable, machine: Machine(contents))
        }
    }

    /// Random events and kills, with files and with shards: at the end each row is in the report once.
    @Test(arguments: 0..<200)
    func eachRowIsReportedOnceWhateverIsKilled(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let rows = Int64.random(in: 1...40, using: &random)
        let isSharded = seed.isMultiple(of: 2)
        var world = World()
        var kills = 10
        while world.next < rows || !world.fetching.isEmpty || !world.storing.isEmpty || !world.shard.isEmpty {
            switch Int.random(in: 0..<12, using: &random) {
            case 0 where kills > 0:
                kills -= 1
                world.kill(&random)
            case 1: world.durable = world.report.count
            case 2...5 where world.next < rows:
                let isNew = !world.report.contains(world.next)
                let admission = world.machine.rowRead(world.next)
                #expect((admission == .fetch) == isNew)
                if isNew { world.fetching.append(world.next) }
                world.next += 1
            case 6...8 where !world.fetching.isEmpty:
                let number = world.fetching.remove(at: .random(in: 0..<world.fetching.count, using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    world.append(world.machine.failed(number, code: "x", number))
                } else if isSharded {
                    let isStored = world.machine.contentReceived(number)
                    #expect(isStored)
                    world.storing.append(number)
                } else {
                    world.append(world.machine.fetched(number, number))
                }
            case 9...10 where !world.storing.isEmpty:
                let number = world.storing.removeFirst()
                world.machine.stored(number, number)
                world.shard.append(number)
            case 11 where !world.shard.isEmpty:
                let lines = world.machine.shardClosed(world.shard)
                #expect(lines == world.shard)
                world.report += lines
                world.durable = world.report.count
                world.shard = []
            default: break
            }
            #expect(Set(world.report).count == world.report.count)
        }
        #expect(world.report.sorted() == Array(0..<rows))
        #expect(world.machine.activeCount == 0 && world.machine.summary.unfinished == 0)
    }
}
