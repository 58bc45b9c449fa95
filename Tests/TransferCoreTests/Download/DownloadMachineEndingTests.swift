// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: digests, commits, interruptions")
struct DownloadMachineEndingTests {
    private typealias Harness = MachineHarness
    private static let length = Harness.length

    /// A run that commits a partial file.
    private static func committing(
        history: DownloadHistory = DownloadHistory(),
        _ configure: (inout DownloadTerms) -> Void = { _ in }
    ) -> Harness {
        let h = Harness(history: history, configure)
        h.start()
        h.whole(1)
        h.partialCreated()
        h.body(1, 1_000_000)
        h.done(1)
        return h
    }

    // MARK: Commits

    @Test("files above 1 MiB are synced, others only if durability is requested; small ones then in groups")
    func durability() {
        for (length, durable, expected) in [
            (Int64(1000), false, CommitOptions.Durability.none), (1000, true, .grouped), (1 << 20, false, .none),
            (1 << 20, true, .synced), (1 << 20 + 1, false, .synced),
        ] {
            let h = Harness { $0.durable = durable }
            h.start()
            h.whole(1, length)
            if length == 1000 { h.smallCreated() } else { h.partialCreated() }
            h.body(1, Int(length))
            h.done(1)
            #expect(h.commit?.durability == expected)
        }
    }

    @Test("validators and the modification time go with the file; so does the mark")
    func recorded() {
        let h = Harness { $0.mark = "7" }
        h.start()
        h.whole(1, modified: Harness.modified)
        h.partialCreated()
        h.body(1, 1_000_000)
        h.done(1)
        #expect(h.commit?.recorded?.entityTag == "\"x\"")
        #expect(h.commit?.modified == HTTPDate.parse(Harness.modified))
        #expect(h.commit?.mark == "7")
    }

    @Test("the name was taken meanwhile: the next one; with rule fail, or an exact name, a failure")
    func collision() {
        let h = Self.committing { $0.ifExists = .resume }
        #expect(h.commitFailed(.exists) == "next f")
        #expect(h.reserved("f-1") == "commit f-1 1000000")
        #expect(h.commitFailed(.exists) == "next f")
        #expect(h.reserved("f-2") == "commit f-2 1000000")
        #expect(h.committed() == "end finished single-response")
        let fails = Self.committing { $0.ifExists = .fail }
        #expect(fails.commitFailed(.exists) == "end failed file-exists; keep")
        let exact = Self.committing {
            $0.nameIsExact = true
            $0.ifExists = .overwrite
        }
        #expect(exact.commitFailed(.exists) == "commit f 1000000 over")
        #expect(exact.commitFailed(.exists) == "end failed file-exists; keep")
    }

    @Test("a small file whose name was taken gets another; one that cannot be committed is discarded")
    func smallCollision() {
        let h = Harness()
        h.start()
        h.whole(1, 10)
        h.smallCreated()
        h.body(1, 10)
        h.done(1)
        #expect(h.commitFailed(.exists) == "survey f")
        #expect(h.survey(ExistingFile(isRegular: true, size: 9, modified: 0)) == "next f")
        #expect(h.reserved("f-1") == "commitSmall f-1")
        #expect(h.commitFailed(.noSpace) == "end retry no-space; discard")
    }

    @Test("another process has stored the same representation meanwhile: the received bytes are deleted")
    func duplicate() {
        let same = ExistingFile(
            isRegular: true,
            size: 1_000_000,
            modified: 0,
            recorded: RecordedVersion(entityTag: "\"x\"")
        )
        let h = Self.committing()
        #expect(h.commitFailed(.exists) == "survey f")
        #expect(h.survey(same) == "end finished skipped single-response; discard")
        var other = same
        other.recorded = RecordedVersion(entityTag: "\"y\"")
        let differs = Self.committing()
        differs.commitFailed(.exists)
        #expect(differs.survey(other) == "next f")
        // Its digest is not known.
        let expected = Self.committing { $0.expected = [Harness.digest(1)] }
        expected.commitFailed(.exists)
        #expect(expected.survey(same) == "next f")
    }

    @Test("an interruption during the commit applies only if the commit fails")
    func interruptedCommit() {
        let h = Self.committing()
        #expect(h.feed { $0.interrupted(.paused) } == "")
        #expect(h.committed() == "end finished single-response")
        for (outcome, words) in [
            (RunOutcome.paused, "end paused; keep"), (.cancelled(keeping: false), "end cancelled; discard"),
            (.cancelled(keeping: true), "end cancelled keeping; keep"), (.stopped, "end stopped; keep"),
        ] {
            let other = Self.committing()
            other.feed { $0.interrupted(outcome) }
            #expect(other.commitFailed(.noSpace) == words)
        }
    }

    @Test("the storage fails during the commit")
    func storageFails() {
        let h = Self.committing()
        #expect(h.feed { $0.failed(TransferFailure(.fileIO, "no")) } == "end failed file-io; keep")
        #expect(h.committed() == "")
    }

    // MARK: Interruptions

    @Test(
        "an interruption in each phase ends the run once; what comes later is ignored",
        arguments: [RunOutcome.paused, .stopped, .cancelled(keeping: true), .cancelled(keeping: false)]
    )
    func interrupted(outcome: RunOutcome) {
        let isDiscarded = if case .cancelled(keeping: false) = outcome { true } else { false }
        let existing = ExistingFile(isRegular: true, size: 10, modified: 0)
        let phases: [(String, (Harness) -> Void)] = [
            ("", { $0.begin() }),
            ("", { h in h.start() }),
            (
                "",
                { h in
                    h.begin()
                    h.survey(existing)
                }
            ),
            (
                "",
                { h in
                    h.start()
                    h.whole(1, with: [("Content-Disposition", "attachment; filename=g")])
                }
            ),
            (
                "; discardEarlier",
                { h in
                    h.start()
                    h.whole(1)
                }
            ),
            (
                "; discard",
                { h in
                    h.start()
                    h.whole(1, 100)
                    h.smallCreated()
                }
            ),
            (
                "; discard",
                { h in
                    h.start()
                    h.whole(1)
                    h.partialCreated()
                    h.body(1, 100)
                }
            ),
        ]
        for (index, (file, prepare)) in phases.enumerated() {
            let h = Harness()
            prepare(h)
            let words = h.feed { $0.interrupted(outcome) }
            let kept = index == 6 ? "; keep" : index == 5 ? "; discard" : ""
            #expect(words.hasSuffix(isDiscarded ? "cancelled\(file)" : words.hasSuffix("; keep") ? "; keep" : kept))
            #expect(h.ending != nil)
            let now = h.now
            #expect(h.feed { $0.interrupted(.stopped) } == "")
            #expect(h.whole(1) == "")
            #expect(h.body(1, 5) == "nowhere")
            #expect(h.done(1) == "")
            #expect(h.lost(1) == "")
            #expect(h.partialCreated() == "")
            #expect(h.smallCreated() == "")
            #expect(h.tick(after: 1000) == "")
            #expect(h.feed { $0.digestsCompared(agree: true, now) } == "")
            #expect(h.feed { $0.nameReserved(FileTarget(directory: "", name: "g")) } == "")
            #expect(h.survey(nil) == "")
            #expect(h.committed() == "")
            #expect(h.commitFailed(.exists) == "")
            #expect(h.feed { $0.failed(TransferFailure(.fileIO, "no")) } == "")
        }
    }

    // MARK: Digests

    @Test("a declared digest stays when a part without it begins the file; that of another version does not")
    func declaredBefore() {
        for (tag, digests) in [("\"x\"", [UInt8(1)]), ("W/\"x\"", [])] {
            let h = Harness()
            var facts = Harness.facts(tag)
            facts.representationDigest = Harness.digestField(1)
            h.resume(facts, [])
            #expect(h.part(1, 0..<Harness.length, tag: tag).contains("extent 1@0"))
            h.body(1, Int(Harness.length))
            h.done(1)
            #expect(h.commit?.expected.compactMap(\.bytes.first) == digests, "\(tag)")
        }
    }

    @Test("expected digests and those that the server declares are compared at the commit")
    func expected() {
        let h = Harness { $0.expected = [Harness.digest(1)] }
        h.start()
        h.whole(1, with: [("Repr-Digest", Harness.digestField(2)), ("Content-Digest", Harness.digestField(3))])
        #expect(h.created?.algorithms == [.sha256, .sha256])
        h.partialCreated()
        h.body(1, 1_000_000)
        h.done(1)
        #expect(h.commit?.expected.map(\.bytes.first) == [1, 2])
        #expect(h.committed() == "end finished digest")
    }

    @Test("digests in the trailers count; those of a part's content do not")
    func trailers() {
        for (name, count) in [("Repr-Digest", 1), ("Content-Digest", 1)] {
            let h = Harness()
            h.start()
            h.whole(1)
            h.partialCreated()
            h.body(1, 1_000_000)
            h.done(1, trailers: [name: Harness.digestField(1)])
            #expect(h.commit?.expected.count == count)
        }
        let part = Harness()
        part.resume(Harness.facts(), [0..<100_000])
        part.part(1, 100_000..<Self.length)
        part.body(1, 900_000)
        part.done(1, trailers: ["Content-Digest": Harness.digestField(1)])
        #expect(part.commit?.expected.isEmpty == true)
        let small = Harness()
        small.start()
        small.whole(1, 5)
        small.smallCreated()
        small.body(1, 5)
        small.done(1, trailers: ["Repr-Digest": Harness.digestField(1)])
        #expect(small.commit?.expected.count == 1)
    }

    @Test("a part is compared with its Content-Digest; one that differs fails, and its bytes are not resumed")
    func partDigest() {
        for (value, keepBad, words) in [
            (UInt8(1), true, "close 1, release a, commit f 1000000"),
            (2, true, "release a, end failed checksum-mismatch; setAside"),
            (2, false, "release a, end failed checksum-mismatch; discard"),
        ] {
            let h = Harness { $0.keepBad = keepBad }
            h.resume(Harness.facts(), [0..<100_000])
            let declared = [("Content-Digest", Harness.digestField(1)), ("Repr-Digest", Harness.digestField(9))]
            #expect(
                h.part(1, 100_000..<Self.length, with: declared)
                    == "facts etag, extent 1@100000, partDigests 1"
            )
            h.body(1, 900_000)
            #expect(h.done(1) == "finishPart 1")
            let bytes = [UInt8](repeating: value, count: 32)
            let now = h.now
            #expect(h.feed { $0.partDigested([.sha256: bytes], count: 900_000, 1, now) } == words)
            if value == 1 { #expect(h.commit?.expected.map(\.bytes.first) == [9]) }
        }
    }

    @Test("a part that was not read to its end is not compared")
    func partialPartDigest() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.part(1, 100_000..<Self.length, with: [("Content-Digest", Harness.digestField(1))])
        h.body(1, 900_000)
        h.done(1)
        let now = h.now
        #expect(h.feed { $0.partDigested([:], count: 899_999, 1, now) } == "close 1, release a, commit f 1000000")
    }

    @Test("a wrong digest of one response fails; of several, the file is fetched once more in a single response")
    func mismatch() {
        let h = Self.committing { $0.expected = [Harness.digest(1)] }
        #expect(h.commit?.keepBad == true)
        #expect(h.commitFailed(.digestMismatch) == "end failed checksum-mismatch; keep")
        let joined = Harness { $0.expected = [Harness.digest(1)] }
        joined.resume(Harness.facts(), [0..<100_000])
        joined.part(1, 100_000..<Self.length)
        joined.body(1, 900_000)
        joined.done(1)
        #expect(joined.commit?.keepBad == false)
        #expect(joined.commitFailed(.digestMismatch) == "end retry checksum-mismatch; keep")
        let again = Harness(history: joined.machine.history) {
            $0.expected = [Harness.digest(1)]
            $0.connections = .fixed(4)
        }
        again.slotLimit = 4
        again.start()
        again.whole(1)
        #expect(again.partialCreated() == "extent 1@0, endPause 1")
        again.body(1, 1_000_000)
        again.done(1)
        #expect(again.commitFailed(.digestMismatch) == "end failed checksum-mismatch; keep")
    }

    @Test("a stream's digest: a mismatch is a failure; a missing one is a note")
    func streamDigest() {
        for (value, words) in [(UInt8(1), "end finished digest"), (2, "end failed checksum-mismatch")] {
            let h = Harness {
                $0.destination = .stream
                $0.expected = [Harness.digest(1)]
            }
            h.begin()
            #expect(h.whole(1) == "streamDigests")
            h.body(1, 1_000_000)
            h.done(1)
            let now = h.now
            let bytes = [UInt8](repeating: value, count: 32)
            #expect(h.feed { $0.streamDigested([.sha256: bytes], now) } == words)
        }
        let late = Harness { $0.destination = .stream }
        late.begin()
        late.whole(1)
        late.body(1, 1_000_000)
        late.done(1, trailers: ["Repr-Digest": Harness.digestField(1)])
        let now = late.now
        #expect(late.feed { $0.streamDigested([:], now) } == "end finished single-response")
        #expect(late.notes.contains { $0.contains("too late") })
    }

    @Test("an empty body is a failure only if bytes were due")
    func emptyBody() {
        let h = Harness()
        h.start()
        h.whole(1)
        h.partialCreated()
        #expect(h.done(1) == "close 1, release a, end retry bad-response; keep")
        let empty = Harness()
        empty.start()
        #expect(empty.head(1, 204, framing: BodyFraming.none).hasPrefix("small f"))
    }

    @Test("the sink fails")
    func sinkFails() {
        let h = Harness { $0.destination = .stream }
        h.begin()
        h.whole(1)
        #expect(h.feed { $0.failed(TransferFailure(.tooLarge, "no")) } == "release a, end failed too-large")
    }
}
