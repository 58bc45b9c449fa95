// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

/// A machine with one lane by reference, for expectations; the driver performs nothing on its own.
private final class Stage {
    var machine = QueueMachine()
    var now: Int64 = 0

    init(limit: Int = 1, waiting: Int = 4000) {
        self.count(waiting)
        self.machine.open(nil, limit: limit)
    }

    func count(_ waiting: Int) {
        var counts = LaneCounts()
        counts.waiting = waiting
        self.machine.counted(nil, counts)
    }

    func next() -> QueueMachine.Action? { self.machine.next(now: self.now) }

    func claim() -> QueueMachine.Claim? {
        guard case .claim(nil, let claim) = self.next() else { return nil }
        return claim
    }

    func claimWhileAdding(_ lane: String? = nil) -> QueueMachine.Claim? { self.machine.claimWhileAdding(lane) }

    /// Answers a claim; gives what is to be staged, after those that are to be withdrawn before are gone.
    func answer(
        _ claim: QueueMachine.Claim,
        _ ids: [UInt64],
        hosts: [UInt64: Int64] = [:],
        priorities: [UInt64: Int] = [:]
    )
        -> [UInt64]
    {
        let found = ids.map {
            QueueMachine.Claimed(id: $0, host: hosts[$0] ?? 1, priority: priorities[$0] ?? 0, mayBeCut: $0 % 100 != 99)
        }
        self.machine.claimed(nil, claim, found)
        return self.staged()
    }

    func staged() -> [UInt64] {
        switch self.next() {
        case .stage(nil, let ids): return ids
        case .withdraw(nil, let ids):
            self.machine.withdrew(nil, ids, gone: Set(ids))
            return self.staged()
        default: return []
        }
    }

    func start(_ ids: UInt64...) { for id in ids { _ = self.machine.started(nil, id) } }

    func end(_ ids: [UInt64], isStored: Bool = true) {
        for id in ids {
            _ = self.machine.ended(nil, id)
            if isStored { self.machine.endStored(nil, id) }
        }
    }

    var entries: [UInt64: QueueLane.Entry] { self.machine[lane: nil]?.entries ?? [:] }
}

@Suite("The queue's decisions")
struct QueueMachineTests {
    @Test("Taken is what runs and a look-ahead, and read again when half of that is used up")
    func lookAhead() throws {
        let stage = Stage(limit: 5)
        let first = try #require(stage.claim())
        #expect(first.limit == 1029 && first.excluded.isEmpty && !first.replacesStaged)
        let staged = stage.answer(first, Array(1...1029))
        #expect(staged == Array(1...1029))
        #expect(stage.next() == nil)
        for id in UInt64(1)...511 { stage.start(id) }
        stage.count(3489)
        stage.end(Array(1...511))
        #expect(stage.next() == nil)
        stage.count(3488)
        stage.end([512])
        let second = try #require(stage.claim())
        #expect(second.limit == 512 && second.excluded.count == 517)
    }

    @Test("Ends that are being stored take no place, and are not read as if they waited")
    func endsBeingStored() throws {
        let stage = Stage(limit: 5)
        _ = stage.answer(try #require(stage.claim()), Array(1...1029))
        stage.end(Array(1...512), isStored: false)
        let second = try #require(stage.claim())
        #expect(second.limit == 512 && second.excluded.count == 1029)
    }

    @Test("Between two attempts a transfer takes no place")
    func retrying() throws {
        let stage = Stage(limit: 5)
        _ = stage.answer(try #require(stage.claim()), Array(1...1029))
        for id in UInt64(1)...512 {
            stage.start(id)
            stage.machine.retrying(nil, id)
        }
        #expect(stage.claim()?.limit == 512)
    }

    @Test("Nothing is read while the store has no untaken entry")
    func exhausted() throws {
        let stage = Stage(limit: 1, waiting: 2)
        let staged = stage.answer(try #require(stage.claim()), [1, 2])
        #expect(staged == [1, 2] && stage.next() == nil)
        stage.count(3)
        stage.machine.added(nil, priority: 0, mayPrecede: false)
        #expect(stage.claim()?.excluded == [1, 2])
    }

    @Test("One read at a time")
    func oneRead() throws {
        let stage = Stage()
        let claim = try #require(stage.claim())
        stage.machine.added(nil, priority: 9, mayPrecede: true)
        #expect(stage.next() == nil)
        _ = stage.answer(claim, [])
        stage.machine.claimFailed(nil)
        #expect(stage.next() == nil)
        stage.machine.looked(nil, isIdle: false)
        #expect(stage.claim() != nil)
    }

    @Test("The transaction that adds transfers reads those that can start, and no second one follows")
    func claimedWhileAdded() throws {
        let stage = Stage(waiting: 0)
        #expect(stage.claim() == nil)
        let claim = try #require(stage.claimWhileAdding())
        #expect(stage.claimWhileAdding() == nil && stage.machine.isClaiming(nil))
        stage.count(2)
        stage.machine.added(nil, priority: 0, mayPrecede: false)
        #expect(stage.next() == nil)
        #expect(stage.answer(claim, [1, 2]) == [1, 2])
        #expect(stage.next() == nil && !stage.machine.isClaiming(nil))
    }

    @Test("If the transfers could not be added, the next read is not held back")
    func claimDropped() throws {
        let stage = Stage(waiting: 0)
        #expect(stage.claim() == nil)
        _ = try #require(stage.claimWhileAdding())
        stage.count(1)
        stage.machine.added(nil, priority: 0, mayPrecede: false)
        #expect(stage.next() == nil)
        stage.machine.claimDropped(nil)
        #expect(stage.claim() != nil)
    }

    @Test("Nothing is read while adding if nothing may start")
    func heldWhileAdded() {
        let stage = Stage(waiting: 0)
        stage.machine.hold(.paused)
        #expect(stage.claimWhileAdding() == nil && stage.claimWhileAdding("unknown") == nil)
    }

    @Test("A move keeps what is staged at the front, withdraws the rest and stages it in the new order")
    func moved() throws {
        let stage = Stage(waiting: 4)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 3, 4])
        stage.start(1)
        stage.machine.reordered(nil)
        let claim = try #require(stage.claim())
        #expect(claim.replacesStaged && claim.excluded == [1])
        stage.machine.claimed(nil, claim, [2, 4, 3].map { QueueMachine.Claimed(id: $0, host: 1) })
        #expect(stage.next() == .withdraw(nil, [4, 3]))
        stage.machine.withdrew(nil, [4, 3], gone: [4, 3])
        #expect(stage.next() == .stage(nil, [4, 3]))
    }

    @Test("What has begun when it is to be withdrawn keeps running and is not staged again")
    func begun() throws {
        let stage = Stage(waiting: 2)
        _ = stage.answer(try #require(stage.claim()), [1, 2])
        stage.machine.reordered(nil)
        let claim = try #require(stage.claim())
        stage.machine.claimed(nil, claim, [2, 1].map { QueueMachine.Claimed(id: $0, host: 1) })
        #expect(stage.next() == .withdraw(nil, [2, 1]))
        stage.machine.withdrew(nil, [2, 1], gone: [2])
        #expect(stage.next() == .stage(nil, [2]))
        #expect(stage.entries[1]?.phase == .running && stage.next() == nil)
    }

    @Test("Many changes of the order are gathered")
    func gathered() throws {
        let stage = Stage(waiting: 1)
        _ = stage.answer(try #require(stage.claim()), [1])
        for _ in 0..<10 {
            stage.machine.reordered(nil)
            _ = stage.answer(try #require(stage.claim()), [1])
        }
        stage.machine.reordered(nil)
        #expect(stage.next() == .wake(at: 1_000_000_000))
        stage.now = 1_000_000_000
        stage.machine.woke()
        #expect(stage.claim() != nil)
    }

    @Test("What is added with a greater priority than something staged goes before it; with the same one it does not")
    func overtaking() throws {
        let stage = Stage(waiting: 3)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 3], priorities: [1: 5])
        stage.start(1)
        stage.count(4)
        stage.machine.added(nil, priority: 0, mayPrecede: false)
        let claim = try #require(stage.claim())
        #expect(!claim.replacesStaged)
        _ = stage.answer(claim, [4])
        stage.count(5)
        stage.machine.added(nil, priority: 1, mayPrecede: false)
        let again = try #require(stage.claim())
        #expect(again.replacesStaged && again.excluded == [1])
        let staged = stage.answer(again, [5, 2, 3, 4], priorities: [5: 1])
        #expect(staged == [5, 2, 3, 4])
    }

    @Test("A paused one that begins before its withdrawal is performed is cancelled", arguments: [true, false])
    func begunBeforeWithdrawal(_ isStart: Bool) throws {
        let stage = Stage(waiting: 1)
        _ = stage.answer(try #require(stage.claim()), [1])
        stage.count(0)
        stage.machine.paused(nil, [1])
        // The engine had started it; its event arrives with the store's response.
        if isStart { _ = stage.machine.started(nil, 1) } else { stage.machine.retrying(nil, 1) }
        #expect(stage.next() == .cancel(nil, 1, keeping: true))
        #expect(stage.next() == nil && stage.entries[1]?.phase == .leaving)
    }

    @Test("A paused one is withdrawn if it has not begun, and cancelled if it has")
    func paused() throws {
        let stage = Stage(waiting: 3)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 3])
        stage.start(1)
        stage.count(0)
        stage.machine.paused(nil, [1, 2, 3])
        #expect(stage.next() == .withdraw(nil, [3, 2]))
        stage.machine.withdrew(nil, [3, 2], gone: [3])
        let cancelled = Set([stage.next(), stage.next()])
        #expect(cancelled == [.cancel(nil, 1, keeping: true), .cancel(nil, 2, keeping: true)])
        #expect(stage.next() == nil && stage.entries.count == 2)
    }

    @Test("One that is resumed before its engine has cancelled it waits again, in its place")
    func resumed() throws {
        let stage = Stage(waiting: 1)
        _ = stage.answer(try #require(stage.claim()), [1])
        stage.start(1)
        stage.count(0)
        stage.machine.paused(nil, [1])
        #expect(stage.next() == .cancel(nil, 1, keeping: true))
        stage.count(1)
        stage.machine.resumed(nil, [1])
        // It is not staged a second time before it has left.
        #expect(stage.claim() == nil)
        #expect(stage.machine.cancelled(nil, 1)?.wish == .waits)
        #expect(stage.claim()?.excluded.isEmpty == true)
    }

    @Test("A removed one that ends all the same has no end to store")
    func removed() throws {
        let stage = Stage(waiting: 1)
        _ = stage.answer(try #require(stage.claim()), [1])
        stage.start(1)
        stage.count(0)
        stage.machine.removed(nil, [1], keeping: false)
        #expect(stage.next() == .cancel(nil, 1, keeping: false))
        #expect(!stage.machine.ended(nil, 1) && stage.entries.isEmpty)
    }

    @Test("Nothing is taken while it is held; all reasons must be gone, and what must not be cut is not")
    func held() throws {
        let stage = Stage(waiting: 3)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 99])
        stage.start(1, 99)
        stage.machine.hold(.databaseFull)
        #expect(stage.next() == .withdraw(nil, [2]))
        stage.machine.withdrew(nil, [2], gone: [2])
        stage.machine.hold(.schedule)
        #expect(stage.next() == .cancel(nil, 1, keeping: true))
        #expect(stage.next() == nil)
        _ = stage.machine.cancelled(nil, 1)
        stage.machine.release(.databaseFull)
        #expect(stage.next() == nil && stage.machine.holds(of: nil) == [.schedule])
        stage.machine.release(.schedule)
        #expect(stage.claim() != nil)
    }

    @Test("A changed request restarts that transfer alone")
    func changed() throws {
        let stage = Stage(waiting: 3)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 3])
        stage.start(1)
        stage.machine.changed(nil, 1)
        #expect(stage.next() == .cancel(nil, 1, keeping: true))
        #expect(stage.next() == nil && stage.entries[2]?.phase == .staged)
        stage.machine.changed(nil, 2)
        #expect(stage.next() == .withdraw(nil, [2]))
        stage.machine.withdrew(nil, [2], gone: [])
        #expect(stage.next() == .cancel(nil, 2, keeping: true))
    }

    @Test("A held host keeps two staged transfers, and others fill the look-ahead")
    func heldHost() throws {
        let stage = Stage(limit: 5)
        let hosts = Dictionary(uniqueKeysWithValues: (UInt64(1)...1029).map { ($0, Int64($0 <= 800 ? 1 : 2)) })
        _ = stage.answer(try #require(stage.claim()), Array(1...1029), hosts: hosts)
        stage.machine.hostHeld(nil, 1)
        guard case .withdraw(nil, let ids) = stage.next() else {
            Issue.record("nothing is withdrawn")
            return
        }
        #expect(Set(ids) == Set(3...800))
        stage.machine.withdrew(nil, ids, gone: Set(ids))
        let claim = try #require(stage.claim())
        #expect(claim.caps == [1: 0] && claim.limit == 800)
        // The host's transfers may have arrived before its hold was reported.
        #expect(stage.answer(claim, [1300, 1301], hosts: [1300: 1, 1301: 2]) == [1301])
        stage.machine.hostReleased(nil, 1)
        #expect(stage.claim()?.caps.isEmpty == true)
    }

    @Test("The end of a transfer of a held host makes room for the next one of it")
    func heldHostEnds() throws {
        let stage = Stage(limit: 5)
        _ = stage.answer(try #require(stage.claim()), [1, 2])
        stage.machine.hostHeld(nil, 1)
        _ = stage.answer(try #require(stage.claim()), [])
        #expect(stage.claim() == nil)
        stage.end([1])
        #expect(try #require(stage.claim()).caps == [1: 1])
    }

    @Test("Transfers of a held host that are removed before they are staged make room for the next ones of it")
    func heldHostRemoved() throws {
        let stage = Stage(limit: 5)
        _ = stage.answer(try #require(stage.claim()), [1, 2, 3])
        stage.machine.hostHeld(nil, 1)
        guard case .withdraw(nil, let ids) = stage.next() else {
            Issue.record("nothing is withdrawn")
            return
        }
        stage.machine.withdrew(nil, ids, gone: Set(ids))
        stage.end([1, 2])
        let claim = try #require(stage.claim())
        #expect(claim.caps == [1: 2])
        // The store answers, and reports the removals, before anything is staged.
        let found = [3, 4].map { QueueMachine.Claimed(id: $0, host: 1) }
        stage.machine.claimed(nil, claim, found)
        stage.machine.removed(nil, [3, 4], keeping: true)
        #expect(try #require(stage.claim()).caps == [1: 2])
    }

    @Test("Hosts that leave places empty keep a share of the look-ahead")
    func idlePlaces() throws {
        let stage = Stage(limit: 5)
        _ = stage.answer(try #require(stage.claim()), Array(1...261))
        stage.machine.looked(nil, isIdle: true)
        guard case .withdraw(nil, let ids) = stage.next() else {
            Issue.record("nothing is withdrawn")
            return
        }
        #expect(ids.count == 245 && Set(ids) == Set(17...261))
        stage.machine.withdrew(nil, ids, gone: Set(ids))
        let claim = try #require(stage.claim())
        #expect(claim.caps == [1: 0])
        _ = stage.answer(claim, Array(400...500), hosts: Dictionary(uniqueKeysWithValues: (400...500).map { ($0, 2) }))
        // When every place is used for a while, the share becomes unnecessary.
        for _ in 0..<3 { stage.machine.looked(nil, isIdle: false) }
        #expect(stage.claim()?.caps.isEmpty == true)
    }

    @Test("One host alone keeps all of its look-ahead although places are empty")
    func oneHost() throws {
        let stage = Stage(limit: 5, waiting: 200)
        _ = stage.answer(try #require(stage.claim()), Array(1...200))
        stage.machine.looked(nil, isIdle: true)
        #expect(stage.next() == nil && stage.entries.count == 200)
    }

    @Test("Lanes share the transfers for which there are file descriptors")
    func descriptors() {
        let stage = Stage(limit: 100, waiting: 0)
        stage.machine.setMostAtOnce(10)
        #expect(stage.next() == .limit(nil, 10))
        stage.machine.open("s", limit: 3)
        #expect(Set([stage.next(), stage.next()]) == [.limit(nil, 5), nil])
        #expect(stage.machine[lane: "s"]?.limit == 3)
    }

    @Test("Ends are stored in one group at a time; a full disk holds the queue until one succeeds")
    func storing() {
        let stage = Stage(waiting: 0)
        stage.machine.recorded()
        #expect(stage.next() == .store)
        stage.machine.recorded()
        #expect(stage.next() == nil)
        stage.machine.storingFailed(isFull: true, now: 0, pause: 5)
        #expect(stage.machine.holds == [.databaseFull] && stage.next() == .wake(at: 5))
        stage.now = 5
        #expect(stage.next() == .store)
        stage.machine.stored()
        #expect(stage.machine.holds.isEmpty && stage.next() == nil)
    }

    @Test("The history is trimmed to its limit, without the failed ones, a thousand at a time")
    func trimming() {
        let stage = Stage(waiting: 0)
        stage.machine.setHistory(limit: 10, forgetsFailed: false)
        var counts = LaneCounts()
        counts.failed = 100
        stage.machine.counted(nil, counts)
        #expect(stage.next() == nil)
        (counts.finished, counts.removed) = (8, 3)
        stage.machine.counted(nil, counts)
        #expect(stage.next() == .trim(keeping: 10))
        #expect(stage.next() == nil)
        counts.finished = 7
        stage.machine.counted(nil, counts)
        stage.machine.trimmed(1, now: 0)
        #expect(stage.next() == nil)
        counts.finished = 9
        stage.machine.counted(nil, counts)
        #expect(stage.next() == .trim(keeping: 10))
        // A failed removal is not repeated at once.
        stage.machine.trimmed(0, now: 0)
        #expect(stage.next() == nil)
    }
}
