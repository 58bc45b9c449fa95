// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: versions, ranges, replacements")
struct DownloadMachineVersionTests {
    private typealias Harness = MachineHarness
    private static let length = Harness.length

    // MARK: Requests for the rest

    @Test("a strong entity tag goes into If-Range, without overlap")
    func strongTag() {
        let h = Harness()
        #expect(h.resume(Harness.facts(), [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 100000- if x")
        #expect(h.part(1, 100_000..<Self.length) == "facts etag, extent 1@100000")
        #expect(h.body(1, 900_000) == "write 900000")
        #expect(h.done(1) == "close 1, release a, commit f 1000000")
        #expect(h.committed() == "end finished etag")
    }

    @Test("without a strong validator the response begins with the last 64 KiB, which are compared")
    func overlap() {
        let h = Harness()
        let facts = Harness.facts("W/\"x\"")
        #expect(h.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 34464- overlap 65536")
        #expect(h.part(1, 34_464..<Self.length, tag: "W/\"x\"") == "")
        #expect(h.body(1, 65_535) == "compare 65535@34464")
        #expect(h.tick() == "")
        #expect(h.body(1, 1) == "compare 1@99999, facts overlap, extent 1@100000")
        #expect(h.body(1, 900_000) == "write 900000")
        h.done(1)
        #expect(h.committed() == "end finished overlap")
    }

    @Test("all held bytes are compared, if they are fewer")
    func shortOverlap() {
        let h = Harness()
        #expect(h.resume(Harness.facts(nil), [0..<100]) == "discard f.martlet-new, 1:GET a/f 0- overlap 100")
    }

    @Test("bytes that disagree restart: the held ones are kept until a whole response replaces them")
    func disagree() {
        let h = Harness()
        h.resume(Harness.facts(nil), [0..<100_000])
        h.part(1, 34_464..<Self.length, tag: nil)
        #expect(h.body(1, 100, agree: false) == "compare 100@34464, difference, checkpoint, close 1, 2:GET a/f")
        #expect(h.whole(2, tag: nil) == "partial f discarding")
        #expect(h.partialCreated() == "extent 2@0, endPause 2")
        #expect(h.machine.history.restarts == 1)
    }

    @Test("a range that lacks the validators of the held bytes is requested again with an overlap")
    func needsOverlap() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.part(1, 100_000..<Self.length, tag: nil) == "close 1, 2:GET a/f 34464- if x overlap 65536")
        #expect(h.part(2, 34_464..<Self.length, tag: nil) == "")
        #expect(h.body(2, 65_536) == "compare 65536@34464, facts overlap, extent 2@100000")
    }

    @Test("a server that sends too few bytes to compare is refused")
    func tooShort() {
        let h = Harness()
        h.resume(Harness.facts(nil), [0..<100_000])
        // The overlap was requested already.
        #expect(h.part(1, 34_464..<35_000, tag: nil) == "close 1, 2:GET a/f")
    }

    @Test("a server whose parts end where the comparison ends is asked for the whole")
    func nothingAfterOverlap() {
        let h = Harness()
        h.resume(Harness.facts(nil), [0..<100_000])
        #expect(h.part(1, 34_464..<100_000, tag: nil) == "close 1, 2:GET a/f")
        // At the end of the file there is nothing more.
        let end = Harness()
        end.resume(Harness.facts(nil), [0..<999_999])
        #expect(end.part(1, 934_463..<Self.length, tag: nil) == "")
    }

    @Test("parts that end where the comparison ends, of a file whose length is hidden, do not repeat for ever")
    func nothingAfterOverlapOfHiddenLength() {
        let h = Harness()
        h.resume(Harness.facts(nil, length: nil), [0..<100_000])
        h.part(1, 34_464..<100_000, of: nil, tag: nil)
        h.body(1, 65_536)
        // Nothing more came: the file may end here, which is asked.
        #expect(h.done(1) == "close 1, 2:GET a/f 100000-")
        // It does not, and the comparison had its chance.
        #expect(h.part(2, 100_000..<165_536, of: nil, tag: nil) == "close 2, 3:GET a/f")
    }

    @Test("the note of a restart names the versions of an address that alternates")
    func alternationIsNamed() {
        let h = Harness()
        var facts = Harness.facts("\"b\"")
        facts.formerVersions = ["\"a\""]
        facts.isUnreliable = true
        h.resume(facts, [0..<100_000])
        h.whole(1, tag: "\"a\"")
        #expect(h.notes.last?.contains("the address serves several versions: \"a\", \"b\": restarting") == true)
    }

    @Test("a part whose total is unknown does not take back the known length")
    func unknownTotal() {
        let h = Harness()
        h.resume(Harness.facts(), [])
        #expect(h.part(1, 0..<Self.length, of: nil) == "facts -, extent 1@0")
        // Without it the next run could not continue the parts of other connections.
        #expect(h.facts?.length == Self.length)
    }

    @Test("a whole response that begins before the held bytes does not give them its validators")
    func wholeBeforeHeldBytes() {
        let h = Harness { $0.expected = [Harness.digest(1)] }
        #expect(h.resume(Harness.facts(), [500_000..<600_000]) == "discard f.martlet-new, 1:GET a/f 0-499999 if x")
        #expect(h.head(1, 416) == "close 1, 2:GET a/f")
        #expect(h.whole(2, tag: nil) == "facts digest, extent 2@0")
        #expect(h.facts?.entityTag == "\"x\"")
        #expect(h.facts?.consistency == .digest)
    }

    @Test("a second partial file is kept only if it has more bytes than all of the first, also after a gap")
    func olderAfterGap() {
        let h = Harness { $0.expected = [Harness.digest(1)] }
        h.resume(Harness.facts(), [0..<100_000, 400_000..<900_000])
        h.head(1, 416)
        // Passed over up to the gap, and found different.
        h.whole(2, tag: nil)
        h.body(2, 100_000, agree: false)
        h.whole(3, tag: nil)
        h.partialCreated()
        h.body(3, 300_000)
        h.lost(3)
        #expect(h.ending.map { $0.older != nil && !$0.newerIsLonger } == true)
    }

    @Test("a known digest replaces the comparison")
    func knownDigest() {
        let h = Harness { $0.expected = [Harness.digest(1)] }
        #expect(h.resume(Harness.facts(nil), [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 100000-")
        #expect(h.part(1, 100_000..<Self.length, tag: nil) == "facts digest, extent 1@100000")
    }

    @Test("a changed entity tag restarts; a whole response of it replaces the held bytes")
    func changed() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.part(1, 100_000..<Self.length, tag: "\"y\"") == "close 1, 2:GET a/f")
        #expect(h.whole(2, tag: "\"y\"") == "partial f discarding")
        #expect(h.created?.facts.formerVersions == ["\"x\""])
        #expect(h.created?.facts.isUnreliable == false)
        #expect(h.machine.history.restarts == 1)
    }

    @Test("equal strong entity tags with different Last-Modified are compared")
    func suspectTag() {
        let h = Harness()
        h.resume(Harness.facts(modified: Harness.modified), [0..<100_000])
        let words = h.part(1, 100_000..<Self.length, modified: Harness.newer)
        #expect(words == "close 1, 2:GET a/f 34464- if x overlap 65536")
    }

    @Test("nodes with different tags: equal length and Last-Modified allow a comparison")
    func nodeTags() {
        let h = Harness()
        h.resume(Harness.facts(modified: Harness.modified), [0..<100_000])
        #expect(
            h.whole(1, tag: "\"y\"", modified: Harness.modified)
                == "close 1, 2:GET a/f 34464- overlap 65536"
        )
        #expect(h.part(2, 34_464..<Self.length, tag: "\"y\"", modified: Harness.modified) == "")
        #expect(h.body(2, 65_536) == "compare 65536@34464, facts overlap, extent 2@100000")
    }

    @Test("the comparison vouches for one response: the next range needs its own")
    func onceOnly() {
        let h = Harness()
        h.resume(Harness.facts(nil), [0..<100_000])
        h.part(1, 34_464..<200_000, tag: nil)
        h.body(1, 165_536)
        #expect(h.done(1) == "close 1, 2:GET a/f 134464- overlap 65536")
    }

    @Test("a range that is shorter than requested is taken, and the rest requested")
    func shorter() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.part(1, 100_000..<200_000)
        #expect(h.body(1, 100_000) == "write 100000")
        #expect(h.done(1) == "close 1, 2:GET a/f 200000- if x")
    }

    @Test("bytes beyond the requested range are discarded, and the connection with them")
    func beyond() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100, 200..<1_000_000])
        #expect(h.part(1, 100..<300) == "facts etag, extent 1@100")
        #expect(h.body(1, 150) == "write 100, close 1, release a, commit f 1000000")
    }

    @Test("the total changed: it is another version")
    func totalChanged() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.part(1, 100_000..<900_000, of: 900_000) == "close 1, 2:GET a/f")
    }

    @Test("412 restarts")
    func preconditionFailed() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.head(1, 412) == "close 1, 2:GET a/f")
    }

    @Test("nothing is held yet: a range of the same version is a single response")
    func nothingHeld() {
        let h = Harness()
        #expect(h.resume(Harness.facts(), []) == "discard f.martlet-new, 1:GET a/f 0- if x")
        #expect(h.part(1, 0..<Self.length) == "facts -, extent 1@0")
        h.body(1, 1_000_000)
        h.done(1)
        #expect(h.committed() == "end finished single-response")
    }

    @Test("a partial file without a length continues its first extent only")
    func unknownLength() {
        let h = Harness()
        #expect(
            h.resume(Harness.facts(length: nil), [0..<10, 20..<30])
                == "discard f.martlet-new, 1:GET a/f 9- if x overlap 1"
        )
        let late = Harness()
        #expect(late.resume(Harness.facts(length: nil), [20..<30]) == "discard f.martlet-new, 1:GET a/f")
    }

    // MARK: Whole responses in place of a range

    @Test("200 with the same validator to If-Range: once more without it; then its bytes are passed over")
    func ifRangeIgnored() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.whole(1) == "close 1, 2:GET a/f 100000-")
        #expect(h.whole(2) == "facts etag, extent 2@100000")
        #expect(h.body(2, 99_999) == "skip 99999@0")
        #expect(h.body(2, 2) == "skip 1@99999, write 1")
        #expect(h.body(2, 899_999) == "write 899999")
        #expect(h.done(2) == "close 2, release a, commit f 1000000")
        #expect(h.machine.history.ranges.isRefused)
    }

    @Test("a passed-over response whose repetition ends early is a failure")
    func passedOverShort() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.whole(1)
        h.whole(2)
        h.body(2, 10)
        #expect(h.done(2) == "close 2, release a, end retry bad-response; keep")
    }

    @Test("a login page in place of the rest is an error that keeps the bytes")
    func portal() {
        for fields in [[("Content-Type", "text/html")], []] {
            let h = Harness()
            var facts = Harness.facts()
            facts.mediaType = "application/zip"
            h.resume(facts, [0..<100_000])
            let words = h.whole(1, 9_999, tag: nil, with: fields)
            #expect(words == "close 1, release a, end retry bad-response; keep")
        }
    }

    @Test("200 without a validator goes to a second partial file; the longer one stays")
    func beside() {
        for (count, words) in [(100_000, "older"), (100_001, "newer")] {
            let h = Harness()
            h.resume(Harness.facts(), [0..<100_000])
            #expect(h.whole(1, 900_000, tag: nil) == "partial f.martlet-new keeping")
            #expect(h.partialCreated() == "extent 1@0, endPause 1")
            h.body(1, count)
            #expect(h.lost(1) == "close 1, release a, end retry connection-reset; keep; \(words)")
        }
    }

    @Test("a complete second partial file gets the name, and the first is deleted")
    func besideComplete() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.whole(1, 900_000, tag: nil)
        h.partialCreated()
        h.body(1, 900_000)
        #expect(h.done(1) == "close 1, release a, commit f 900000")
        #expect(h.committed() == "discard f, end finished single-response")
        #expect(h.ending?.older == nil)
    }

    @Test("A, B, A: the file is taken from a single response")
    func alternation() {
        let h = Harness()
        var facts = Harness.facts("\"y\"")
        facts.formerVersions = ["\"x\""]
        h.resume(facts, [0..<100_000])
        #expect(h.whole(1, tag: "\"x\"") == "partial f discarding")
        #expect(h.created?.facts.isUnreliable == true)
        h.partialCreated()
        h.body(1, 500_000)
        #expect(h.lost(1) == "close 1, release a, end retry connection-reset; keep")
        let next = Harness(history: h.machine.history)
        guard let created = h.created else { return }
        #expect(next.resume(created.facts.value, [0..<500_000]) == "discard f.martlet-new, 1:GET a/f")
        #expect(next.whole(1, tag: "\"x\"") == "partial f discarding")
    }

    @Test("after four restarts the failure names both validators")
    func restartLimit() {
        var history = DownloadHistory()
        history.restarts = 4
        let h = Harness(history: history)
        var facts = Harness.facts()
        facts.formerVersions = ["\"w\""]
        h.resume(facts, [0..<100_000])
        #expect(h.part(1, 100_000..<Self.length, tag: "\"y\"") == "release a, end failed bad-response; keep")
        guard case .failed(let failure) = h.ending?.outcome else { return }
        #expect(failure.message.contains("\"w\", \"x\""))
    }

    @Test("a body of unknown length of another version replaces the held bytes")
    func unknownWhole() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.whole(1, nil, tag: "\"y\"") == "partial f discarding")
        h.partialCreated()
        h.body(1, 5)
        #expect(h.done(1) == "close 1, release a, commit f 5")
    }

    @Test("a complete partial file is committed without a request; without evidence it is requested whole")
    func complete() {
        let h = Harness()
        #expect(h.resume(Harness.facts(), [0..<Self.length]) == "discard f.martlet-new, commit f 1000000")
        #expect(h.committed() == "release a, end finished single-response")
        let lost = Harness()
        var facts = Harness.facts()
        facts.consistency = .digest
        #expect(lost.resume(facts, [0..<Self.length]) == "discard f.martlet-new, 1:GET a/f")
    }

    @Test("bytes that only a digest vouched for, whose value is lost, are requested whole")
    func lostDigest() {
        var facts = Harness.facts()
        facts.consistency = .digest
        let h = Harness()
        #expect(h.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f")
        let known = Harness { $0.expected = [Harness.digest(1)] }
        #expect(known.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 100000- if x")
        facts.representationDigest = Harness.digestField(1)
        let recorded = Harness()
        #expect(recorded.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 100000- if x")
    }

    @Test("bytes whose digest is lost are replaced by a whole response, even of the same validator")
    func lostDigestReplaced() {
        var facts = Harness.facts()
        facts.consistency = .digest
        for extents in [[0..<100_000], [0..<Self.length]] as [[ByteRange]] {
            let h = Harness()
            h.resume(facts, extents)
            #expect(h.whole(1) == "partial f discarding")
            h.partialCreated()
            h.body(1, 1_000_000)
            h.done(1)
            #expect(h.committed() == "end finished single-response")
        }
    }

    // MARK: Unusable ranges

    @Test("multipart and a range from elsewhere: requested whole at once")
    func unusable() {
        let fields: [HeaderFields] = [
            ["Content-Type": "multipart/byteranges; boundary=x"], ["Content-Range": "bytes 5-999999/1000000"],
        ]
        for field in fields {
            let h = Harness()
            h.resume(Harness.facts(), [0..<100_000])
            #expect(h.head(1, 206, field) == "close 1, 2:GET a/f")
            #expect(h.machine.history.ranges.isRefused)
        }
    }

    @Test("a malformed 206 is a failure; the second in a row is requested whole")
    func malformed() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.head(1, 206) == "close 1, release a, end retry bad-response; keep")
        let next = Harness(history: h.machine.history)
        next.resume(Harness.facts(), [0..<100_000])
        #expect(next.head(1, 206) == "close 1, 2:GET a/f")
    }

    @Test("416: nothing but a request of the whole follows; to the whole, a range is requested")
    func notSatisfiable() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.head(1, 416, framing: BodyFraming.none) == "close 1, 2:GET a/f")
        let whole = Harness()
        whole.start()
        #expect(whole.head(1, 416, framing: BodyFraming.none) == "close 1, 2:GET a/f 0-")
        #expect(whole.head(2, 416, framing: BodyFraming.none) == "close 2, 3:GET a/f 0-")
    }

    @Test("416 proves nothing about the end of a file of unknown length")
    func notTheEnd() {
        let h = Harness()
        h.resume(Harness.facts(length: nil), [0..<10])
        #expect(h.head(1, 416, framing: BodyFraming.none) == "close 1, 2:GET a/f")
    }

    @Test("a server that sends ranges only: its first part is taken, and the next ones requested")
    func rangesRequired() {
        let h = Harness()
        h.start()
        #expect(h.part(1, 0..<300_000) == "partial f")
        h.partialCreated()
        h.body(1, 300_000)
        #expect(h.done(1) == "close 1, 2:GET a/f 300000- if x")
        #expect(h.machine.history.ranges.isRequired)
    }

    @Test("parts of unknown total: an empty one asks whether the file ends there, and 416 confirms it")
    func endProbe() {
        let h = Harness()
        h.start()
        h.part(1, 0..<300_000, of: nil)
        h.partialCreated()
        h.body(1, 300_000)
        #expect(h.done(1) == "close 1, 2:GET a/f 299999- if x overlap 1")
        h.part(2, 299_999..<300_000, of: nil)
        #expect(h.body(2, 1) == "compare 1@299999, facts etag, extent 2@300000")
        #expect(h.done(2) == "close 2, 3:GET a/f 300000- if x")
        #expect(h.head(3, 416, framing: BodyFraming.none) == "close 3, release a, commit f 300000")
    }

    // MARK: Partial files of another URL

    @Test("a partial file of another URL: the response must show the same version, and then is the reference")
    func foreign() {
        let h = Harness(isNamed: true)
        let facts = Harness.facts(modified: Harness.modified, url: "http://b/f")
        #expect(h.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 34464- overlap 65536")
        #expect(h.part(1, 34_464..<Self.length, modified: Harness.modified) == "")
        #expect(h.body(1, 65_536) == "compare 65536@34464, facts etag, extent 1@100000")
        #expect(h.facts?.url == "http://a/f")
    }

    @Test("a partial file of another URL that does not match is kept; the name fails if the user gave it")
    func declined() {
        let h = Harness()
        let facts = Harness.facts(url: "http://a/f?key=2")
        h.resume(facts, [0..<100_000])
        h.part(1, 34_464..<Self.length, tag: "\"y\"")
        #expect(h.body(1, 10, agree: false) == "compare 10@34464, difference, checkpoint, close 1, keep, next f")
        #expect(h.reserved("f-1") == "survey f-1")
        #expect(h.survey(nil) == "2:GET a/f")
        let named = Harness(isNamed: true)
        named.resume(facts, [0..<100_000])
        #expect(named.whole(1, 5, tag: "\"y\"") == "release a, end failed cannot-resume; keep")
        let exact = Harness { $0.nameIsExact = true }
        exact.resume(facts, [0..<100_000])
        #expect(exact.whole(1, 5, tag: "\"y\"") == "partial f discarding")
    }

    // MARK: `--if-exists resume`

    @Test("the existing file is copied and continued, once its end agrees")
    func existing() {
        let file = ExistingFile(isRegular: true, size: 300_000, modified: 0)
        let h = Harness { $0.ifExists = .resume }
        h.begin()
        #expect(h.survey(file) == "1:GET a/f 37856- overlap 262144")
        #expect(h.part(1, 37_856..<Self.length, tag: nil) == "")
        #expect(h.body(1, 300_000) == "compare 262144@37856, copy f")
        #expect(h.leftover[1] == 37_856)
        #expect("\(h.machine.reading(1))" == "pause")
        let now = h.now
        guard let facts = h.machine.requests[0].facts else { return }
        #expect(h.machine.wantsCopy == true)
        #expect(h.feed { $0.existingCopied(facts.value, now) } == "facts overlap, extent 1@300000, leftover 1")
        let isPart = h.machine.resumed(1, now)
        #expect(isPart)
        #expect(h.body(1, 700_000) == "write 700000")
        #expect(h.done(1) == "close 1, release a, commit f 1000000 over")
    }

    @Test("the existing file is the whole: nothing is copied")
    func existingComplete() {
        let file = ExistingFile(isRegular: true, size: 1000, modified: 0)
        let h = Harness { $0.ifExists = .resume }
        h.begin()
        h.survey(file)
        h.part(1, 0..<1000, of: 1000)
        #expect(h.body(1, 1000) == "compare 1000@0, release a, end finished skipped")
    }

    @Test("the existing file is not the beginning of the server's: it is left alone")
    func existingDiffers() {
        let file = ExistingFile(isRegular: true, size: 1000, modified: 0)
        for isCut in [false, true] {
            let h = Harness { $0.ifExists = .resume }
            h.begin()
            h.survey(file)
            if isCut {
                #expect(h.part(1, 0..<500) == "close 1, release a, end failed cannot-resume")
            } else {
                h.part(1, 0..<2000, of: 2000)
                let words = h.body(1, 5, agree: false)
                #expect(words == "compare 5@0, close 1, release a, end failed cannot-resume")
            }
        }
    }

    @Test("the existing file, and a server that sends the whole")
    func existingWhole() {
        let file = ExistingFile(isRegular: true, size: 1000, modified: 0)
        let h = Harness { $0.ifExists = .resume }
        h.begin()
        h.survey(file)
        #expect(h.whole(1) == "close 1, release a, end failed cannot-resume")
        let current = Harness { $0.ifExists = .resume }
        current.begin()
        current.survey(
            ExistingFile(
                isRegular: true,
                size: 1000,
                modified: 0,
                recorded: RecordedVersion(entityTag: "\"x\"")
            )
        )
        #expect(current.whole(1, 1000) == "release a, end finished skipped")
    }

    @Test("a copy that another version replaced does not overwrite the existing file")
    func existingReplaced() {
        let h = Harness { $0.ifExists = .resume }
        h.begin()
        let file = ExistingFile(isRegular: true, size: 1000, modified: 0)
        h.survey(file, .ours(Harness.facts(), written: 100_000))
        let now = h.now
        h.feed { $0.partialOpened(Harness.facts(), extents: [0..<100_000], now) }
        #expect(h.whole(1, 300_000, tag: "\"y\"") == "partial f discarding")
        h.partialCreated()
        h.body(1, 300_000)
        #expect(h.done(1) == "close 1, release a, commit f 300000")
    }

    // MARK: Streams

    @Test("a stream continues by its validator; its bytes come once and in order")
    func stream() {
        let h = Harness { $0.destination = .stream }
        #expect(h.begin() == "1:GET a/f")
        h.whole(1)
        #expect(h.body(1, 400_000) == "write 400000")
        #expect(h.lost(1) == "close 1, release a, end retry connection-reset")
        let next = Harness(history: h.machine.history) { $0.destination = .stream }
        #expect(next.begin() == "1:GET a/f 400000- if x")
        next.part(1, 400_000..<Self.length)
        next.body(1, 600_000)
        #expect(next.done(1) == "close 1, release a, finishStream")
        #expect(next.feed { $0.streamDigested([:], 0) } == "end finished etag")
    }

    @Test("a stream whose file changed fails")
    func streamChanged() {
        var history = DownloadHistory()
        history.stream.count = 400_000
        history.stream.facts = Boxed(Harness.facts())
        let h = Harness(history: history) { $0.destination = .stream }
        h.begin()
        #expect(h.part(1, 400_000..<Self.length, tag: "\"y\"") == "close 1, release a, end failed cannot-resume")
        let whole = Harness(history: history) { $0.destination = .stream }
        whole.begin()
        #expect(whole.whole(1, tag: "\"y\"") == "close 1, release a, end failed cannot-resume")
    }

    @Test("a stream from a server without ranges: the delivered bytes are passed over, and the last of them compared")
    func streamWhole() {
        var history = DownloadHistory()
        history.stream.count = 400_000
        history.stream.facts = Boxed(Harness.facts())
        history.ranges.omitsIfRange = true
        let h = Harness(history: history) { $0.destination = .stream }
        #expect(h.begin() == "1:GET a/f 400000-")
        #expect(h.whole(1) == "tail 1 65536")
        #expect(h.body(1, 500_000) == "skip 334464@0, compare 65536@334464, write 100000")
        history.stream.facts = Boxed(Harness.facts(nil))
        let compared = Harness(history: history) { $0.destination = .stream }
        compared.begin()
        #expect(compared.whole(1, tag: nil) == "tail 1 65536")
        #expect(
            compared.body(1, 500_000)
                == "skip 334464@0, compare 65536@334464, write 100000"
        )
    }

    @Test("a complete stream is verified without a request; an empty body is a complete stream")
    func streamComplete() {
        var history = DownloadHistory()
        history.stream.count = Self.length
        history.stream.facts = Boxed(Harness.facts())
        let h = Harness(history: history) { $0.destination = .stream }
        #expect(h.begin() == "finishStream")
        let empty = Harness { $0.destination = .stream }
        empty.begin()
        #expect(empty.whole(1, 0) == "close 1, release a, finishStream")
    }

    @Test("bytes that a stream took count even if their request has ended")
    func streamLateWrite() {
        let h = Harness { $0.destination = .stream }
        h.begin()
        h.whole(1)
        let now = h.now
        let bytes = [UInt8](repeating: 0, count: 100)
        _ = bytes.withUnsafeBytes { h.machine.bytesReceived($0, 1, now) }
        h.lost(1)
        #expect(h.feed { $0.wrote(100, of: 100, 1, now) } == "")
        #expect(h.machine.history.stream.count == 100)
    }
}

@Suite("DownloadMachine: what the exhaustive search found")
struct DownloadMachineSearchTests {
    private typealias Harness = MachineHarness

    @Test("after a digest mismatch the whole, requested as a range, does not continue a first part")
    func wholeAsRangeAfterPart() {
        var history = DownloadHistory()
        history.takesSingleResponse = true
        history.ranges.isRequired = true
        let h = Harness(history: history)
        #expect(h.start() == "1:GET a/f 0-")
        h.part(1, 0..<500_000)
        h.partialCreated()
        #expect(h.body(1, 500_000) == "write 500000")
        #expect(h.done(1) == "close 1, 2:GET a/f 0- if x")
        // It begins at byte 0, and the held bytes end at 500,000.
        #expect(h.part(2, 0..<Harness.length) == "partial f discarding")
        #expect(h.created?.request == 2)
    }

    @Test("a range that ends after the known length is of another file")
    func rangeBeyondLength() {
        let h = Harness()
        h.resume(Harness.facts(nil, length: 300_000), [])
        #expect(h.part(1, 0..<Harness.length, of: nil, tag: nil).contains("2:GET a/f"))
    }

    @Test("a server that has no range at all is not asked without end", arguments: [416, 412])
    func noRangeAtAll(status: Int) {
        let h = Harness()
        h.start()
        #expect(h.head(1, 416, framing: BodyFraming.none).contains("2:GET a/f 0-"))
        var count = 2
        while h.ending == nil, count < 100 {
            h.head(count, status, framing: BodyFraming.none)
            count += 1
        }
        #expect(count == 7)
    }

    @Test("a whole response that ends within the held bytes is a failed attempt")
    func repetitionIsNoProgress() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<600_000])
        h.head(1, 200, ["ETag": "\"x\""], framing: .untilClose)
        h.head(2, 200, ["ETag": "\"x\""], framing: .untilClose)
        h.body(2, 500_000)
        h.body(2, 100_000)
        #expect(h.done(2) == "close 2, release a, end retry bad-response; keep")
    }

    @Test("parts that are sent instead of the requested ones are not requested without end")
    func partsOnly() {
        var history = DownloadHistory()
        history.ranges.isRefused = true
        let h = Harness(history: history)
        h.start()
        h.part(1, 0..<500_000, of: nil)
        h.partialCreated()
        h.body(1, 500_000)
        h.done(1)
        var count = 2
        while h.ending == nil, count < 100 {
            h.part(count, 0..<500_000, of: nil)
            count += 1
        }
        #expect(count == 7)
    }

    @Test("a digest by which responses are joined is compared")
    func digestOfParts() {
        let digest = ("Repr-Digest", Harness.digestField(1))
        let whole = Harness()
        whole.start()
        whole.part(1, 0..<Harness.length, with: [digest])
        whole.partialCreated()
        whole.body(1, Int(Harness.length))
        whole.done(1)
        #expect(whole.commit?.expected.count == 1)
        var facts = Harness.facts(nil)
        facts.representationDigest = digest.1
        var history = DownloadHistory()
        history.ranges.wantsOverlap = true
        let h = Harness(history: history)
        h.resume(facts, [0..<600_000])
        h.part(1, 534_464..<Harness.length, tag: nil, with: [digest])
        h.body(1, 65_536)
        h.body(1, 400_000)
        h.done(1)
        #expect(h.commit?.expected.count == 1)
    }
}
