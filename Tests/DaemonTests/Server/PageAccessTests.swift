// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Daemon

@Suite("Tickets and cookies of the page")
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

    @Test("A cookie is valid for a week, also after a restart, and only with the same token")
    func cookies() {
        let cookie = PageCookie(token: "one")
        let value = cookie.value(now: 1000)
        #expect(cookie.left(value, now: 1000) == PageCookie.lifetime)
        #expect(PageCookie(token: "one").left(value, now: 2000) != nil)
        #expect(cookie.left(value, now: 1000 + PageCookie.lifetime) == nil)
        #expect(PageCookie(token: "two").left(value, now: 1000) == nil)
        #expect(PageCookie(token: "two").name != cookie.name)
        #expect(cookie.value(now: 1000) != value)
    }

    @Test("A changed or malformed cookie is invalid")
    func malformed() {
        let cookie = PageCookie(token: "one")
        let value = cookie.value(now: 1000)
        for wrong in [
            "9\(value)", "\(value)00", String(value.dropLast()), "", ".", "..", "1.2.3", value + value,
            String(repeating: "1", count: 300),
        ] {
            #expect(cookie.left(wrong, now: 1000) == nil, "\(wrong)")
        }
    }
}
