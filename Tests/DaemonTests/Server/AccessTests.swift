// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Control
import Testing
import TransferCore

@testable import Daemon

@Suite("Tokens and patience")
struct AccessTests {
    @Test("only the whole token is the token")
    func token() {
        let check = TokenCheck("secret")
        #expect(check.accepts("secret"))
        for wrong in ["", "secre", "secrets", "Secret", "secret\0", " secret"] { #expect(!check.accepts(wrong)) }
    }

    @Test("a few failures are answered at once, more of them later and later, and a quiet minute forgives")
    func throttle() {
        var throttle = FailureThrottle()
        let start = ContinuousClock.now
        for _ in 0..<FailureThrottle.free { #expect(throttle.failed(at: start).delay == .zero) }
        #expect(throttle.failed(at: start).delay == .milliseconds(100))
        #expect(throttle.failed(at: start).delay == .milliseconds(200))
        for _ in 0..<10_000 { _ = throttle.failed(at: start) }
        #expect(throttle.failed(at: start).delay == FailureThrottle.longest)
        #expect(throttle.failed(at: start + .seconds(61)).delay == .zero)
    }

    @Test("failures are logged at once and then every ten seconds, with how many there were")
    func lines() {
        var throttle = FailureThrottle()
        let start = ContinuousClock.now
        #expect(throttle.failed(at: start).logged == 1)
        #expect(throttle.failed(at: start + .seconds(1)).logged == nil)
        #expect(throttle.failed(at: start + .seconds(9)).logged == nil)
        #expect(throttle.failed(at: start + .seconds(10)).logged == 3)
    }

    @Test("credentials are read from Bearer and Basic")
    func credentials() {
        #expect(RequestCredential.token("Bearer abc") == "abc")
        #expect(RequestCredential.token("bearer  abc") == "abc")
        // user:a:b
        #expect(RequestCredential.token("Basic dXNlcjphOmI=") == "a:b")
        for text in ["", "Bearer", "Digest abc", "Basic dXNlcg==", "Basic !"] {
            #expect(RequestCredential.token(text) == nil)
        }
    }
}
