// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("The Cookie field of a request") struct CookieFieldTests {
    @Test("The user's cookies follow those of the jar, which replace theirs of the same name")
    func merging() {
        #expect(CookieField.merging("a=1; b=2", given: nil) == "a=1; b=2")
        #expect(CookieField.merging("a=1", given: "b=2; c=3") == "a=1; b=2; c=3")
        #expect(CookieField.merging("a=new; b=2", given: "a=old;c=3") == "a=new; b=2; c=3")
        #expect(CookieField.merging("a=1", given: "; ;") == "a=1")
        #expect(CookieField.merging("a=1", given: "bare; a") == "a=1; bare")
    }
}
