// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Testing

@testable import Worlds

/// The judge of a daemon's worlds is a value.
///
/// The worlds themselves replace the executor of the whole process, so that they run in `martlet-simulate` only.
@Suite("The ledger of a daemon's worlds")
struct DaemonLedgerTests {
    private static let ids = (1...3 as ClosedRange<UInt64>).compactMap { GID(rawValue: $0) }
    private var ledger = DaemonLedger(concurrent: 2)

    init() {
        for id in Self.ids { self.ledger.name(id, path: "/\(id)") }
    }

    private static func record(_ id: GID, _ state: TransferRecord.State, _ priority: Int = 0) -> TransferRecord {
        var record = TransferRecord(id: id, state: state, urls: ["http://a/"], directory: "/", added: 0)
        record.priority = priority
        return record
    }

    private mutating func add(isPaused: Bool = false) {
        for id in Self.ids {
            self.ledger.done(.add([id], isPaused: isPaused, atFront: false, TransferOptions()))
        }
    }

    private mutating func see(_ states: [TransferRecord.State?]) -> [String] {
        self.ledger.saw(zip(Self.ids, states).compactMap { id, state in state.map { Self.record(id, $0) } })
    }

    @Test("a transfer whose addition was acknowledged must be there")
    mutating func lost() {
        self.add()
        #expect(self.see([.waiting, .active, .finished]) == [])
        #expect(self.see([.waiting, nil, .finished]) == ["transfer 2 is lost: it should run"])
    }

    @Test("one whose addition was not acknowledged may be there or not, until it is seen")
    mutating func uncertain() {
        self.ledger.maybeDone(.add(Self.ids, isPaused: false, atFront: false, TransferOptions()))
        #expect(self.see([.waiting, nil, .waiting]) == [])
        #expect(self.see([.waiting, .waiting, .waiting]) == ["transfer 2 is back: waiting"])
        #expect(self.see([nil, nil, .waiting]).first == "transfer 1 is lost: it should run")
    }

    @Test("a transfer that was never added, and one that is listed twice")
    mutating func foreign() throws {
        self.add()
        let other = try #require(GID(rawValue: 9))
        let all = Self.ids.map { Self.record($0, .waiting) }
        #expect(self.ledger.saw(all + [Self.record(other, .waiting)]).first?.hasSuffix("was never added") == true)
        #expect(self.ledger.saw(all + all).contains("a list has a transfer twice"))
    }

    @Test("what is paused stays paused once it was seen so; before, it may be ending")
    mutating func paused() {
        self.add()
        self.ledger.done(.act(.pause, [Self.ids[0]]))
        #expect(self.see([.active, .waiting, .waiting]) == [])
        #expect(self.see([.paused, .waiting, .waiting]) == [])
        #expect(self.see([.active, .waiting, .waiting]) == ["transfer 1 is active although it should pause"])
    }

    @Test("a pause without an answer has two results")
    mutating func perhapsPaused() {
        for state in [TransferRecord.State.paused, .waiting] {
            var other = self
            other.add()
            other.ledger.maybeDone(.act(.pause, Self.ids))
            #expect(other.see([state, state, state]) == [])
            #expect(other.see([.removed, state, state]).count == 1)
        }
    }

    @Test("an end is final until a retry")
    mutating func ends() {
        self.add()
        #expect(self.ledger.ended(Self.ids[0], .finished) == nil)
        #expect(self.see([.waiting, .waiting, .waiting]).first?.hasSuffix("said to be finished") == true)
        #expect(self.ledger.ended(Self.ids[0], .finished) == .finished, "an end was reported twice")
        self.ledger.done(.act(.retry, [Self.ids[0]]))
        #expect(self.ledger.entries[Self.ids[0]]?.end == nil)
        #expect(self.ledger.ended(Self.ids[0], .finished) == nil)
    }

    @Test("the order of the queue is that of acknowledged moves")
    mutating func order() {
        self.add()
        self.ledger.done(.move(Self.ids[2], by: 0, from: .start))
        let all = Self.ids.map { Self.record($0, .waiting) }
        var right = self.ledger
        #expect(right.saw([all[2], all[0], all[1]]) == [])
        #expect(self.ledger.saw(all) == ["the order of the queue is 1, 2, 3, not 3, 1, 2"])
    }

    @Test("a move without an answer has two results, of which a list shows the one that counts from then on")
    mutating func perhapsMoved() {
        self.add()
        self.ledger.maybeDone(.move(Self.ids[2], by: 0, from: .start))
        let all = Self.ids.map { Self.record($0, .waiting) }
        for order in [[0, 1, 2], [2, 0, 1]] {
            var ledger = self.ledger
            #expect(ledger.saw(order.map { all[$0] }) == [])
            #expect(ledger.saw([all[1], all[0], all[2]]).count == 1)
            #expect(ledger.lines.isEmpty)
        }
    }

    @Test("priorities and options survive; a change without an answer has two results")
    mutating func options() {
        self.add()
        self.ledger.done(.act(.setPriority(3), [Self.ids[0]]))
        self.ledger.done(.option(Self.ids[1], .maxDownloadLimit, "1000"))
        var first = Self.record(Self.ids[0], .waiting, 3)
        var second = Self.record(Self.ids[1], .waiting)
        second.options[.maxDownloadLimit] = "1000"
        let third = Self.record(Self.ids[2], .waiting)
        #expect(self.ledger.saw([first, second, third]) == [])
        self.ledger.maybeDone(.option(Self.ids[1], .maxDownloadLimit, "2000"))
        for value in ["1000", "2000"] {
            var ledger = self.ledger
            second.options[.maxDownloadLimit] = value
            #expect(ledger.saw([first, second, third]) == [])
        }
        second.options[.maxDownloadLimit] = nil
        first.priority = 0
        #expect(self.ledger.saw([first, second, third]).count == 2)
    }

    @Test("settings survive")
    mutating func settings() {
        self.ledger.done(.concurrent(5))
        self.ledger.maybeDone(.hostLimit(1))
        var other = self.ledger
        #expect(self.ledger.saw(concurrent: 5, hostLimit: nil, schedule: nil) == [])
        #expect(other.saw(concurrent: 5, hostLimit: 1, schedule: nil) == [])
        #expect(other.saw(concurrent: 2, hostLimit: nil, schedule: nil).count == 2)
    }

    @Test("the next one is the first by priority and place; nothing is said of what is uncertain")
    mutating func next() {
        self.add()
        let (first, second, third) = (Self.ids[0], Self.ids[1], Self.ids[2])
        #expect(self.ledger.preceding(first, except: []) == nil)
        #expect(self.ledger.preceding(second, except: []) == first)
        #expect(self.ledger.preceding(second, except: [first]) == nil)
        self.ledger.done(.act(.setPriority(2), [second, third]))
        self.ledger.done(.act(.setPriority(4), [third]))
        #expect(self.ledger.preceding(second, except: []) == third)
        self.ledger.maybeDone(.act(.pause, [third]))
        #expect(self.ledger.preceding(second, except: []) == nil)
    }
}
