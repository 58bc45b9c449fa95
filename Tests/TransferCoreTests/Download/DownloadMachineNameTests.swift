// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

/// Names that the user asked for, and updates of existing files.
@Suite("DownloadMachine: asked names and updates")
struct DownloadMachineNameTests {
    private typealias Harness = MachineHarness

    private static let file = FileIdentity(size: 10, modified: 5, changed: 6, device: 1, inode: 2)

    private static func existing(
        recorded: RecordedVersion? = nil,
        modified: Int64 = HTTPDate.parse(Harness.modified) ?? 0
    ) -> ExistingFile {
        ExistingFile(isRegular: true, size: 10, modified: modified, recorded: recorded, file: Self.file)
    }

    private static let tagged = RecordedVersion(entityTag: "\"x\"", lastModified: Harness.modified, date: Harness.date)

    private static func named(_ configure: (inout DownloadTerms) -> Void = { _ in }) -> MachineHarness {
        Harness(isNamed: true) {
            $0.nameIsExact = true
            configure(&$0)
        }
    }

    private static func failure(_ h: MachineHarness) -> TransferFailure? {
        guard case .failed(let failure)? = h.ending?.outcome else { return nil }
        return failure
    }

    // MARK: Names

    @Test("an exact name: a file that is not the server's fails the transfer, and an equal one is skipped")
    func examined() {
        let h = Self.named()
        h.begin()
        #expect(h.survey(Self.existing()) == "1:HEAD a/f")
        let fields: HeaderFields = ["Content-Length": "11", "Last-Modified": Harness.modified]
        #expect(h.head(1, 200, fields, framing: BodyFraming.none) == "close 1, release a, end failed file-exists")
        #expect(Self.failure(h)?.setting == .existingFiles)
        let equal = Self.named()
        equal.begin()
        equal.survey(Self.existing())
        let same: HeaderFields = ["Content-Length": "10", "Last-Modified": Harness.modified]
        #expect(equal.head(1, 200, same, framing: BodyFraming.none) == "close 1, release a, end finished skipped")
    }

    @Test("an exact name: if the server has no such file, that is the failure")
    func missing() {
        let h = Self.named()
        h.begin()
        h.survey(Self.existing())
        #expect(h.head(1, 404, framing: BodyFraming.none) == "close 1, 2:GET a/f")
        #expect(h.head(2, 404, framing: BodyFraming.none) == "close 2, release a, end failed not-found")
    }

    @Test("an exact name: a wrong digest replaces a file of ours that nobody has changed, and no other")
    func wrongDigest() {
        for (recorded, words) in [
            (nil, "release a, end failed file-exists"), (Self.tagged, "survey f"),
        ] as [(RecordedVersion?, String)] {
            let h = Self.named { $0.expected = [Harness.digest(1)] }
            h.begin()
            #expect(h.survey(Self.existing(recorded: recorded)) == "digests f")
            let now = h.now
            #expect(h.feed { $0.digestsCompared(agree: false, now) } == words)
            guard recorded != nil else { continue }
            #expect(h.survey(Self.existing(recorded: recorded)) == "1:GET a/f")
            h.whole(1, 10)
            h.smallCreated()
            h.body(1, 10)
            #expect(h.done(1) == "close 1, release a, commitSmall f over")
            #expect(h.commit?.replaces == Self.file)
        }
    }

    @Test("an exact name: the file that replaces ours is resumed by the next run")
    func replacementResumed() {
        let h = Self.named { $0.expected = [Harness.digest(1)] }
        let facts = Harness.facts()
        h.begin()
        h.survey(Self.existing(recorded: Self.tagged), .ours(facts, written: 5))
        let now = h.now
        h.feed { $0.digestsCompared(agree: false, now) }
        #expect(h.survey(Self.existing(recorded: Self.tagged), .ours(facts, written: 5)) == "open f")
    }

    @Test("an exact name: a file that changes while its digest is computed is compared again")
    func changedMeanwhile() {
        let h = Self.named { $0.expected = [Harness.digest(1)] }
        h.begin()
        h.survey(Self.existing(recorded: Self.tagged))
        let now = h.now
        h.feed { $0.digestsCompared(agree: false, now) }
        #expect(h.survey(ExistingFile(isRegular: true, size: 11, modified: 0)) == "digests f")
        #expect(h.feed { $0.digestsCompared(agree: false, now) } == "release a, end failed file-exists")
    }

    @Test("an exact name that another program takes meanwhile: the received file is kept, or is the same")
    func takenAtCommit() {
        for (tag, words) in [
            ("\"x\"", "end finished skipped single-response; discard"), ("\"y\"", "end failed file-exists; keep"),
        ] {
            let h = Self.named()
            h.start()
            h.whole(1, Harness.length)
            h.partialCreated()
            h.body(1, Int(Harness.length))
            h.done(1)
            #expect(h.commitFailed(.exists) == "survey f")
            let recorded = RecordedVersion(entityTag: tag, date: Harness.date)
            let other = ExistingFile(isRegular: true, size: Harness.length, modified: 0, recorded: recorded)
            #expect(h.survey(other) == words)
        }
    }

    @Test("an exact name that another process downloads: --if-running rename numbers it, nothing else")
    func running() {
        let h = Self.named { $0.ifRunning = .rename }
        h.begin()
        #expect(h.survey(nil, .busy(Harness.facts())) == "next f")
        let locked = Self.named()
        locked.begin()
        #expect(locked.survey(nil, .busy(nil)) == "release a, end failed file-exists")
    }

    // MARK: Updates

    private static func update(_ existing: ExistingFile, isNamed: Bool = false) -> (MachineHarness, String) {
        let h = Harness(isNamed: isNamed) {
            $0.ifExists = .update
            $0.nameIsExact = isNamed
        }
        h.begin()
        return (h, h.survey(existing))
    }

    @Test("update: one conditional request with the recorded entity tag, else with a time; 304 ends the run")
    func unchanged() {
        let condition = "1:GET a/f conditional"
        let (h, words) = Self.update(Self.existing(recorded: Self.tagged), isNamed: true)
        #expect(words == condition + " If-None-Match: \"x\"")
        #expect(
            h.head(1, 304, ["ETag": "\"x\""], framing: BodyFraming.none) == "release a, end finished unchanged"
        )
        let timed = RecordedVersion(lastModified: Harness.modified, date: Harness.date)
        let (t, other) = Self.update(Self.existing(recorded: timed))
        #expect(other == condition + " If-Modified-Since: \(Harness.modified)")
        #expect(t.head(1, 304, framing: BodyFraming.none) == "release a, end finished unchanged")
    }

    @Test("update: without a record, a 304 says only that the server's file is not newer: a HEAD compares them")
    func unrecorded() {
        for (length, modified, words) in [
            (10, Harness.modified, "close 2, release a, end finished unchanged"),
            (11, Harness.modified, "close 2, survey f"),
            (11, "Mon, 30 Jun 2025 10:00:00 GMT", "close 2, release a, end finished skipped"),
        ] {
            let (h, sent) = Self.update(Self.existing())
            #expect(sent == "1:GET a/f conditional If-Modified-Since: \(Harness.modified)")
            #expect(h.head(1, 304, framing: BodyFraming.none) == "close 1, 2:HEAD a/f")
            let fields: HeaderFields = ["Content-Length": "\(length)", "Last-Modified": modified]
            #expect(h.head(2, 200, fields, framing: BodyFraming.none) == words)
        }
    }

    @Test("update: another version replaces the file, which must still be the same one")
    func changed() {
        let (h, _) = Self.update(Self.existing(recorded: Self.tagged))
        #expect(h.whole(1, 20, tag: "\"y\"", modified: Harness.newer) == "small f")
        h.smallCreated()
        h.body(1, 20)
        #expect(h.done(1) == "close 1, release a, commitSmall f over")
        #expect(h.commit?.replaces == Self.file)
        #expect(h.commitFailed(.exists) == "survey f")
        #expect(h.survey(Self.existing()) == "end failed file-exists; discard")
    }

    @Test("update: a server that ignores the condition sends a head that says the same")
    func ignoredCondition() {
        let (h, _) = Self.update(Self.existing(recorded: Self.tagged))
        #expect(h.whole(1, 10, tag: "\"x\"", modified: Harness.modified) == "release a, end finished unchanged")
    }

    @Test("update: a 304 with other validators is not believed; the whole is requested")
    func contradictory() {
        let (h, _) = Self.update(Self.existing(recorded: Self.tagged))
        #expect(h.head(1, 304, ["ETag": "\"y\""], framing: BodyFraming.none) == "close 1, survey f")
        #expect(h.survey(Self.existing(recorded: Self.tagged)) == "2:GET a/f")
    }

    @Test("update: a file without a record that is newer than the server's is kept")
    func newer() {
        let (h, _) = Self.update(Self.existing(modified: 1_790_000_000))
        #expect(h.whole(1, 20, tag: nil, modified: Harness.modified) == "release a, end finished skipped")
    }

    @Test("update: the condition also goes to the target of a redirect, and a missing file is a failure")
    func redirected() {
        let (h, _) = Self.update(Self.existing(recorded: Self.tagged))
        #expect(
            h.head(1, 302, ["Location": "/g"], framing: BodyFraming.none)
                == "close 1, 2:GET a/g conditional If-None-Match: \"x\""
        )
        #expect(h.head(2, 404, framing: BodyFraming.none) == "close 2, release a, end failed not-found")
    }

    @Test("update: a name that the response proposes is compared with its head, and never gets a number")
    func proposed() {
        let disposition = [("Content-Disposition", "attachment; filename=g")]
        for (tag, words) in [("\"x\"", "release a, end finished unchanged"), ("\"y\"", "small g")] {
            let h = Harness { $0.ifExists = .update }
            h.start()
            #expect(h.whole(1, 10, tag: tag, modified: Harness.modified, with: disposition) == "reserve g")
            h.reserved("g")
            #expect(h.survey(Self.existing(recorded: Self.tagged)) == words)
        }
    }

    @Test("update: a file under the first name is not what the proposed name replaces")
    func proposedOther() {
        let (h, _) = Self.update(Self.existing(recorded: Self.tagged))
        let disposition = [("Content-Disposition", "attachment; filename=g")]
        #expect(h.whole(1, 10, modified: Harness.modified, with: disposition) == "reserve g")
        h.reserved("g")
        #expect(h.survey(nil) == "small g")
        h.smallCreated()
        h.body(1, 10)
        #expect(h.done(1) == "close 1, release a, commitSmall g")
    }

    @Test("update: a part of the new version is resumed, and replaces the file that is there then")
    func resumed() {
        let h = Harness { $0.ifExists = .update }
        let facts = Harness.facts()
        h.begin()
        #expect(h.survey(Self.existing(recorded: Self.tagged), .ours(facts, written: 5)) == "open f")
    }
}
