// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("VersionJudge: conditional requests")
struct RevalidationTests {
    private static let time = "Tue, 01 Jul 2025 10:00:00 GMT"
    private static let later = "Wed, 02 Jul 2025 10:00:00 GMT"
    private static let date = "Sat, 21 Nov 2026 12:00:00 GMT"
    private static let seconds: Int64 = 1_751_364_000

    private static func file(_ tag: String?, _ modified: String?, date: String? = Self.date)
        -> VersionJudge.FinishedFile
    {
        let facts = ResourceFacts(url: "", length: 10, entityTag: tag, lastModified: modified, date: date)
        return .init(size: 10, modified: Self.seconds, recorded: facts)
    }

    private static let unrecorded = VersionJudge.FinishedFile(size: 10, modified: Self.seconds)

    private static func response(
        _ tag: String? = nil,
        _ modified: String? = nil,
        length: Int64? = nil
    ) -> ResourceFacts {
        ResourceFacts(url: "", length: length, entityTag: tag, lastModified: modified, date: Self.date)
    }

    @Test("one condition: the entity tag, else the recorded time, else the modification time")
    func condition() {
        func text(_ file: VersionJudge.FinishedFile) -> String {
            VersionJudge.condition(for: file).map { "\($0.0): \($0.1)" }.joined(separator: ", ")
        }
        #expect(text(Self.file("\"a\"", Self.time)) == "If-None-Match: \"a\"")
        #expect(text(Self.file("W/\"a\"", Self.time)) == "If-None-Match: W/\"a\"")
        #expect(text(Self.file("a", Self.time)) == "If-Modified-Since: \(Self.time)")
        #expect(text(Self.file(nil, "yesterday")) == "If-Modified-Since: \(Self.time)")
        #expect(text(Self.unrecorded) == "If-Modified-Since: \(Self.time)")
        for modified in [-1, Int64.max] { #expect(text(.init(size: 1, modified: modified)) == "") }
    }

    @Test("what a 304 confirms")
    func confirmation() {
        typealias Case = (VersionJudge.FinishedFile, ResourceFacts, VersionJudge.Confirmation)
        let cases: [Case] = [
            // A strong tag, repeated or not.
            (Self.file("\"a\"", Self.time), Self.response("\"a\""), .current),
            (Self.file("\"a\"", Self.time), Self.response(), .current),
            (Self.file("\"a\"", Self.time), Self.response("\"b\""), .different),
            (Self.file("\"a\"", Self.time), Self.response("\"a\"", Self.later), .different),
            (Self.file("\"a\"", nil), Self.response("\"a\"", length: 11), .different),
            (Self.file("\"a\"", nil), Self.response("\"a\"", length: 0), .current),
            // A weak one needs the time.
            (Self.file("W/\"a\"", Self.time), Self.response("W/\"a\"", Self.time), .current),
            (Self.file("W/\"a\"", Self.time), Self.response("W/\"a\""), .unknown),
            (Self.file("W/\"a\"", nil), Self.response(), .unknown),
            // A time, if it is strong.
            (Self.file(nil, Self.time), Self.response(), .current),
            (Self.file(nil, Self.time), Self.response("\"b\"", Self.time), .current),
            (Self.file(nil, Self.time, date: Self.time), Self.response(), .unknown),
            (Self.file(nil, Self.later), Self.response(nil, Self.time), .different),
            // Without a record, length and time.
            (Self.unrecorded, Self.response(), .unknown),
            (Self.unrecorded, Self.response(nil, Self.time), .unknown),
            (Self.unrecorded, Self.response(nil, Self.time, length: 10), .current),
            (Self.unrecorded, Self.response(nil, Self.later, length: 10), .unknown),
        ]
        for (file, response, expected) in cases {
            #expect(VersionJudge.confirmation(of: file, by: response) == expected, "\(file) \(response)")
        }
    }

    @Test("a file is newer only without a record")
    func freshness() {
        let old = Self.response(nil, "Mon, 30 Jun 2025 10:00:00 GMT", length: 10)
        #expect(VersionJudge.freshness(of: Self.unrecorded, by: old) == .newer)
        #expect(VersionJudge.freshness(of: Self.unrecorded, by: Self.response(nil, Self.time, length: 10)) == .current)
        #expect(
            VersionJudge.freshness(of: Self.unrecorded, by: Self.response(nil, Self.time, length: 11)) == .different
        )
        #expect(VersionJudge.freshness(of: Self.unrecorded, by: Self.response(length: 10)) == .different)
        #expect(VersionJudge.freshness(of: Self.file(nil, Self.time), by: old) == .different)
    }
}
