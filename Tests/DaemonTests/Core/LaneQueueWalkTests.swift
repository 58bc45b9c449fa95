import Control
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

/// A store, an engine and a lane between them, each as simple as can be.
private struct Walk {
    var random: SeededGenerator
    var queue = LaneQueue(limit: 3)
    /// What the store has: the state of each, in the line's order.
    var stored: [(id: GID, state: TransferRecord.State)] = []
    /// What the engine has: those it was given, and those it runs.
    var given: [(id: GID, run: UInt64, runs: Bool, isAskedFor: Bool)] = []
    var fetch: (LaneQueue.Fetch, [StoredTransfer])?
    /// Ends that the store does not know yet.
    var uncommitted: [(id: GID, run: UInt64)] = []
    var next: UInt64 = 0
    var finished: [GID: Int] = [:]

    init(seed: UInt64) { self.random = SeededGenerator(seed: seed) }

    mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.random) }

    mutating func add() throws {
        self.next += 1
        let id = try #require(GID(rawValue: self.next))
        if self.pick(4) == 0 {
            self.stored.insert((id, .waiting), at: self.pick(self.stored.count + 1))
            self.ask(self.queue.takeBackStaged())
        } else {
            self.stored.append((id, .waiting))
            self.queue.added(priority: 0)
        }
    }

    mutating func ask(_ entries: [LaneQueue.Entry]) {
        for entry in entries {
            guard let index = self.given.firstIndex(where: { $0.id == entry.transfer.id }) else { continue }
            self.given[index].isAskedFor = true
        }
    }

    mutating func pause() {
        guard
            let index = self.stored.indices.filter({ self.stored[$0].state == .waiting })
                .randomElement(using: &self.random)
        else { return }
        self.stored[index].state = .paused
        let id = self.stored[index].id
        if let entry = self.queue.takeBack(id, comesBack: false) { self.ask([entry]) }
        self.queue.changed()
    }

    mutating func resume() {
        guard
            let index = self.stored.indices.filter({ self.stored[$0].state == .paused })
                .randomElement(using: &self.random)
        else { return }
        self.stored[index].state = .waiting
        self.queue.comesBackAfterAll(self.stored[index].id)
        self.ask(self.queue.takeBackStaged())
    }

    mutating func beginRead() throws {
        guard self.fetch == nil, let fetch = self.queue.nextFetch() else { return }
        let found = self.stored.filter { $0.state == .waiting && !fetch.excluded.contains($0.id) }.prefix(fetch.limit)
        self.fetch = (fetch, try found.map { try waiting($0.id.rawValue) })
    }

    mutating func endRead() {
        guard let (fetch, found) = self.fetch else { return }
        self.fetch = nil
        for entry in self.queue.fetched(fetch, found) {
            #expect(!self.given.contains { $0.id == entry.transfer.id }, "given twice")
            #expect(!self.uncommitted.contains { $0.id == entry.transfer.id }, "given after its end")
            #expect(self.finished[entry.transfer.id] == nil, "given after its end was stored")
            self.given.append((entry.transfer.id, entry.run, false, false))
        }
    }

    /// The engine does something.
    mutating func work() {
        if let index = self.given.firstIndex(where: { $0.isAskedFor }), self.pick(3) > 0 {
            let one = self.given.remove(at: index)
            // What is asked for may end by itself all the same.
            if one.runs, self.pick(4) == 0 { return self.end(one.id, one.run) }
            _ = self.queue.cancelled(one.id, run: one.run)
            return
        }
        if self.given.count(where: { $0.runs }) < 3, let index = self.given.firstIndex(where: { !$0.runs }) {
            self.given[index].runs = true
            _ = self.queue.started(self.given[index].id, run: self.given[index].run)
            return
        }
        guard let index = self.given.firstIndex(where: { $0.runs }) else { return }
        let one = self.given.remove(at: index)
        self.end(one.id, one.run)
    }

    mutating func end(_ id: GID, _ run: UInt64) {
        let entry = self.queue.ended(id, run: run)
        #expect(entry != nil)
        self.uncommitted.append((id, run))
    }

    mutating func commit() {
        for (id, run) in self.uncommitted {
            self.stored.removeAll { $0.id == id }
            self.finished[id, default: 0] += 1
            self.queue.committed(id, run: run)
        }
        self.uncommitted = []
    }

    mutating func step() throws {
        switch self.pick(12) {
        case 0, 1: if self.next < 400 { try self.add() }
        case 2: self.pause()
        case 3: self.resume()
        case 4, 5: try self.beginRead()
        case 6, 7: self.endRead()
        case 8: self.commit()
        case 9 where self.pick(8) == 0: self.ask(self.queue.hold(.schedule, cutsRunning: self.pick(2) == 0))
        case 9: self.queue.release(.schedule)
        default: self.work()
        }
        #expect(self.queue.stagedCount >= 0 && self.queue.activeCount >= 0)
        #expect(self.queue.activeCount == self.queue.entries.values.count { $0.hasStarted })
        #expect(self.queue.stagedCount == self.queue.entries.values.count { $0.phase == .staged })
    }
}

@Suite("A lane against a naive store and engine")
struct LaneQueueWalkTests {
    @Test("Whatever happens, each transfer ends once and none is left behind", arguments: 1...12)
    func walk(seed: Int) throws {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<3000 { try walk.step() }
        // Left alone, everything comes to its end.
        walk.queue.release(.schedule)
        for _ in 0..<20_000 where walk.finished.count < Int(walk.next) {
            walk.resume()
            try walk.beginRead()
            walk.endRead()
            walk.work()
            walk.commit()
        }
        #expect(walk.finished.count == Int(walk.next) && walk.finished.values.allSatisfy { $0 == 1 })
        #expect(walk.queue.entries.isEmpty && walk.queue.activeCount == 0 && walk.queue.stagedCount == 0)
    }
}
