// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Validators")
struct ValidatorsTests {
    private let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private let secondEarlier = "Sun, 06 Nov 1994 08:49:36 GMT"
    private let time: Int64 = 784_111_777

    @Test("If-Range uses a strong entity tag, or a strong Last-Modified without an entity tag")
    func ifRange() {
        let old = self.secondEarlier
        #expect(Validators(entityTag: "\"a\"").ifRange == "\"a\"")
        #expect(Validators(entityTag: "W/\"a\"").ifRange == nil)
        #expect(Validators(entityTag: "W/\"a\"", lastModified: old, date: self.date).ifRange == nil)
        #expect(Validators(lastModified: old, date: self.date).ifRange == old)
        #expect(Validators(lastModified: self.date, date: self.date).ifRange == nil)
        #expect(Validators(lastModified: old).ifRange == nil)
        #expect(Validators(lastModified: "yesterday", date: self.date).ifRange == nil)
        #expect(Validators(entityTag: "unquoted", lastModified: old, date: self.date).ifRange == old)
        #expect(Validators().ifRange == nil)
    }

    @Test("Last-Modified is strong a second before Date, never without a Date or in the future")
    func strength() {
        func isStrong(_ modified: Int64, date: Int64?, received: Int64?) -> Bool {
            Validators(
                lastModified: HTTPDate.format(modified),
                date: date.map(HTTPDate.format),
                received: received
            )
            .isLastModifiedStrong
        }
        #expect(isStrong(99, date: 100, received: 1000))
        #expect(!isStrong(100, date: 100, received: 1000))
        #expect(!isStrong(101, date: 100, received: 1000))
        #expect(!isStrong(940, date: nil, received: 1000))
        #expect(!isStrong(99, date: nil, received: 1_000_000_000))
        #expect(!isStrong(940, date: nil, received: nil))
        #expect(!isStrong(2000, date: 3000, received: 1000))
    }

    @Test("entity tags: malformed ones count as none, but two that differ are different")
    func entityTags() {
        func match(_ left: String?, _ right: String?) -> ValidatorMatch {
            let forth = Validators(entityTag: left).entityTagMatch(Validators(entityTag: right))
            #expect(Validators(entityTag: right).entityTagMatch(Validators(entityTag: left)) == forth)
            return forth
        }
        #expect(match("\"a\"", "\"a\"") == .strong)
        #expect(match("\"a\"", "\"b\"") == .different)
        #expect(match("W/\"a\"", "\"a\"") == .weak)
        #expect(match("W/\"a\"", "W/\"a\"") == .weak)
        #expect(match("W/\"a\"", "W/\"b\"") == .different)
        #expect(match(nil, nil) == .absent)
        #expect(match("\"a\"", nil) == .incomparable)
        #expect(match("a", "a") == .absent)
        #expect(match("a", "b") == .different)
        #expect(match("a", "\"a\"") == .incomparable)
        #expect(match("a", nil) == .incomparable)
    }

    @Test("Last-Modified: equal in any of the three forms, strong if it is so in both")
    func lastModified() {
        let old = Validators(lastModified: self.secondEarlier, date: self.date)
        let young = Validators(lastModified: self.secondEarlier, date: self.secondEarlier)
        let other = Validators(lastModified: "Sunday, 06-Nov-94 08:49:36 GMT", date: self.date)
        #expect(old.lastModifiedMatch(old) == .strong)
        #expect(old.lastModifiedMatch(other) == .strong)
        #expect(old.lastModifiedMatch(young) == .weak)
        #expect(young.lastModifiedMatch(old) == .weak)
        #expect(old.lastModifiedMatch(Validators(lastModified: self.date)) == .different)
        #expect(old.lastModifiedMatch(Validators()) == .incomparable)
        #expect(Validators().lastModifiedMatch(Validators()) == .absent)
        #expect(Validators(lastModified: "x").lastModifiedMatch(Validators(lastModified: "x")) == .weak)
        #expect(Validators(lastModified: "x").lastModifiedMatch(Validators(lastModified: "y")) == .different)
    }
}
