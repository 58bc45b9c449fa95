import Control
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

/// A transfer that waits.
func waiting(_ number: UInt64, priority: Int = 0) throws -> StoredTransfer {
    var stored = StoredTransfer(
        id: try #require(GID(rawValue: number)),
        urls: ["http://localhost/\(number)"],
        directory: "/",
        added: 0
    )
    stored.priority = priority
    return stored
}

/// A lane's queue by reference, for expectations.
private final class Lined {
    var queue: LaneQueue

    init(limit: Int) { self.queue = LaneQueue(limit: limit) }

    var stagedCount: Int { self.queue.stagedCount }
    var entries: [GID: LaneQueue.Entry] { self.queue.entries }

    func fetch() throws -> LaneQueue.Fetch {
        guard let read = self.queue.nextFetch() else { throw TestSupportError("the lane reads nothing") }
        return read
    }

    func nextFetch() -> LaneQueue.Fetch? { self.queue.nextFetch() }
    func fetched(_ read: LaneQueue.Fetch, _ found: [StoredTransfer]) -> [LaneQueue.Entry] {
        self.queue.fetched(read, found)
    }
    func started(_ id: GID, run: UInt64) -> Bool { self.queue.started(id, run: run) }
    func ended(_ id: GID, run: UInt64) -> LaneQueue.Entry? { self.queue.ended(id, run: run) }
    func committed(_ id: GID, run: UInt64) { self.queue.committed(id, run: run) }
    func cancelled(_ id: GID, run: UInt64) -> LaneQueue.Entry? { self.queue.cancelled(id, run: run) }
    func takeBack(_ id: GID, comesBack: Bool) -> LaneQueue.Entry? { self.queue.takeBack(id, comesBack: comesBack) }
    func takeBackStaged() -> [LaneQueue.Entry] { self.queue.takeBackStaged() }
    func comesBackAfterAll(_ id: GID) { self.queue.comesBackAfterAll(id) }
    func added(priority: Int = 0) { self.queue.added(priority: priority) }
    func changed() { self.queue.changed() }
    func hold(_ reason: TransferRecord.WaitReason, cutsRunning: Bool) -> [LaneQueue.Entry] {
        self.queue.hold(reason, cutsRunning: cutsRunning)
    }
    func release(_ reason: TransferRecord.WaitReason) { self.queue.release(reason) }
}

@Suite("What a lane takes")
struct LaneQueueTests {
    @Test("It takes its limit and the look-ahead, and reads again once half of that is used up")
    func refilling() throws {
        let queue = Lined(limit: 5)
        let first = try queue.fetch()
        #expect(first.limit == 261 && first.excluded.isEmpty)
        #expect(queue.nextFetch() == nil, "a read is under way")
        let taken = queue.fetched(first, try (1...261).map { try waiting($0) })
        #expect(taken.map(\.transfer.id.rawValue) == Array(1...261) && queue.stagedCount == 261)
        #expect(queue.nextFetch() == nil)
        for entry in taken.prefix(127) {
            #expect(queue.started(entry.transfer.id, run: entry.run))
            _ = queue.ended(entry.transfer.id, run: entry.run)
            queue.committed(entry.transfer.id, run: entry.run)
        }
        #expect(queue.nextFetch() == nil)
        let entry = taken[127]
        _ = queue.ended(entry.transfer.id, run: entry.run)
        queue.committed(entry.transfer.id, run: entry.run)
        let second = try queue.fetch()
        #expect(second.limit == 128 && second.excluded.count == 133)
    }

    @Test("Ends that are being stored take no place, and are not read as if they waited")
    func endsBeingStored() throws {
        let queue = Lined(limit: 5)
        let taken = queue.fetched(try queue.fetch(), try (1...261).map { try waiting($0) })
        for entry in taken.prefix(128) {
            #expect(queue.started(entry.transfer.id, run: entry.run))
            _ = queue.ended(entry.transfer.id, run: entry.run)
        }
        let second = try queue.fetch()
        #expect(second.limit == 128 && second.excluded.count == 261)
        _ = queue.fetched(second, try (262...389).map { try waiting($0) })
        for entry in taken.prefix(128) { queue.committed(entry.transfer.id, run: entry.run) }
        #expect(queue.nextFetch() == nil)
    }

    @Test("What ends before the store knows is not taken again by a read that began before")
    func staleRead() throws {
        let queue = Lined(limit: 200)
        let first = try queue.fetch()
        let taken = queue.fetched(first, try (1...UInt64(first.limit)).map { try waiting($0) })
        for entry in taken.prefix(600) {
            _ = queue.ended(entry.transfer.id, run: entry.run)
            queue.committed(entry.transfer.id, run: entry.run)
        }
        let second = try queue.fetch()
        let last = try #require(taken.last)
        _ = queue.ended(last.transfer.id, run: last.run)
        queue.committed(last.transfer.id, run: last.run)
        #expect(queue.fetched(second, [last.transfer]).isEmpty)
    }

    @Test("A read that the order's change overtook counts for nothing")
    func changedOrder() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        queue.changed()
        #expect(queue.fetched(read, [try waiting(1)]).isEmpty)
        let again = try queue.fetch()
        #expect(queue.fetched(again, [try waiting(2), try waiting(1)]).map(\.transfer.id.rawValue) == [2, 1])
    }

    @Test("What is added while a read is under way is read afterwards, and what was read stays")
    func addedMeanwhile() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        queue.added()
        #expect(queue.fetched(read, [try waiting(1)]).count == 1)
        let again = try queue.fetch()
        #expect(again.excluded.count == 1)
        #expect(queue.fetched(again, [try waiting(2)]).count == 1)
        #expect(queue.nextFetch() == nil, "the store has nothing else")
    }

    @Test("What is added with a greater priority while a read is under way goes before what that found")
    func overtaking() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        queue.added(priority: 5)
        let found = [try waiting(1, priority: 9), try waiting(2, priority: 5), try waiting(3), try waiting(4)]
        #expect(queue.fetched(read, found).map(\.transfer.id.rawValue) == [1, 2])
        let again = try queue.fetch()
        #expect(again.excluded.count == 2)
        let rest = [try waiting(5, priority: 5), try waiting(3), try waiting(4)]
        #expect(queue.fetched(again, rest).map(\.transfer.id.rawValue) == [5, 3, 4])
        #expect(queue.nextFetch() == nil, "the store has nothing else")
    }

    @Test("Those taken back for their order are waited for before the next read")
    func takenBack() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        let taken = queue.fetched(read, [try waiting(1), try waiting(2), try waiting(3)])
        #expect(queue.started(taken[0].transfer.id, run: taken[0].run))
        let back = queue.takeBackStaged()
        #expect(Set(back.map(\.transfer.id.rawValue)) == [2, 3])
        #expect(queue.nextFetch() == nil)
        #expect(queue.cancelled(taken[1].transfer.id, run: taken[1].run)?.comesBack == true)
        #expect(queue.nextFetch() == nil)
        #expect(queue.cancelled(taken[2].transfer.id, run: taken[2].run) != nil)
        let again = try queue.fetch()
        #expect(again.excluded == [taken[0].transfer.id])
    }

    @Test("One that was paused while it ran is not waited for; resumed before it stopped, it is")
    func pausedAndResumed() throws {
        let queue = Lined(limit: 2)
        let read = try queue.fetch()
        let taken = queue.fetched(read, [try waiting(1)])
        let id = taken[0].transfer.id
        _ = queue.started(id, run: taken[0].run)
        #expect(queue.takeBack(id, comesBack: false) != nil)
        queue.changed()
        let other = try queue.fetch()
        #expect(queue.fetched(other, []).isEmpty)
        queue.comesBackAfterAll(id)
        queue.changed()
        #expect(queue.nextFetch() == nil)
        #expect(queue.cancelled(id, run: taken[0].run)?.comesBack == true)
        #expect(queue.nextFetch() != nil)
    }

    @Test("Nothing is taken while it is held; all reasons must be gone")
    func held() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        let taken = queue.fetched(read, [try waiting(1), try waiting(2)])
        _ = queue.started(taken[0].transfer.id, run: taken[0].run)
        #expect(queue.hold(.diskFull, cutsRunning: false).map(\.transfer.id.rawValue) == [2])
        #expect(queue.hold(.schedule, cutsRunning: true).map(\.transfer.id.rawValue) == [1])
        for entry in taken { _ = queue.cancelled(entry.transfer.id, run: entry.run) }
        #expect(queue.nextFetch() == nil)
        queue.release(.diskFull)
        #expect(queue.nextFetch() == nil)
        queue.release(.schedule)
        #expect(queue.nextFetch() != nil)
    }

    @Test("An event of an earlier staging is not one of this one")
    func lateEvent() throws {
        let queue = Lined(limit: 1)
        let read = try queue.fetch()
        let first = queue.fetched(read, [try waiting(1)])[0]
        _ = queue.takeBackStaged()
        _ = queue.cancelled(first.transfer.id, run: first.run)
        let again = try queue.fetch()
        let second = queue.fetched(again, [try waiting(1)])[0]
        #expect(second.run != first.run)
        #expect(queue.ended(first.transfer.id, run: first.run) == nil)
        #expect(!queue.started(first.transfer.id, run: first.run))
        #expect(queue.entries[first.transfer.id]?.phase == .staged)
    }
}
