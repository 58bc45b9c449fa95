// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Daemon

@Suite("Tickets of the page")
struct PageAccessTests {
    @Test("A ticket is valid once and for a minute")
    func tickets() {
        var book = TicketBook()
        func redeem(_ ticket: String, _ now: Double) -> Bool { book.redeem(ticket, now: now) }
        book.add("a", now: 0)
        book.add("b", now: 0)
        #expect(!redeem("c", 1))
        #expect(redeem("a", 59))
        #expect(!redeem("a", 59))
        #expect(!redeem("b", 60))
        book.add("first", now: 100)
        for number in 0..<TicketBook.most { book.add("\(number)", now: 100) }
        #expect(!redeem("first", 100))
        #expect(redeem("0", 100))
    }
}
