// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: names, openings, redirects, policies")
struct DownloadMachineOpeningTests {
    private typealias Harness = MachineHarness
    private static let existing = ExistingFile(isRegular: true, size: 10, modified: 0)

    // MARK: Locating

    @Test("a free name is fetched with the slot of the admission")
    func free() {
        let h = Harness()
        #expect(h.begin() == "survey f")
        #expect(h.survey(nil) == "1:GET a/f")
    }

    @Test("an interruption before the start ends the run; later events are ignored")
    func early() {
        let h = Harness()
        #expect(h.feed { $0.interrupted(.paused) } == "release a, end paused")
        #expect(h.begin() == "")
        #expect(h.survey(nil) == "")
        #expect(h.feed { $0.interrupted(.cancelled(keeping: false)) } == "")
    }

    @Test("a taken name: the next one is surveyed; an exact one fails")
    func nextName() {
        let h = Harness { $0.ifExists = .rename }
        h.begin()
        #expect(h.survey(Self.existing) == "next f")
        #expect(h.reserved("f-1") == "survey f-1")
        #expect(h.survey(nil) == "1:GET a/f")
        let exact = Harness { $0.nameIsExact = true }
        exact.begin()
        #expect(exact.survey(nil, .foreign("no journal")) == "release a, end failed file-exists")
    }

    @Test("a file that another process is downloading: the run ends without a request, and the next one surveys it")
    func running() {
        let h = Harness()
        h.begin()
        #expect(h.survey(nil, .busy(Harness.facts())) == "release a, end retry in-use")
        guard case .retry(let failure) = h.ending?.outcome else { return #expect(Bool(false), "no retry") }
        #expect(failure.awaitedFile?.path == "f")
        #expect(h.machine.history.target?.path == "f")
        let named = Harness(isNamed: true) { $0.ifRunning = .fail }
        named.begin()
        #expect(named.survey(nil, .busy(Harness.facts(url: "http://b/g"))) == "release a, end failed in-use")
        let other = Harness { $0.ifRunning = .rename }
        other.begin()
        #expect(other.survey(nil, .busy(Harness.facts())) == "next f")
    }

    @Test("a name that the response proposed is awaited, and is not numbered by the next run")
    func runningProposed() {
        let h = Harness()
        h.start()
        let field = ("Content-Disposition", "attachment; filename=g")
        h.whole(1, with: [field])
        h.reserved("g")
        #expect(h.survey(nil, .busy(Harness.facts())) == "release a, end retry in-use")
        let next = Harness(history: h.machine.history)
        #expect(next.begin() == "survey g")
        next.survey(nil)
        #expect(next.whole(1, with: [field]) == "partial g")
        let post = Harness {
            $0.method = "POST"
            $0.asksForWhole = false
        }
        post.start()
        post.whole(1, with: [field])
        post.reserved("g")
        #expect(post.survey(nil, .busy(Harness.facts())) == "next g")
    }

    @Test("a POST is not repeated: its response gets another name, unless the name must be exact")
    func runningPost() {
        for (isExact, words) in [(false, "next f"), (true, "release a, end failed file-exists; keep")] {
            let h = Harness {
                $0.method = "POST"
                $0.asksForWhole = false
                $0.nameIsExact = isExact
            }
            h.start()
            h.whole(1)
            h.feed { $0.storageFailed(StorageError(.inUse, "taken")) }
            #expect(h.survey(nil, .busy(Harness.facts())) == words)
        }
    }

    @Test("another process opened the partial file since the survey, and may have closed it again: survey again")
    func openedMeanwhile() {
        for isStillOurs in [true, false] {
            let h = Harness()
            h.begin()
            #expect(h.survey(nil, .ours(Harness.facts(), written: 5)) == "open f")
            let error = StorageError(.inUse, "taken")
            #expect(h.feed { $0.openingFailed(error, isStillOurs: isStillOurs) } == "survey f")
            #expect(h.survey(nil, .busy(Harness.facts())) == "release a, end retry in-use")
        }
    }

    @Test("another process created the partial file since the survey: it is awaited, another program's takes the name")
    func createdMeanwhile() {
        for code in [StorageError.Code.exists, .inUse] {
            let h = Harness()
            h.start()
            #expect(h.whole(1) == "partial f")
            #expect(h.feed { $0.storageFailed(StorageError(code, "taken")) } == "survey f")
            #expect(h.survey(nil, .busy(Harness.facts())) == "release a, end retry in-use; keep")
        }
        let h = Harness()
        h.start()
        h.whole(1)
        h.feed { $0.storageFailed(StorageError(.exists, "taken")) }
        #expect(h.survey(nil, .foreign("no journal")) == "next f")
        #expect(h.reserved("f-1") == "partial f-1")
        let exact = Harness { $0.nameIsExact = true }
        exact.start()
        exact.whole(1)
        exact.feed { $0.storageFailed(StorageError(.exists, "taken")) }
        #expect(exact.survey(nil, .foreign("no journal")) == "release a, end failed file-exists; keep")
    }

    @Test("the survey fails")
    func surveyFails() {
        let h = Harness()
        h.begin()
        let words = h.feed { $0.storageFailed(StorageError(.cannotOpen, "no")) }
        #expect(words == "release a, end failed cannot-open")
    }

    @Test("an interrupted commit: the rest of the partial file is deleted, nothing is fetched")
    func replayed() {
        let h = Harness()
        h.begin()
        #expect(h.survey(Self.existing, .committed) == "discard f, release a, end finished skipped")
    }

    @Test("digests of an existing file: equal ones skip it; others continue a copy, or take another name")
    func digests() {
        for (rule, agree, words) in [
            (IfExistsRule.auto, true, "release a, end finished skipped digest"),
            (.resume, true, "release a, end finished skipped digest"), (.auto, false, "next f"),
            (.resume, false, "1:GET a/f 0- overlap 10"),
        ] {
            let h = Harness {
                $0.ifExists = rule
                $0.expected = [Harness.digest(1)]
            }
            h.begin()
            #expect(h.survey(Self.existing) == "digests f")
            let now = h.now
            #expect(h.feed { $0.digestsCompared(agree: agree, now) } == words)
        }
    }

    @Test("an existing file is compared by HEAD; the one that agrees is skipped, another gets a number")
    func examined() {
        let modified = ExistingFile(isRegular: true, size: 10, modified: HTTPDate.parse(Harness.modified) ?? 0)
        for (length, words) in [(10, "close 1, release a, end finished skipped"), (11, "close 1, next f")] {
            let h = Harness()
            h.begin()
            #expect(h.survey(modified) == "1:HEAD a/f")
            let fields: HeaderFields = ["Content-Length": "\(length)", "Last-Modified": Harness.modified]
            #expect(h.head(1, 200, fields, framing: BodyFraming.none) == words)
        }
    }

    @Test("HEAD refused: the file is examined by GET, and its body is not read; a refused GET takes another name")
    func examinedByGet() {
        let h = Harness()
        h.begin()
        h.survey(Self.existing)
        #expect(h.head(1, 405, framing: BodyFraming.none) == "close 1, 2:GET a/f")
        #expect(h.head(2, 200, ["Content-Length": "900000"]) == "close 2, next f")
        #expect(h.reserved("f-1") == "survey f-1")
        #expect(h.survey(nil) == "3:GET a/f")
        let refused = Harness()
        refused.begin()
        refused.survey(Self.existing)
        refused.head(1, 403, framing: BodyFraming.none)
        #expect(refused.head(2, 403, framing: BodyFraming.none) == "close 2, next f")
    }

    @Test("HEAD: a status that may pass is a failure that is retried; a redirect is followed by HEAD")
    func examinedLater() {
        let h = Harness()
        h.begin()
        h.survey(Self.existing)
        #expect(h.head(1, 302, ["Location": "/g"], framing: BodyFraming.none) == "close 1, 2:HEAD a/g")
        #expect(h.head(2, 503, framing: BodyFraming.none) == "close 2, release a, end retry overloaded")
    }

    @Test("HEAD: credentials that are not given are not asked for again for a GET")
    func examinedWithoutCredentials() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.begin()
        h.survey(Self.existing)
        #expect(h.head(1, 401, framing: BodyFraming.none) == "ask 1 challenge")
        #expect(h.decide(1, .proceed) == "resume 1, close 1, release a, end failed authentication")
    }

    // MARK: Names that a response proposes

    @Test("Content-Disposition: the proposed name is reserved and surveyed before the file is created")
    func proposed() {
        let h = Harness()
        h.start()
        let disposition = [("Content-Disposition", "attachment; filename=g")]
        #expect(h.whole(1, with: disposition) == "reserve g")
        #expect(h.reserved("g") == "survey g")
        #expect(h.survey(Self.existing) == "next g")
        #expect(h.reserved("g-1") == "survey g-1")
        #expect(h.survey(nil) == "partial g-1")
        #expect(h.machine.history.target?.name == "g-1")
    }

    @Test("Content-Disposition: a name of the user counts, and so does an equal one")
    func unproposed() {
        let h = Harness(isNamed: true)
        h.start()
        #expect(h.whole(1, with: [("Content-Disposition", "attachment; filename=g")]) == "partial f")
        let equal = Harness()
        equal.start()
        #expect(equal.whole(1, with: [("Content-Disposition", "attachment; filename=f")]) == "partial f")
    }

    @Test("a proposed name: our partial file under it is resumed in place of the response")
    func proposedPartial() {
        let h = Harness()
        h.start()
        h.whole(1, with: [("Content-Disposition", "attachment; filename=g")])
        h.reserved("g")
        let facts = Harness.facts()
        #expect(h.survey(nil, .ours(facts, written: 5)) == "close 1, open g")
        let now = h.now
        let words = h.feed { $0.partialOpened(facts, extents: [0..<5], now) }
        #expect(words == "discard g.martlet-new, 2:GET a/f 5- if x")
    }

    @Test("a proposed name: rules skip and fail end the run, overwrite replaces")
    func proposedRules() {
        for (rule, words) in [
            (IfExistsRule.skip, "release a, end finished skipped"), (.fail, "release a, end failed file-exists"),
            (.overwrite, "partial g"),
        ] {
            let h = Harness { $0.ifExists = rule }
            h.start()
            h.whole(1, with: [("Content-Disposition", "attachment; filename=g")])
            h.reserved("g")
            #expect(h.survey(Self.existing) == words)
        }
    }

    // MARK: Files

    @Test("up to 256 KiB of declared length need no journal")
    func small() {
        let h = Harness()
        h.start()
        #expect(h.whole(1, 262_144) == "small f")
        #expect(h.smallCreated() == "")
        #expect(h.body(1, 262_144) == "small 262144")
        #expect(h.done(1) == "close 1, release a, commitSmall f")
        #expect(h.committed() == "end finished single-response")
    }

    @Test("one byte more, or an unknown length, need a partial file; reading pauses until it is there")
    func partial() {
        for length: Int64? in [262_145, nil] {
            let h = Harness()
            h.start()
            #expect(h.whole(1, length) == "partial f")
            #expect("\(h.machine.reading(1))" == "pause")
            #expect(h.partialCreated() == "extent 1@0, endPause 1")
            #expect("\(h.machine.reading(1))" == "read")
            #expect(h.body(1, 262_145) == "write 262145")
            #expect(h.done(1) == "close 1, release a, commit f 262145")
            #expect(h.committed() == "end finished single-response")
        }
    }

    @Test("a body that ends by close is complete, but its length is not verified")
    func untilClose() {
        let h = Harness()
        h.start()
        h.head(1, 200, framing: .untilClose)
        h.partialCreated()
        h.body(1, 5)
        #expect(h.done(1, cleanly: false) == "close 1, release a, commit f 5")
        #expect(h.committed() == "end finished single-response unverified")
    }

    @Test("a small file that is cut off is kept as a partial file from 16 KiB on")
    func smallCut() {
        for (count, words) in [(16384, "keepSmall 16384"), (16383, "discard")] {
            let h = Harness()
            h.start()
            h.whole(1, 100_000)
            h.smallCreated()
            h.body(1, count)
            #expect(h.lost(1) == "close 1, release a, end retry connection-reset; \(words)")
            #expect(h.ending?.kept?.bytes == (count < 16384 ? nil : 16384))
        }
    }

    @Test("a small file that is paused after its last byte, but before the response has ended, is kept")
    func smallPaused() {
        let h = Harness()
        h.start()
        h.whole(1, 100_000)
        h.smallCreated()
        h.body(1, 100_000)
        #expect(h.feed { $0.interrupted(.paused) } == "release a, end paused; keepSmall 100000")
    }

    @Test("a small file that ends early is a failure")
    func smallShort() {
        let h = Harness()
        h.start()
        h.whole(1, 100)
        h.smallCreated()
        h.body(1, 99)
        #expect(h.done(1) == "close 1, release a, end retry bad-response; discard")
    }

    @Test("the partial file cannot be created: another name if it exists, else a failure")
    func notCreated() {
        let h = Harness()
        h.start()
        h.whole(1)
        #expect(h.feed { $0.storageFailed(StorageError(.exists, "no")) } == "survey f")
        #expect(h.survey(nil, .foreign("no journal")) == "next f")
        #expect(h.reserved("f-1") == "partial f-1")
        #expect(h.machine.history.target?.name == "f-1")
        let full = h.feed { $0.storageFailed(StorageError(.noSpace, "no")) }
        // It waits for its file system.
        #expect(full == "release a, end retry no-space; keep")
        let exact = Harness { $0.nameIsExact = true }
        exact.start()
        exact.whole(1)
        exact.feed { $0.storageFailed(StorageError(.exists, "no")) }
        #expect(exact.survey(nil, .foreign("no journal")) == "release a, end failed file-exists; keep")
    }

    @Test("a cancellation while the file is being created: the file is not wanted")
    func cancelledCreation() {
        let h = Harness()
        h.start()
        h.whole(1)
        #expect(h.machine.wantsFile == true)
        #expect(h.feed { $0.interrupted(.cancelled(keeping: false)) } == "release a, end cancelled; discardEarlier")
        #expect(h.machine.wantsFile == false)
        #expect(h.partialCreated() == "")
    }

    @Test("opening a partial file fails: damaged takes another name, deleted surveys again, others fail")
    func openingFails() {
        for (code, isStillOurs, words) in [
            (StorageError.Code.badJournal, false, "next f"), (.cannotOpen, false, "survey f"),
            (.cannotOpen, true, "release a, end failed cannot-open"),
            (.inputOutput, false, "release a, end failed file-io"),
        ] {
            let h = Harness()
            h.begin()
            #expect(h.survey(nil, .ours(Harness.facts(), written: 5)) == "open f")
            #expect(h.feed { $0.openingFailed(StorageError(code, "no"), isStillOurs: isStillOurs) } == words)
        }
    }

    @Test("a cancellation while a partial file is being opened deletes it; kept, it stays")
    func cancelledOpening() {
        for (keeping, words) in [(false, "cancelled; discardEarlier"), (true, "cancelled keeping")] {
            let h = Harness()
            h.begin()
            h.survey(nil, .ours(Harness.facts(), written: 5))
            #expect(h.feed { $0.interrupted(.cancelled(keeping: keeping)) } == "release a, end \(words)")
            let now = h.now
            #expect(h.feed { $0.partialOpened(Harness.facts(), extents: [0..<5], now) } == "")
        }
    }

    // MARK: Redirects

    @Test("a redirect to the same host keeps the slot; to another, it waits for one there")
    func redirect() {
        let h = Harness()
        h.start()
        #expect(h.head(1, 302, ["Location": "/g", "Content-Length": "0"]) == "")
        #expect(h.done(1) == "close 1, 2:GET a/g")
        h.head(2, 307, ["Location": "http://b/g"], framing: .untilClose)
        #expect(h.plans.count == 2)
        #expect("\(h.machine.reading(2))" == "close")
        #expect(h.slotFreed("b", 2) == "close 2, 3:GET b/g")
        #expect(h.whole(3) == "partial f")
    }

    @Test("a redirect to another host: the end while the slot is waited for returns it when it comes")
    func redirectWaits() {
        let h = Harness()
        h.start()
        #expect(h.head(1, 302, ["Location": "http://b/g"], framing: BodyFraming.none) == "release a, wait b 1")
        // The stall timeout does not apply meanwhile.
        #expect(h.tick(after: 100) == "")
        #expect(h.feed { $0.interrupted(.stopped) } == "end stopped")
        #expect(h.slotFreed("b", 1) == "release b")
    }

    @Test("301, 302 and 303 turn a POST into a GET without content; 307 and 308 do not")
    func methods() {
        for (status, words) in [
            (301, "2:GET a/g rewritten"), (302, "2:GET a/g rewritten"), (303, "2:GET a/g rewritten"),
            (307, "2:POST a/g"), (308, "2:POST a/g"),
        ] {
            let h = Harness {
                $0.method = "POST"
                $0.asksForWhole = false
            }
            h.start()
            #expect(h.head(1, status, ["Location": "/g"], framing: BodyFraming.none) == "close 1, \(words)")
            #expect(h.plans[2]?.sendsContent == (status > 303))
        }
    }

    @Test("redirects: at most the maximum; no downgrade; no other scheme; none without a Location")
    func refusedRedirects() {
        let h = Harness(["https://a/f"]) { $0.requests.redirects = RedirectRule(maximum: 1, allowsDowngrade: false) }
        h.start()
        h.head(1, 302, ["Location": "/g"], framing: BodyFraming.none)
        #expect(
            h.head(2, 302, ["Location": "/h"], framing: BodyFraming.none)
                == "close 2, release a, end failed redirects"
        )
        for (location, code) in [("http://a/f", "redirects"), ("ftp://a/f", "redirects"), ("", "bad-response")] {
            let other = Harness(["https://a/f"])
            other.start()
            let words = other.head(1, 302, ["Location": location], framing: BodyFraming.none)
            #expect(words == "close 1, release a, end failed \(code)")
        }
    }

    @Test("ranges go to the target of the redirect; if it has expired, the original URL is requested again")
    func pinned() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        h.head(1, 302, ["Location": "/g"], framing: BodyFraming.none)
        #expect(h.part(2, 100_000..<200_000) == "facts etag, extent 2@100000")
        h.body(2, 100_000)
        #expect(h.done(2) == "close 2, 3:GET a/g 200000- if x")
        #expect(h.head(3, 404, framing: BodyFraming.none) == "close 3, release a, wait a 4")
        #expect(h.slotFreed("a", 4) == "close 4, 5:GET a/f 200000- if x")
    }

    @Test("the original URL is requested again at its host once there is a slot, as any other request there")
    func pinnedElsewhere() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.head(1, 302, ["Location": "http://b/g"], framing: BodyFraming.none) == "release a, wait b 1")
        #expect(h.slotFreed("b", 1) == "close 1, 2:GET b/g 100000- if x")
        h.part(2, 100_000..<200_000)
        h.body(2, 100_000)
        // One file keeps its connection from part to part, whoever else waits for the host.
        #expect(h.done(2) == "close 2, 3:GET b/g 200000- if x")
        #expect(h.head(3, 404, framing: BodyFraming.none) == "close 3, release b, wait a 4")
        // The stall timeout does not apply meanwhile.
        #expect(h.tick(after: 100) == "checkpoint")
        #expect(h.slotFreed("a", 4) == "close 4, 5:GET a/f 200000- if x")
    }

    @Test("an unwanted body: short ones are read to keep the connection, long ones are not")
    func draining() {
        let h = Harness()
        h.start()
        #expect(h.head(1, 302, ["Location": "/g", "Content-Length": "65536"]) == "")
        #expect(h.body(1, 65_536) == "discarded")
        #expect(h.body(1, 1) == "tooMany, close 1, 2:GET a/g")
        #expect(h.head(2, 302, ["Location": "/h", "Content-Length": "65537"]) == "close 2, 3:GET a/h")
        h.head(3, 302, ["Location": "/i", "Content-Length": "5"])
        // A connection that is lost while it is drained does not change the step.
        #expect(h.lost(3) == "close 3, 4:GET a/i")
        h.head(4, 302, ["Location": "/j", "Content-Length": "5"])
        #expect(h.step(.timeOut(TransferFailure(.timeout, "")), 4) == "close 4, 5:GET a/j")
    }

    // MARK: Policies

    @Test("a policy decides about the first response, once")
    func response() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        #expect(h.whole(1) == "ask 1 response 1000000")
        #expect("\(h.machine.reading(1))" == "pause")
        #expect(h.decide(1, .proceed) == "partial f, resume 1")
        h.partialCreated()
        h.body(1, 100_000)
        h.feed { $0.interrupted(.paused) }
        let next = Harness(history: h.machine.history) { $0.requests.hasPolicy = true }
        next.resume(Harness.facts(), [0..<100_000])
        #expect(next.part(1, 100_000..<1_000_000) == "facts etag, extent 1@100000")
    }

    @Test("a decision that leads to the end: nothing follows the end")
    func decisionEnds() {
        let existing = ExistingFile(
            isRegular: true,
            size: 1000,
            modified: 0,
            recorded: RecordedVersion(entityTag: "\"x\"")
        )
        let h = Harness {
            $0.requests.hasPolicy = true
            $0.ifExists = .resume
        }
        h.begin()
        h.survey(existing)
        h.whole(1, 1000)
        #expect(h.decide(1, .proceed) == "release a, end finished skipped")
    }

    @Test("a decision after the end is ignored, and asked for again")
    func lateDecision() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        h.whole(1)
        h.feed { $0.interrupted(.paused) }
        #expect(h.decide(1, .proceed) == "")
        #expect(!h.machine.history.isResponseDecided)
    }

    @Test("only the first of two decisions counts")
    func twoDecisions() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        h.whole(1)
        h.decide(1, .proceed)
        #expect(h.decide(1, .cancel) == "")
    }

    @Test("cancel ends the run", arguments: [200, 302, 401])
    func cancelled(status: Int) {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        h.head(1, status, ["Location": "/g"])
        #expect(h.decide(1, .cancel) == "release a, end cancelled")
        #expect(h.machine.history.isResponseDecided == (status == 200))
    }

    @Test("a redirect that the policy refuses is a failure for a file, the response for memory")
    func refusedByPolicy() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        #expect(h.head(1, 302, ["Location": "http://b/g"], framing: BodyFraming.none) == "ask 1 redirect GET b")
        #expect(h.decide(1, .refuse) == "resume 1, close 1, release a, end failed redirects")
        let memory = Harness {
            $0.requests.hasPolicy = true
            $0.destination = .memory(keepsBytes: false)
        }
        memory.begin()
        memory.head(1, 302, ["Location": "/g", "Content-Length": "5"])
        // Reading goes on after the second decision.
        #expect(memory.decide(1, .refuse) == "ask 1 response 5")
        #expect(memory.decide(1, .proceed).hasSuffix("resume 1"))
        #expect(memory.body(1, 5) == "write 5")
        #expect(memory.done(1) == "close 1, release a, finishStream")
    }

    @Test("a redirect that the policy lets follow")
    func proceeds() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        h.head(1, 302, ["Location": "/g"], framing: BodyFraming.none)
        #expect(h.decide(1, .proceed) == "resume 1, close 1, 2:GET a/g")
    }

    @Test("a challenge is repeated as often as the policy says, within bounds; the last failure keeps its prefix")
    func challenge() {
        let h = Harness { $0.requests.hasPolicy = true }
        h.start()
        for number in 1...RequestFlow.maximumRefusals {
            #expect(h.head(number, 401, framing: BodyFraming.none) == "ask \(number) challenge")
            let next = number + 1
            #expect(
                h.decide(number, .repeat)
                    == "resume \(number), close \(number), \(next):GET a/f refusals \(number)"
            )
        }
        let last = RequestFlow.maximumRefusals + 1
        h.head(last, 401, framing: .chunked)
        h.body(last, 100)
        #expect(h.done(last) == "close \(last), release a, end failed authentication")
        guard case .failed(let failure) = h.ending?.outcome else { return }
        #expect(failure.response?.prefix.count == 100)
    }

    @Test("a challenge without a policy, or that the policy lets proceed, is a failure")
    func unmet() {
        let h = Harness()
        h.start()
        #expect(h.head(1, 401, framing: BodyFraming.none) == "close 1, release a, end failed authentication")
        let other = Harness { $0.requests.hasPolicy = true }
        other.start()
        other.head(1, 401, framing: BodyFraming.none)
        #expect(other.decide(1, .proceed) == "resume 1, close 1, release a, end failed authentication")
    }

    @Test("a body is diverted from memory to a file: its name is reserved and surveyed")
    func diverted() {
        let h = Harness {
            $0.requests.hasPolicy = true
            $0.destination = .memory(keepsBytes: false)
        }
        #expect(h.begin() == "1:GET a/f")
        h.whole(1)
        let diversion = Diversion(directory: "d", name: "g", ifExists: .fail)
        #expect(h.decide(1, .divert(diversion)) == "reserve g, resume 1")
        #expect(h.feed { $0.nameReserved(FileTarget(directory: "d", name: "g")) } == "survey d/g")
        #expect(h.survey(Self.existing) == "release a, end failed file-exists")
        #expect(h.machine.history.diversion?.name == "g")
    }

    @Test("conditions go with requests for the whole; 304 ends the run, and is a failure otherwise")
    func conditional() {
        let h = Harness { $0.isConditional = true }
        h.begin()
        #expect(h.survey(nil) == "1:GET a/f conditional")
        #expect(h.head(1, 304, framing: BodyFraming.none) == "release a, end finished notModified")
        let ranged = Harness { $0.isConditional = true }
        #expect(ranged.resume(Harness.facts(), [0..<100]) == "discard f.martlet-new, 1:GET a/f 100- if x")
        #expect(ranged.head(1, 304, framing: BodyFraming.none) == "close 1, release a, end failed bad-response; keep")
    }
}
