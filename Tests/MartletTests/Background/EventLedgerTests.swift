// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import Martlet

struct EventLedgerTests {
    @Test("an event counts as handled once every hold on it was released, and none before it is open")
    func order() {
        var ledger = EventLedger(acknowledged: 4)
        #expect(ledger.handled == 4)
        #expect(ledger.isSettled)
        let came = [5, 6, 7].map { ledger.came($0) }
        #expect(came == [true, true, true])
        #expect(ledger.handled == 4)
        #expect(!ledger.isSettled)
        ledger.release(6)
        #expect(ledger.handled == 4)
        let isHeld = ledger.hold(5)
        #expect(isHeld)
        ledger.release(5)
        #expect(ledger.handled == 4)
        ledger.release(5)
        #expect(ledger.handled == 6)
        ledger.release(7)
        #expect(ledger.handled == 7)
        #expect(ledger.isSettled)
    }

    @Test("an event that was seen before, or is handled, takes no hold and releases none")
    func repeated() {
        var ledger = EventLedger(acknowledged: 4)
        let old = [ledger.came(4), ledger.came(5), ledger.came(5)]
        #expect(old == [false, true, false])
        ledger.release(5)
        let holds = [ledger.hold(5), ledger.hold(4), ledger.hold(6)]
        #expect(holds == [false, false, false])
        ledger.release(5)
        ledger.release(99)
        #expect(ledger.handled == 5)
        #expect(ledger.received == 5)
    }

    @Test("missing numbers belong to other recipients, and delay nothing")
    func gaps() {
        var ledger = EventLedger(acknowledged: 0)
        _ = ledger.came(3)
        #expect(ledger.handled == 2)
        _ = ledger.came(10)
        ledger.release(3)
        #expect(ledger.handled == 9)
        ledger.release(10)
        #expect(ledger.handled == 10)
    }

    @Test("a random walk agrees with a set of what is open", arguments: 0..<20 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var ledger = EventLedger(acknowledged: 0)
        var (last, open): (Int64, [Int64: Int]) = (0, [:])
        for _ in 0..<5000 {
            let number = Int64.random(in: max(0, last - 40)...last + 2, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let isNew = ledger.came(number)
                #expect(isNew == (number > last))
                if number > last { (last, open[number]) = (number, 1) }
            case 2:
                let isHeld = ledger.hold(number)
                #expect(isHeld == (open[number] != nil))
                if let count = open[number] { open[number] = count + 1 }
            default:
                ledger.release(number)
                if let count = open[number] { open[number] = count > 1 ? count - 1 : nil }
            }
            #expect(ledger.received == last)
            #expect(ledger.handled == (open.keys.min().map { $0 - 1 } ?? last))
            #expect(ledger.isSettled == open.isEmpty)
        }
    }
}
