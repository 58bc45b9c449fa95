// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPServer

@Suite("The cookie of a browser that has signed in")
struct SignInCookieTests {
    private func cookie(_ secret: String) -> SignInCookie {
        SignInCookie(secret: Array(secret.utf8), purpose: "test")
    }

    @Test("A subject and the attributes are kept")
    func subject() {
        let cookie = self.cookie("one")
        #expect(cookie.check(cookie.value(subject: "anna", now: 1000), now: 1000)?.subject == "anna")
        #expect(cookie.check(cookie.value(now: 1000), now: 1000)?.subject == nil)
        let field = cookie.field("v", path: "/files/", isSecure: true)
        #expect(field == "\(cookie.name)=v; Path=/files/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure")
        #expect(cookie.field("") == "\(cookie.name)=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
        #expect(SignInCookie(secret: Array("one".utf8), purpose: "other").name != cookie.name)
    }

    @Test("A cookie is valid for a week, also after a restart, and only with the same token")
    func cookies() {
        let cookie = self.cookie("one")
        let value = cookie.value(now: 1000)
        #expect(cookie.check(value, now: 1000)?.left == SignInCookie.lifetime)
        #expect(self.cookie("one").check(value, now: 2000) != nil)
        #expect(cookie.check(value, now: 1000 + SignInCookie.lifetime) == nil)
        #expect(self.cookie("two").check(value, now: 1000) == nil)
        #expect(self.cookie("two").name != cookie.name)
        #expect(cookie.value(now: 1000) != value)
    }

    @Test("A changed or malformed cookie is invalid")
    func malformed() {
        let cookie = self.cookie("one")
        let value = cookie.value(now: 1000)
        for wrong in [
            "9\(value)", "\(value)00", String(value.dropLast()), "", ".", "..", "1.2.3", value + value,
            String(repeating: "1", count: 300),
        ] {
            #expect(cookie.check(wrong, now: 1000) == nil, "\(wrong)")
        }
    }
}
