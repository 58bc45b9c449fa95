// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite struct VaryRuleTests {
    private func matches(_ first: HeaderFields, _ second: HeaderFields, _ vary: String...) -> Bool {
        var response = HeaderFields()
        for value in vary { response.append("Vary", value) }
        guard let selection = VaryRule.selection(of: first, by: response) else { return false }
        return selection == VaryRule.selection(of: second, by: response)
    }

    @Test func onlyTheNamedFieldsSelect() {
        #expect(self.matches(["Accept": "a", "X": "1"], ["Accept": "a", "X": "2"], "Accept"))
        #expect(!self.matches(["Accept": "a"], ["Accept": "b"], "accept"))
        #expect(!self.matches(["A": "1", "B": "1"], ["A": "1", "B": "2"], "A", "B"))
        #expect(!self.matches(["A": "1", "B": "1"], ["A": "1", "B": "2"], "A, B"))
        #expect(self.matches(["X": "1"], ["X": "2"]))
    }

    @Test func aMissingFieldMatchesOnlyAMissingOne() {
        #expect(self.matches([:], [:], "Cookie"))
        #expect(!self.matches([:], ["Cookie": ""], "Cookie"))
        #expect(!self.matches([:], ["Cookie": "a=b"], "Cookie"))
    }

    @Test func anAsteriskMatchesNothing() {
        #expect(!self.matches([:], [:], "*") && !self.matches([:], [:], "Accept, *"))
        #expect(!self.matches([:], [:], "Accept", "*") && !self.matches([:], [:], "bad name"))
    }

    @Test func blanksAndLinesOfAcceptFieldsDoNotCount() {
        #expect(self.matches(["Accept": "a,b ; q=1"], ["accept": "a , b;q=1"], "Accept"))
        #expect(self.matches(["Accept": "a", "Accept": "b"], ["Accept": "a, b"], "Accept"))
        #expect(!self.matches(["Accept": "a b"], ["Accept": "ab"], "Accept"))
        #expect(!self.matches(["Accept": "a;x=\"b, c\""], ["Accept": "a;x=\"b,c\""], "Accept"))
        // The meaning of blanks in other fields is unknown.
        #expect(!self.matches(["X": "a, b"], ["X": "a,b"], "X"))
        #expect(!self.matches(["Accept": "a,b"], ["Accept": "b,a"], "Accept"))
    }

    @Test func aResponseForOneUserIsNotForAnother() {
        #expect(!self.matches(["Authorization": "Bearer a"], ["Authorization": "Bearer b"]))
        #expect(!self.matches(["Authorization": "Bearer a"], [:]))
        #expect(self.matches(["Authorization": "Bearer a"], ["Authorization": "Bearer a"]))
        #expect(!self.matches(["Host": "a"], ["Host": "b"]))
    }

    @Test func valuesCannotBeMistakenForFields() {
        #expect(!self.matches(["A": "1", "B": "2"], ["A": "1\u{1}b:2"], "A", "B"))
        #expect(!self.matches(["A": "1"], ["A": "1", "B": ""], "A", "B"))
    }
}
