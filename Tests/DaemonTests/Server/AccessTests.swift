// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Control
import Testing
import TransferCore

@testable import Daemon

@Suite("Tokens")
struct AccessTests {
    @Test("only the whole token is the token")
    func token() {
        let check = TokenCheck("secret")
        #expect(check.accepts("secret"))
        for wrong in ["", "secre", "secrets", "Secret", "secret\0", " secret"] { #expect(!check.accepts(wrong)) }
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
