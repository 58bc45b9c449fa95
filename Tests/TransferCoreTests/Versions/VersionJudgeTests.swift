// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// The rules of "One file, one version", by their letters.
@Suite("Which responses are of one version")
struct VersionJudgeTests {
    private typealias Judge = VersionJudge
    private static let old = "Tue, 01 Jul 2025 10:00:00 GMT"
    private static let newer = "Wed, 02 Jul 2025 10:00:00 GMT"
    private static let date = "Sat, 21 Nov 2026 12:00:00 GMT"

    private func facts(
        _ tag: String? = nil,
        _ modified: String? = nil,
        date: String? = Self.date,
        length: Int64? = 1000,
        encoding: String? = nil,
        digest: String? = nil,
        type: String? = nil
    ) -> ResourceFacts {
        ResourceFacts(
            url: "http://a/f",
            length: length,
            entityTag: tag,
            lastModified: modified,
            date: date,
            received: 1_800_000_000,
            contentEncoding: encoding,
            mediaType: type,
            representationDigest: digest
        )
    }

    private func relation(
        _ response: ResourceFacts,
        to held: ResourceFacts,
        mirror: Bool = false,
        digest: Bool = false
    ) -> String {
        let context = Judge.Context(isOtherResource: mirror, isDigestKnown: digest)
        return switch Judge.relation(of: response, to: held, context) {
        case .same(let consistency): consistency.rawValue
        case .comparable: "comparable"
        case .different: "different"
        }
    }

    @Test("(a) equal strong entity tags, or equal strong Last-Modified with no entity tag or equal weak ones")
    func validators() {
        let (old, young) = (Self.old, Self.date)
        #expect(self.relation(self.facts("\"x\""), to: self.facts("\"x\"")) == "etag")
        #expect(self.relation(self.facts("\"x\"", old), to: self.facts("\"x\"", old)) == "etag")
        #expect(self.relation(self.facts("\"x\"", old), to: self.facts("\"x\"")) == "etag")
        #expect(self.relation(self.facts(nil, old), to: self.facts(nil, old)) == "last-modified")
        #expect(self.relation(self.facts("W/\"x\"", old), to: self.facts("W/\"x\"", old)) == "last-modified")
        #expect(self.relation(self.facts("W/\"x\"", old), to: self.facts("\"x\"", old)) == "last-modified")
        // A weak tag hides nothing, a young date vouches for nothing.
        #expect(self.relation(self.facts("W/\"x\""), to: self.facts("W/\"x\"")) == "comparable")
        #expect(self.relation(self.facts("W/\"x\"", Self.newer), to: self.facts("W/\"x\"", old)) == "comparable")
        #expect(self.relation(self.facts(nil, young), to: self.facts(nil, young)) == "comparable")
        #expect(self.relation(self.facts(nil, Self.newer), to: self.facts(nil, old)) == "comparable")
        #expect(self.relation(self.facts("x", old), to: self.facts("x", old)) == "last-modified")
    }

    @Test("(a) equal strong entity tags with another Last-Modified allow a comparison, no more")
    func perResponseDates() {
        #expect(self.relation(self.facts("\"x\"", Self.newer), to: self.facts("\"x\"", Self.old)) == "comparable")
    }

    @Test("unknown is not equal: a validator that only one has helps nothing")
    func unknown() {
        #expect(self.relation(self.facts(), to: self.facts("\"x\"", Self.old)) == "comparable")
        #expect(self.relation(self.facts(nil, Self.old), to: self.facts("\"x\"", Self.old)) == "comparable")
        #expect(self.relation(self.facts("\"x\""), to: self.facts(nil, Self.old)) == "comparable")
        #expect(self.relation(self.facts("x"), to: self.facts("\"x\"")) == "comparable")
        #expect(self.relation(self.facts(), to: self.facts()) == "comparable")
    }

    @Test("(b') a differing entity tag allows a comparison only if length and strong Last-Modified agree")
    func perNodeTags() {
        let held = self.facts("\"x\"", Self.old)
        #expect(self.relation(self.facts("\"y\"", Self.old), to: held) == "comparable")
        #expect(self.relation(self.facts("\"y\"", Self.newer), to: held) == "different")
        #expect(self.relation(self.facts("\"y\""), to: held) == "different")
        #expect(self.relation(self.facts("\"y\"", Self.old, length: nil), to: held) == "different")
        #expect(self.relation(self.facts("y"), to: self.facts("x")) == "different")
        let young = self.facts("\"x\"", Self.date)
        #expect(self.relation(self.facts("\"y\"", Self.date), to: young) == "different")
    }

    @Test("lengths that differ, and Content-Encodings that differ, are of different versions")
    func lengths() {
        #expect(self.relation(self.facts("\"x\"", length: 999), to: self.facts("\"x\"")) == "different")
        #expect(self.relation(self.facts("\"x\"", length: nil), to: self.facts("\"x\"")) == "etag")
        #expect(self.relation(self.facts("\"x\"", encoding: "gzip"), to: self.facts("\"x\"")) == "different")
        #expect(
            self.relation(self.facts("\"x\"", encoding: "gzip"), to: self.facts("\"x\"", encoding: "gzip")) == "etag"
        )
    }

    @Test("(c) equal SHA-2 Repr-Digests, or a digest of the complete file that is known in advance")
    func digests() {
        let one = "sha-256=:\(Base64.encode([UInt8](repeating: 1, count: 32))):"
        let two = "sha-256=:\(Base64.encode([UInt8](repeating: 2, count: 32))):"
        let md5 = "md5=:\(Base64.encode([UInt8](repeating: 1, count: 16))):"
        #expect(self.relation(self.facts("\"x\"", digest: one), to: self.facts("\"y\"", digest: one)) == "digest")
        #expect(self.relation(self.facts("\"x\"", digest: two), to: self.facts("\"x\"", digest: one)) == "different")
        #expect(self.relation(self.facts(digest: md5), to: self.facts(digest: md5)) == "comparable")
        #expect(self.relation(self.facts(), to: self.facts(), digest: true) == "digest")
        #expect(self.relation(self.facts("\"y\""), to: self.facts("\"x\""), digest: true) == "different")
        #expect(self.relation(self.facts(length: 1), to: self.facts(), digest: true) == "different")
    }

    @Test("a mirror needs equal entity tag, Last-Modified and length, all three; else a comparison or a digest")
    func mirrors() {
        let held = self.facts("\"x\"", Self.old)
        #expect(self.relation(self.facts("\"x\"", Self.old), to: held, mirror: true) == "etag")
        #expect(self.relation(self.facts("\"x\""), to: held, mirror: true) == "comparable")
        #expect(self.relation(self.facts("\"x\"", Self.old, length: nil), to: held, mirror: true) == "comparable")
        #expect(self.relation(self.facts("\"y\"", Self.newer), to: held, mirror: true) == "comparable")
        #expect(self.relation(self.facts("W/\"x\"", Self.old), to: held, mirror: true) == "comparable")
        #expect(self.relation(self.facts("\"x\"", Self.old, length: 9), to: held, mirror: true) == "different")
        #expect(self.relation(self.facts(), to: held, mirror: true, digest: true) == "digest")
    }

    // MARK: Continuing

    private func continuation(
        _ response: ResourceFacts,
        after held: ResourceFacts,
        additional: Bool = false,
        overlap: Int64 = 0,
        run: Int64 = 1 << 20
    ) -> String {
        let continuation = Judge.continuation(
            of: response,
            after: held,
            Judge.Context(),
            isAdditional: additional,
            overlap: overlap,
            run: run
        )
        return switch continuation {
        case .accepted(let consistency): "accepted by \(consistency.rawValue)"
        case .compared: "compared"
        case .needsOverlap: "needs overlap"
        case .needsPrecedingBytes: "needs preceding bytes"
        case .refused: "refused"
        }
    }

    @Test("(b) at least 64 KiB, or all that is held before it, are compared within the continuing response")
    func overlap() {
        let (held, response) = (self.facts("W/\"x\""), self.facts("W/\"x\""))
        #expect(self.continuation(response, after: held) == "needs overlap")
        #expect(self.continuation(response, after: held, overlap: 65_535) == "needs overlap")
        #expect(self.continuation(response, after: held, overlap: 65_536) == "compared")
        #expect(self.continuation(response, after: held, overlap: 500, run: 500) == "compared")
        #expect(self.continuation(response, after: held, overlap: 0, run: 0) == "needs preceding bytes")
        #expect(self.continuation(self.facts("\"y\""), after: self.facts("\"x\""), overlap: 65_536) == "refused")
    }

    @Test("parallel ranges require (a) for every response: nothing is compared beside another connection")
    func parallel() {
        let weak = self.facts("W/\"x\"")
        #expect(self.continuation(weak, after: weak, additional: true, overlap: 65_536) == "refused")
        let strong = self.facts("\"x\"")
        #expect(self.continuation(strong, after: strong, additional: true) == "accepted by etag")
        #expect(self.continuation(self.facts(), after: strong, additional: true) == "refused")
        #expect(Judge.allowsParallelRanges(strong))
        #expect(Judge.allowsParallelRanges(self.facts("W/\"x\"", Self.old)))
        #expect(!Judge.allowsParallelRanges(weak))
        #expect(!Judge.allowsParallelRanges(self.facts(nil, Self.date)))
        #expect(!Judge.allowsParallelRanges(self.facts()))
        #expect(Judge.allowsParallelRanges(self.facts(), Judge.Context(isDigestKnown: true)))
        var overlapped = strong
        overlapped.consistency = .overlap
        #expect(!Judge.allowsParallelRanges(overlapped))
        var unreliable = strong
        unreliable.isUnreliable = true
        #expect(!Judge.allowsParallelRanges(unreliable))
    }

    // MARK: Replacing

    private func replacement(_ response: ResourceFacts, of held: ResourceFacts) -> String {
        switch Judge.replacement(by: response, of: held) {
        case .same: "same"
        case .restart: "restart"
        case .suspicious: "suspicious"
        case .beside: "beside"
        }
    }

    @Test("a 200 that proves nothing does not take the place of a partial file with a strong validator")
    func captivePortal() {
        let held = self.facts("\"x\"", length: 9_000_000, type: "application/zip")
        #expect(self.replacement(self.facts(length: 39, type: "text/html"), of: held) == "suspicious")
        #expect(self.replacement(self.facts(length: 9_000_000, type: "text/html"), of: held) == "suspicious")
        #expect(self.replacement(self.facts(length: 39, type: "application/zip"), of: held) == "suspicious")
        #expect(self.replacement(self.facts(length: 8_000_000, type: "application/zip"), of: held) == "beside")
        #expect(self.replacement(self.facts(length: nil), of: held) == "beside")
        #expect(self.replacement(self.facts("\"y\"", length: 39, type: "text/html"), of: held) == "restart")
        #expect(self.replacement(self.facts("\"x\"", length: 9_000_000), of: held) == "same")
        #expect(self.replacement(self.facts(length: 39), of: self.facts(length: 9_000_000)) == "restart")
    }

    @Test("a version that returns after another was seen (A, B, A) makes the source unreliable, and stays in memory")
    func alternation() {
        let (a, b) = (self.facts("\"a\""), self.facts("\"b\""))
        let second = Judge.successor(b, of: a)
        #expect(second.formerVersions == ["\"a\""])
        #expect(!second.isUnreliable)
        let third = Judge.successor(a, of: second)
        #expect(third.isUnreliable)
        #expect(third.formerVersions == ["\"a\"", "\"b\""])
        #expect(Judge.successor(self.facts("\"c\""), of: third).isUnreliable)
        #expect(!Judge.successor(self.facts("\"c\""), of: second).isUnreliable)
        var facts = a
        for index in 0..<20 { facts = Judge.successor(self.facts("\"\(index)\""), of: facts) }
        #expect(facts.formerVersions.count == ResourceFacts.formerLimit)
    }

    // MARK: A finished file

    @Test("already there: length or strong entity tag, and (a) against the record; without one, the modification time")
    func finished() {
        func isCurrent(_ recorded: ResourceFacts?, _ response: ResourceFacts, size: Int64 = 1000) -> Bool {
            let modified = HTTPDate.parse(Self.old) ?? 0
            return Judge.isCurrent(Judge.FinishedFile(size: size, modified: modified, recorded: recorded), response)
        }
        let recorded = self.facts("\"x\"", Self.old)
        #expect(isCurrent(recorded, self.facts("\"x\"", Self.old)))
        #expect(!isCurrent(recorded, self.facts("\"y\"", Self.old)))
        #expect(!isCurrent(recorded, self.facts("\"x\"", Self.old), size: 999))
        #expect(isCurrent(recorded, self.facts("\"x\"", Self.old, length: nil)))
        #expect(!isCurrent(recorded, self.facts("\"y\"", Self.old, length: nil)))
        #expect(!isCurrent(recorded, self.facts("\"x\"", Self.newer, length: nil)))
        let weak = self.facts("W/\"x\"", Self.old)
        #expect(isCurrent(weak, weak))
        #expect(!isCurrent(weak, self.facts("W/\"x\"", Self.old, length: nil)))
        #expect(!isCurrent(nil, self.facts("\"x\"", Self.old, length: nil)))
        #expect(isCurrent(nil, self.facts("\"y\"", Self.old)))
        #expect(!isCurrent(nil, self.facts("\"y\"", Self.newer)))
        #expect(!isCurrent(nil, self.facts("\"y\"")))
    }

    @Test("the weakest of what held the responses together counts")
    func consistency() {
        for one in Consistency.allCases {
            #expect(one.combined(with: one) == one)
            #expect(
                one.combined(with: .digest) == .digest,
                "what only a digest vouches for stays so until it is compared"
            )
            #expect(Consistency.singleResponse.combined(with: one) == one)
            for other in Consistency.allCases { #expect(one.combined(with: other) == other.combined(with: one)) }
        }
        #expect(Consistency.entityTag.combined(with: .lastModified) == .lastModified)
        #expect(Consistency.entityTag.combined(with: .overlap) == .overlap)
    }
}
