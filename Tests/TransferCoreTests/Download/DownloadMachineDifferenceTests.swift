// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: a difference is final")
struct DownloadMachineDifferenceTests {
    private typealias Harness = MachineHarness
    private static let length = Harness.length

    /// A machine whose first range had no validators and showed other bytes than the held ones.
    private func contradicted(
        _ facts: ResourceFacts = Harness.facts(),
        _ configure: (inout DownloadTerms) -> Void = { _ in }
    ) -> Harness {
        var history = DownloadHistory()
        history.ranges.wantsOverlap = true
        let h = Harness(history: history, configure)
        h.resume(facts, [0..<100_000])
        h.part(1, 34_464..<Self.length, tag: nil)
        #expect(
            h.body(1, 100, agree: false) == "compare 100@34464, difference, checkpoint, close 1, 2:GET a/f"
        )
        #expect(h.facts?.isContradicted == true)
        return h
    }

    @Test("the 200 that follows repeats the old validator: it replaces the held bytes")
    func repeatedValidator() {
        for facts in [Harness.facts(), Harness.facts(nil, modified: Harness.modified)] {
            let h = self.contradicted(facts)
            #expect(h.whole(2, tag: facts.entityTag, modified: facts.lastModified) == "partial f discarding")
            h.partialCreated()
            // Its validators are known to name other bytes: they do not join responses.
            #expect(h.created?.facts.isUnreliable == true && h.created?.facts.isContradicted == false)
            #expect(h.body(2, 500_000) == "write 500000")
            #expect(h.lost(2) == "close 2, release a, end retry connection-reset; keep")
        }
    }

    @Test("the next process requests the whole, and a part of the same validator is not used")
    func nextProcess() {
        var facts = Harness.facts()
        facts.isContradicted = true
        let h = Harness()
        #expect(h.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f")
        #expect(h.part(1, 0..<Self.length) == "partial f discarding")
        let digest = Harness { $0.expected = [Harness.digest(1)] }
        #expect(digest.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f")
        #expect(digest.whole(1) == "partial f discarding")
    }

    @Test("bytes that are complete do not get their name, not even when the request fails")
    func complete() {
        var facts = Harness.facts()
        facts.isContradicted = true
        let h = Harness()
        #expect(h.resume(facts, [0..<Self.length]) == "discard f.martlet-new, 1:GET a/f")
        #expect(h.lost(1) == "close 1, release a, end retry connection-reset; keep")
    }

    @Test("a login page takes nothing away, and a response without validators goes to a second partial file")
    func portal() {
        var facts = Harness.facts()
        facts.mediaType = "application/zip"
        let h = self.contradicted(facts)
        let words = h.whole(2, 9_999, tag: nil, with: [("Content-Type", "text/html")])
        #expect(words == "close 2, release a, end retry bad-response; keep")
        let beside = self.contradicted()
        #expect(beside.whole(2, tag: nil) == "partial f.martlet-new keeping")
        // Its name is taken: the older file is this transfer's own, so it is not awaited.
        #expect(beside.feed { $0.storageFailed(StorageError(.exists, "taken")) } == "next f")
        #expect(beside.machine.older?.isApart == true)
        // Another process writes there, and may let its file take the older one's place: neither is touched.
        let other = self.contradicted()
        other.whole(2, tag: nil)
        #expect(other.feed { $0.storageFailed(StorageError(.inUse, "taken")) } == "next f")
        #expect(other.machine.older == nil)
    }

    @Test("bytes whose difference cannot be recorded are given up, also if the run has ended with it")
    func unrecorded() {
        let error = StorageError(.noSpace, "cannot write the journal")
        let h = self.contradicted()
        #expect(h.feed { $0.differenceNotRecorded(error) } == "release a, end retry no-space; setAside")
        let other = self.contradicted { $0.keepBad = false }
        #expect(other.feed { $0.differenceNotRecorded(error) } == "release a, end retry no-space; discard")
        var history = DownloadHistory()
        history.ranges.wantsOverlap = true
        history.restarts = 4
        let ended = Harness(history: history)
        ended.resume(Harness.facts(), [0..<100_000])
        ended.part(1, 34_464..<Self.length, tag: nil)
        ended.body(1, 100, agree: false)
        #expect(ended.feed { $0.differenceNotRecorded(error) } == "")
        guard case .setAside = ended.machine.endingOfWrongBytes else {
            Issue.record("the file would be kept")
            return
        }
    }

    @Test("the difference is recorded although the run ends with it")
    func restartLimit() {
        var history = DownloadHistory()
        history.ranges.wantsOverlap = true
        history.restarts = 4
        let h = Harness(history: history)
        h.resume(Harness.facts(), [0..<100_000])
        h.part(1, 34_464..<Self.length, tag: nil)
        let words = h.body(1, 100, agree: false)
        #expect(words == "compare 100@34464, difference, checkpoint, release a, end failed bad-response; keep")
        #expect(h.facts?.isContradicted == true)
    }

    // MARK: Bytes that are passed over

    @Test("a whole response of the same validator is compared while it passes: a difference restarts")
    func passedOver() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.whole(1)
        #expect(h.whole(2) == "facts etag, extent 2@100000")
        #expect(h.body(2, 50_000) == "skip 50000@0")
        #expect(h.body(2, 60_000, agree: false) == "skip 50000@50000, difference, checkpoint, close 2, 3:GET a/f")
        #expect(h.whole(3) == "partial f discarding")
        #expect(h.created?.facts.isUnreliable == true)
    }

    @Test("a whole response that ends where the held bytes end is compared before they get their name")
    func passedOverComplete() {
        for agree in [true, false] {
            var history = DownloadHistory()
            history.ranges.omitsIfRange = true
            let h = Harness(history: history)
            h.resume(Harness.facts(length: nil), [0..<100_000])
            #expect(h.whole(1, 100_000) == "facts etag")
            if agree {
                #expect(h.body(1, 100_000) == "skip 100000@0")
                #expect(h.done(1) == "close 1, release a, commit f 100000")
            } else {
                let words = h.body(1, 100_000, agree: false)
                #expect(words == "skip 100000@0, difference, checkpoint, close 1, 2:GET a/f")
            }
        }
    }

    @Test("a stream whose last bytes differ from a whole response of the same validator fails")
    func stream() {
        var history = DownloadHistory()
        history.stream.count = 400_000
        history.stream.facts = Boxed(Harness.facts())
        history.ranges.omitsIfRange = true
        let h = Harness(["http://a/f", "http://b/f"], history: history) { $0.destination = .stream }
        h.begin()
        h.whole(1)
        #expect(h.body(1, 334_464) == "skip 334464@0")
        // No mirror may continue it either.
        #expect(h.body(1, 100, agree: false) == "compare 100@334464, release a, end failed cannot-resume")
    }

    @Test("the whole as a range, from a server that sends ranges only, is not written after the held bytes")
    func wholeAsRange() {
        var history = DownloadHistory()
        history.ranges.isRequired = true
        for tag in ["\"x\"", "\"y\""] {
            let h = Harness(history: history)
            h.resume(Harness.facts(), [0..<100_000])
            #expect(h.head(1, 412) == "close 1, 2:GET a/f 0- if x")
            let words = h.part(2, 0..<Self.length, tag: tag)
            #expect(words == (tag == "\"x\"" ? "close 2, 3:GET a/f 100000- if x" : "partial f discarding"))
        }
        let h = Harness(history: history)
        var facts = Harness.facts()
        facts.isContradicted = true
        #expect(h.resume(facts, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 0- if x")
        #expect(h.part(1, 0..<300_000) == "partial f discarding")
    }

    // MARK: Other URLs

    @Test("a mirror that differs is never joined, and validators alone join no response any more")
    func mirror() {
        let sources = ["http://a/f", "http://b/f"]
        var history = DownloadHistory()
        history.sources.bad = [0]
        history.ranges.wantsOverlap = true
        let h = Harness(sources, history: history)
        let facts = Harness.facts(modified: Harness.modified)
        h.resume(facts, [0..<100_000])
        h.slotFreed("b", 1)
        h.part(2, 34_464..<Self.length, tag: nil)
        let words = h.body(2, 100, agree: false)
        #expect(words == "compare 100@34464, difference, checkpoint, close 2, 3:GET b/f")
        #expect(h.facts?.isContradicted == false)
        #expect(h.facts?.differing == ["http://b/f"])
        guard let recorded = h.facts else { return }
        // The next process asks the file's own URL, and compares what it sends.
        let next = Harness(sources)
        #expect(next.resume(recorded, [0..<100_000]) == "discard f.martlet-new, 1:GET a/f 34464- if x overlap 65536")
        #expect(next.part(1, 34_464..<Self.length, modified: Harness.modified) == "")
        #expect(next.body(1, 65_536) == "compare 65536@34464, facts etag, extent 1@100000")
        // The mirror's validators do not matter.
        var onlyMirror = DownloadHistory()
        onlyMirror.sources.bad = [0]
        let refused = Harness(sources, history: onlyMirror)
        refused.resume(recorded, [0..<100_000])
        refused.slotFreed("b", 1)
        #expect(refused.part(2, 34_464..<Self.length, modified: Harness.modified) == "close 2, 3:GET b/f")
    }

    @Test("a difference of another URL's partial file is recorded, and its own URL continues it")
    func foreign() {
        let h = Harness()
        let facts = Harness.facts(url: "http://a/f?key=2")
        h.resume(facts, [0..<100_000])
        h.part(1, 34_464..<Self.length)
        #expect(h.body(1, 10, agree: false) == "compare 10@34464, difference, checkpoint, close 1, keep, next f")
        #expect(h.facts?.differing == ["http://a/f"])
        guard let recorded = h.facts else { return }
        let own = Harness(["http://a/f?key=2"])
        own.resume(recorded, [0..<100_000])
        #expect(own.part(1, 34_464..<Self.length) == "")
        #expect(own.body(1, 65_536) == "compare 65536@34464, facts etag, extent 1@100000")
    }

    // MARK: Reach of a comparison

    @Test("after a comparison the next response is compared too, whatever its validators")
    func nextResponse() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.part(1, 100_000..<Self.length, tag: nil)
        h.part(2, 34_464..<200_000, tag: nil)
        h.body(2, 165_536)
        #expect(h.done(2) == "close 2, 3:GET a/f 134464- if x overlap 65536")
        var facts = Harness.facts()
        facts.consistency = .overlap
        let next = Harness()
        #expect(next.resume(facts, [0..<200_000]) == "discard f.martlet-new, 1:GET a/f 134464- if x overlap 65536")
        #expect(next.part(1, 134_464..<Self.length) == "")
        #expect(
            next.body(1, 100, agree: false) == "compare 100@134464, difference, checkpoint, close 1, 2:GET a/f"
        )
    }

    @Test("a second partial file whose digest is wrong does not replace the older one")
    func wrongNewer() {
        let h = Harness { $0.keepBad = false }
        h.resume(Harness.facts(), [0..<100_000])
        h.whole(1, 900_000, tag: nil, with: [("Repr-Digest", Harness.digestField(1))])
        h.partialCreated()
        h.body(1, 900_000)
        h.done(1)
        #expect(h.commitFailed(.digestMismatch) == "end failed checksum-mismatch; keep; older")
    }
}
