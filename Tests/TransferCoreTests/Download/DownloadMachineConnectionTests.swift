// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: connections, sources, failures")
struct DownloadMachineConnectionTests {
    private typealias Harness = MachineHarness
    private static let length = Harness.length

    /// A run whose first response has been taken, with up to `count` connections.
    private static func open(
        _ count: Int,
        slots: Int? = nil,
        _ configure: (inout DownloadTerms) -> Void = { _ in }
    ) -> Harness {
        let h = Harness {
            $0.connections = .fixed(count)
            configure(&$0)
        }
        h.slotLimit = slots ?? count
        h.start()
        h.whole(1)
        h.partialCreated()
        return h
    }

    // MARK: Further connections

    @Test("further connections open once the first response is taken, with halves of what is left")
    func fixed() {
        let h = Harness { $0.connections = .fixed(4) }
        h.slotLimit = 4
        h.start()
        h.whole(1)
        let words = h.partialCreated()
        #expect(
            words == "2:GET a/f 500000- if x, 3:GET a/f 250000-499999 if x, 4:GET a/f 750000- if x, "
                + "extent 1@0, endPause 1"
        )
    }

    @Test("a denied slot: no further connection; the next tick tries again")
    func denied() {
        let h = Self.open(2, slots: 1)
        #expect(h.machine.requestCount == 1)
        h.slotLimit = 2
        #expect(h.tick() == "2:GET a/f 500000- if x")
    }

    @Test("a server without ranges, or without a strong validator, gets one connection")
    func single() {
        for (tag, ranges) in [("\"x\"", "none"), ("W/\"x\"", "bytes")] {
            let h = Harness { $0.connections = .fixed(4) }
            h.slotLimit = 4
            h.start()
            h.head(1, 200, ["Content-Length": "1000000", "ETag": tag, "Accept-Ranges": ranges])
            #expect(h.partialCreated() == "extent 1@0, endPause 1")
            #expect(h.tick() == "")
        }
    }

    @Test("an unneeded slot is returned")
    func unneeded() {
        let h = Self.open(2, slots: 1)
        h.body(1, 999_000)
        #expect(h.slotFreed("a", 99) == "release a")
        let origin = Harness.url("http://a/").origin
        let now = h.now
        h.machine.connections.fixed = 1
        let actions = h.machine.slotAcquired(origin, lane: 0, avoiding: nil, now)
        guard case .release(origin)? = actions.first, actions.count == 1 else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test("a connection that is done takes half of what another has left")
    func halves() {
        let h = Self.open(2)
        h.part(2, 500_000..<Self.length)
        #expect(h.body(2, 500_000) == "write 500000")
        #expect(h.done(2) == "close 2, release a, 3:GET a/f 250000-499999 if x")
    }

    @Test("retries are restored by the bytes that are held, not by the place at which a part begins")
    func keptBytes() {
        let h = Self.open(2)
        h.part(2, 500_000..<Self.length)
        #expect(h.machine.kept == 0)
        h.body(1, 1000)
        h.body(2, 500)
        h.lost(2)
        #expect(h.machine.kept == 1500)
    }

    @Test("a piece whose response continues is ended at the piece's end, its connection closed")
    func pieceEnds() {
        let h = Self.open(2)
        #expect(h.body(1, 500_001) == "write 500000, close 1, release a, 3:GET a/f 750000- if x")
    }

    @Test("a piece that is complete while its response continues: the connection is closed at once")
    func responseGoesOn() {
        let h = Self.open(2)
        #expect(h.body(1, 500_000) == "write 500000, close 1, release a, 3:GET a/f 750000- if x")
    }

    @Test("a piece is not extended beyond the end of its response")
    func responseEnd() {
        let h = Self.open(3)
        h.part(3, 250_000..<500_000)
        h.lost(2)
        #expect(h.machine.fetching?.planner.piece(of: 3)?.end == 500_000)
        #expect(h.body(3, 250_000) == "write 250000")
        #expect(h.done(3) == "close 3, release a, 4:GET a/f 500000- if x")
    }

    @Test("a piece that is extended while its last bytes are being written: what was discarded is requested again")
    func extendedMeanwhile() {
        let h = Self.open(2)
        let bytes = [UInt8](repeating: 0, count: 500_100)
        let now = h.now
        guard case .partial(0, _, 500_000) = bytes.withUnsafeBytes({ h.machine.bytesReceived($0, 1, now) }) else {
            Issue.record("not 500,000 bytes")
            return
        }
        // The second request fails before the write has ended: its piece is given to the first one.
        h.lost(2)
        #expect(h.machine.fetching?.planner.piece(of: 1)?.end == Self.length)
        #expect(
            h.feed { $0.wrote(500_000, of: 500_100, 1, now) }
                == "close 1, 3:GET a/f 500000- if x"
        )
    }

    @Test("a connection that dies leaves its piece to the others; the first one reads on")
    func dies() {
        let h = Self.open(2)
        #expect(h.lost(2) == "close 2, release a, refused a")
        // Its bytes are in the first response anyway.
        #expect(h.body(1, 1_000_000) == "write 1000000")
        #expect(h.done(1) == "close 1, release a, commit f 1000000")
    }

    @Test(
        "a refused further connection is the host's limit, and no failure of the file",
        arguments: [403, 429, 503, 509]
    )
    func refused(status: Int) {
        let h = Self.open(2)
        #expect(h.head(2, status, framing: BodyFraming.none) == "close 2, release a, refused a")
        #expect(h.tick() == "")
        #expect(h.machine.requestCount == 1)
    }

    @Test("the first connection dies while others receive: they continue, and its piece is requested again")
    func firstDies() {
        let h = Self.open(2)
        h.part(2, 500_000..<Self.length)
        h.body(1, 100_000)
        #expect(h.lost(1) == "close 1, release a, 3:GET a/f 100000-499999 if x")
    }

    @Test("the last connection of several is refused: the run is retried, whatever the status")
    func lastRefused() {
        let h = Self.open(2)
        h.body(1, 500_001)
        h.head(2, 403, framing: BodyFraming.none)
        #expect(h.machine.requestCount == 1)
        #expect(
            h.head(3, 403, framing: BodyFraming.none) == "close 3, release a, refused a, end retry bad-response; keep"
        )
    }

    @Test("a further response of another version is dismissed; the others continue with theirs")
    func otherVersion() {
        let h = Self.open(2)
        #expect(h.part(2, 500_000..<Self.length, tag: "\"y\"") == "close 2, release a")
        #expect(h.machine.history.restarts == 0)
    }

    @Test("a further response without validators is not compared beside others")
    func besideOthers() {
        let h = Self.open(2)
        #expect(h.part(2, 500_000..<Self.length, tag: nil) == "close 2, release a")
    }

    @Test("nothing is compared beside others, even if bytes precede the range")
    func precededBesideOthers() {
        let h = Self.open(2)
        h.part(2, 500_000..<Self.length)
        h.body(2, 100_000)
        #expect(h.lost(2) == "close 2, release a, refused a, 3:GET a/f 600000- if x")
        #expect(h.part(3, 600_000..<Self.length, tag: nil) == "close 3, release a")
        #expect(!h.machine.history.ranges.wantsOverlap)
    }

    @Test("a whole response to a further range is dismissed")
    func wholeBeside() {
        let h = Self.open(2)
        // The server ignores If-Range: without it, the range may be sent.
        #expect(h.whole(2) == "close 2, release a, 3:GET a/f 500000-")
        #expect(h.whole(3) == "close 3, release a")
        #expect(h.body(1, 1_000_000) == "write 1000000")
    }

    @Test("an unusable range beside others is dismissed", arguments: [206, 416])
    func unusableBeside(status: Int) {
        let h = Self.open(2)
        #expect(h.head(2, status, framing: BodyFraming.none) == "close 2, release a")
        #expect(!h.machine.history.ranges.isRefused)
    }

    @Test("a silent neighbour's piece is taken over by the response that contains it")
    func silentNeighbour() {
        let h = Self.open(2)
        h.now += Harness.second
        #expect(h.body(1, 600_000) == "write 600000, close 2, release a, refused a" || h.machine.requestCount == 1)
        #expect(h.machine.position.bytes == 600_000)
        #expect(h.body(1, 400_000) == "write 400000")
    }

    @Test("a neighbour that has been waiting for less than half a second is not silent")
    func patientNeighbour() {
        let h = Self.open(2)
        #expect(h.body(1, 500_001) == "write 500000, close 1, release a, 3:GET a/f 750000- if x")
    }

    // MARK: Clock

    @Test("the last piece of a stalling connection is taken over once another would finish it sooner")
    func takeOver() {
        let h = Self.open(2) { $0.minimumSplit = 400_000 }
        h.part(2, 500_000..<Self.length)
        for _ in 0..<12 {
            h.body(1, 40_000)
            h.tick()
        }
        #expect(h.tick(after: 0.4) == "defer 2 takeOver")
        // The first connection's response contains the piece.
        #expect(h.step(.takeOver, 2) == "close 2, release a")
        #expect(h.body(1, 520_000) == "write 520000")
        #expect(h.machine.connections.takeovers == 1)
    }

    @Test("a comparison is not taken over: it would begin again")
    func noTakeOverOfComparison() {
        let h = Harness(["http://a/f", "http://b/f"]) {
            $0.connections = .fixed(2)
            $0.minimumSplit = Self.length
        }
        h.start()
        h.whole(1, tag: nil)
        h.partialCreated()
        for _ in 0..<12 {
            h.body(1, 40_000)
            h.tick()
        }
        h.lost(1, .truncated)
        #expect(h.part(2, (480_000 - 65_536)..<Self.length, tag: nil) == "")
        for _ in 0..<30 {
            h.body(2, 2000)
            #expect(!h.tick().contains("takeOver"))
        }
        #expect(h.body(2, 5536).hasSuffix("extent 2@480000"))
    }

    @Test("nothing is taken over while a rate limit is set")
    func throttled() {
        let h = Self.open(2) { $0.minimumSplit = 400_000 }
        h.part(2, 500_000..<Self.length)
        for _ in 0..<12 {
            h.body(1, 40_000)
            h.now += Harness.second / 5
            let now = h.now
            #expect(!h.feed { $0.ticked(now, isThrottling: true, wantsProgress: false) }.contains("takeOver"))
        }
        h.now += Harness.second
        let now = h.now
        #expect(!h.feed { $0.ticked(now, isThrottling: true, wantsProgress: false) }.contains("takeOver"))
    }

    @Test("a connection slower than a tenth of the others for five seconds is closed")
    func slow() {
        let h = Self.open(3) { $0.minimumSplit = 300_000 }
        h.part(2, 500_000..<Self.length)
        var words: [String] = []
        for _ in 0..<27 {
            h.body(1, 10_000)
            h.body(2, 500)
            words.append(h.tick())
        }
        #expect(words.last == "defer 2 timeOut too-slow" || words.contains { $0.contains("2 takeOver") })
    }

    @Test("adaptive: a connection that does not help is given up")
    func adaptive() {
        let h = Harness { $0.connections = .adaptive(most: 4) }
        h.slotLimit = 4
        h.start()
        h.whole(1)
        h.partialCreated()
        var words: [String] = []
        for index in 0..<15 {
            h.body(1, 10_000)
            if index == 7 { h.part(2, 530_000..<Self.length) }
            words.append(h.tick())
        }
        #expect(words.contains { $0.hasPrefix("2:GET a/f") })
        #expect(words.last == "defer 2 giveUp" || words.contains("defer 2 giveUp"))
        #expect(h.step(.giveUp, 2) == "close 2, release a")
        #expect(h.tick() == "")
        // The last one is never given up.
        #expect(h.step(.giveUp, 1) == "")
    }

    @Test("a surplus connection completes a short rest of its piece")
    func shortRest() {
        let h = Self.open(2)
        h.part(2, 500_000..<Self.length)
        h.body(2, 499_700)
        #expect(h.step(.giveUp, 2) == "")
        #expect(h.step(.yield, 2) == "close 2, release a")
    }

    @Test("a returned slot is granted at once to a waiting request, also to one of the same download")
    func granted() {
        let refused = Self.open(2)
        refused.head(2, 403, framing: BodyFraming.none)
        #expect(refused.grants == 1)
        let dismissed = Self.open(2)
        dismissed.part(2, 500_000..<Self.length, tag: "\"y\"")
        #expect(dismissed.grants == 1)
        let surplus = Self.open(2)
        surplus.part(2, 500_000..<Self.length)
        #expect(surplus.step(.giveUp, 2) == "close 2, release a")
        #expect(surplus.grants == 1)
        let ended = Self.open(1)
        ended.body(1, 1000)
        #expect(ended.lost(1).contains("end retry"))
        #expect(ended.grants == 0)
    }

    @Test("another transfer waits for the host: the newest of several connections is closed")
    func yields() {
        let h = Self.open(3)
        let origin = Harness.url("http://a/").origin
        #expect(h.feed { $0.yieldRequested(Harness.url("http://b/").origin) } == "")
        #expect(h.feed { $0.yieldRequested(origin) } == "defer 3 yield")
        #expect(h.step(.yield, 3) == "close 3, release a")
        h.step(.yield, 2)
        #expect(h.feed { $0.yieldRequested(origin) } == "")
    }

    @Test("a stall is a timeout; bytes, connecting and pauses put it off")
    func stall() {
        let h = Harness { $0.requests.stallTimeout = 10 * Harness.second }
        h.start()
        // Not connected: the connect timeout applies.
        #expect(h.tick(after: 60) == "")
        h.machine.connected(1, h.now)
        #expect(h.tick(after: 10) == "")
        h.whole(1)
        #expect(h.tick(after: 60) == "")
        h.partialCreated()
        h.body(1, 10)
        #expect(h.tick(after: 10) == "checkpoint")
        #expect(h.tick(after: 0.1) == "defer 1 timeOut timeout")
        let failure = TransferFailure(.timeout, "", isRetryable: true)
        #expect(h.step(.timeOut(failure), 1) == "close 1, release a, end retry timeout; keep")
    }

    @Test("a paused request does not stall")
    func paused() {
        let h = Self.open(1)
        h.machine.paused(1)
        #expect("\(h.machine.reading(1))" == "pause")
        #expect(h.tick(after: 600) == "")
        let isPart = h.machine.resumed(1, h.now)
        #expect(isPart)
        #expect(h.tick(after: 60) == "")
    }

    @Test("the total timeout ends the run and keeps the bytes; earlier runs count, a commit is not interrupted")
    func totalTimeout() {
        let h = Self.open(1) { $0.requests.totalTimeout = 10 * Harness.second }
        h.body(1, 100)
        #expect(h.tick(after: 10.1) == "release a, end failed timeout; keep")
        let done = Self.open(1) { $0.requests.totalTimeout = 10 * Harness.second }
        done.body(1, 1_000_000)
        done.done(1)
        #expect(done.tick(after: 60) == "")
    }

    @Test("written bytes are checkpointed every second and every 64 MiB")
    func checkpoints() {
        let h = Harness()
        h.start()
        h.whole(1, 200 << 20)
        h.partialCreated()
        #expect(h.tick(after: 1) == "")
        h.body(1, 100)
        #expect(h.tick(after: 0.1) == "checkpoint")
        h.body(1, 100)
        #expect(h.tick(after: 0.5) == "")
        #expect(h.tick(after: 0.5) == "checkpoint")
        var words: [String] = []
        for _ in 0..<33 { words.append(h.body(1, 2 << 20)) }
        #expect(words.filter { $0.contains("checkpoint") }.count == 1)
        #expect(words[31] == "write 2097152, checkpoint")
    }

    @Test("progress is reported when it has changed and is wanted")
    func progress() {
        let h = Self.open(1)
        h.body(1, 100)
        #expect(h.tick(progress: true) == "progress 100")
        #expect(h.tick(progress: true) == "")
        h.body(1, 100)
        #expect(h.tick(progress: false) == "")
        #expect(h.tick(progress: true) == "checkpoint" || h.machine.reported == 200)
    }

    // MARK: Failures

    @Test("a status is retried if it is listed, with what the server asks to wait")
    func statuses() {
        for (status, words) in [(503, "retry overloaded"), (404, "failed not-found"), (500, "retry bad-response")] {
            let h = Harness()
            h.start()
            let words = "close 1, release a, end \(words)"
            #expect(h.head(1, status, ["Retry-After": "7"], framing: BodyFraming.none) == words)
            guard case .retry(let failure) = h.ending?.outcome else { continue }
            #expect(failure.retryAfter == 7)
        }
    }

    @Test("a POST that may have been processed is not repeated; an unsent one is")
    func post() {
        for (isConnected, outcome) in [(true, "failed"), (false, "retry")] {
            let h = Harness {
                $0.method = "POST"
                $0.asksForWhole = false
            }
            h.start()
            if isConnected { h.machine.connected(1, h.now) }
            #expect(h.lost(1) == "close 1, release a, end \(outcome) connection-reset")
        }
    }

    @Test("a link that expires while bytes are held is a failure that says so")
    func expired() {
        let h = Harness()
        h.resume(Harness.facts(), [0..<100])
        #expect(h.head(1, 403, framing: BodyFraming.none) == "close 1, release a, end failed bad-response; keep")
        guard case .failed(let failure) = h.ending?.outcome else { return }
        #expect(failure.message.contains("expired"))
    }

    @Test("a fresh link is requested for 401, 403 and 410; it continues in the next run")
    func freshLink() {
        let h = Harness { $0.hasRefresher = true }
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.head(1, 403, framing: BodyFraming.none) == "refresh 1 403")
        #expect(h.tick(after: 600) == "")
        #expect(h.feed { $0.linkRefreshed(Harness.url("http://c/f"), 1) } == "release a, end retry bad-response; keep")
        let next = Harness(history: h.machine.history) { $0.hasRefresher = true }
        // Another resource until a response was compared: with overlap, and without If-Range.
        #expect(
            next.resume(Harness.facts(), [0..<100_000])
                == "discard f.martlet-new, release a, wait c 1"
        )
        #expect(next.slotFreed("c", 1) == "close 1, 2:GET c/f 34464- overlap 65536")
    }

    @Test("a fresh link: none, a failure, too many, and one after the end")
    func noFreshLink() {
        let none = Harness { $0.hasRefresher = true }
        none.start()
        none.head(1, 410, framing: BodyFraming.none)
        #expect(none.feed { $0.linkRefreshed(nil, 1) } == "release a, end failed not-found")
        let failed = Harness { $0.hasRefresher = true }
        failed.start()
        failed.head(1, 401, framing: BodyFraming.none)
        let failure = TransferFailure(.network, "no")
        #expect(failed.feed { $0.linkRefreshFailed(failure, 1) } == "release a, end failed network")
        #expect(failed.feed { $0.linkRefreshed(nil, 1) } == "")
        var history = DownloadHistory()
        history.sources.refreshes = 3
        let many = Harness(history: history) { $0.hasRefresher = true }
        many.start()
        #expect(many.head(1, 403, framing: BodyFraming.none) == "close 1, release a, end failed bad-response")
    }

    @Test("bytes where none are expected are a failure")
    func unexpected() {
        let h = Harness()
        h.start()
        #expect(h.body(1, 1) == "unexpected, close 1, release a, end retry bad-response")
    }

    @Test("events of unknown requests are ignored")
    func late() {
        let h = Self.open(1)
        let now = h.now
        #expect(h.head(9, 200) == "")
        #expect(h.body(9, 5) == "nowhere")
        #expect(h.done(9) == "")
        #expect(h.lost(9) == "")
        #expect(h.decide(9, .cancel) == "")
        #expect(h.step(.giveUp, 9) == "")
        #expect(h.feed { $0.wrote(5, of: 5, 9, now) } == "")
        #expect(h.feed { $0.compared(5, agree: false, 9, now) } == "")
        #expect(h.feed { $0.partDigested([:], count: 5, 9, now) } == "")
        #expect(h.feed { $0.drainingEnded(9, now) } == "")
        #expect(h.feed { $0.unexpectedBytes(9, now) } == "")
        #expect("\(h.machine.reading(9))" == "close")
        let isPart = h.machine.resumed(9, now)
        #expect(!isPart)
        #expect(h.machine.requestCount == 1)
    }

    // MARK: Mirrors

    private static let two = ["http://a/f", "http://b/f"]

    @Test("a mirror of equal tag, Last-Modified and length is used beside the first source, without If-Range")
    func mirror() {
        let h = Harness(Self.two) { $0.connections = .fixed(2) }
        h.slotLimit = 2
        h.start()
        h.whole(1, modified: Harness.modified)
        #expect(h.partialCreated() == "2:GET b/f 500000-, extent 1@0, endPause 1")
        #expect(h.part(2, 500_000..<Self.length, modified: Harness.modified) == "facts etag, extent 2@500000")
        #expect(h.machine.history.sources.proven == [1])
    }

    @Test("a mirror without proof of equality is a fallback, and continues alone after a comparison")
    func fallback() {
        let h = Harness(Self.two) { $0.connections = .fixed(2) }
        h.slotLimit = 2
        h.start()
        h.whole(1)
        h.partialCreated()
        #expect(h.part(2, 500_000..<Self.length) == "close 2, release b, 3:GET a/f 500000- if x")
        #expect(h.machine.history.sources.fallback == [1])
        h.body(1, 100_000)
        h.lost(3)
        let words = h.lost(1)
        #expect(words.hasPrefix("close 1, release a") && h.machine.history.sources.bad.contains(0))
    }

    @Test("a response that no held bytes precede is asked for again where the missing bytes begin, not as the whole")
    func noPrecedingBytes() {
        let h = Harness(Self.two) { $0.connections = .fixed(3) }
        h.slotLimit = 3
        h.resume(Harness.facts(), [0..<100_000])
        #expect(h.part(1, 100_000..<Self.length).hasSuffix("2:GET b/f 550000-, 3:GET a/f 325000-549999 if x"))
        #expect(h.lost(1) == "close 1, release a, 4:GET b/f 34464-324999 overlap 65536")
        h.part(4, 34_464..<325_000)
        h.body(4, 65_536)
        h.lost(3)
        h.body(4, 225_000)
        h.done(4)
        #expect(h.part(2, 550_000..<Self.length) == "close 2, 5:GET b/f 259464- overlap 65536")
    }

    @Test("a mirror with another file is not used any more")
    func disagrees() {
        let h = Harness(Self.two) { $0.connections = .fixed(2) }
        h.slotLimit = 2
        h.start()
        h.whole(1)
        h.partialCreated()
        #expect(h.whole(2, 5, tag: "\"y\"").hasPrefix("close 2, release b"))
        let alone = Harness(Self.two, history: Self.withoutFirst())
        alone.resume(Harness.facts(), [0..<100_000])
        #expect(alone.part(1, 34_464..<Self.length) == "")
        #expect(
            alone.body(1, 9, agree: false) == "compare 9@34464, release b, end retry bad-response; keep"
                || alone.machine.history.restarts == 1
        )
    }

    private static func withoutFirst() -> DownloadHistory {
        var history = DownloadHistory()
        history.sources.bad = [0]
        return history
    }

    @Test("the first source fails: the other is requested in the next run; no source is left: all are tried again")
    func sourceFails() {
        let h = Harness(Self.two)
        h.start()
        #expect(h.head(1, 404, framing: BodyFraming.none) == "close 1, release a, end retry not-found")
        #expect(h.machine.history.sources.bad == [0])
        let next = Harness(Self.two, history: h.machine.history)
        #expect(next.start() == "release a, wait b 1")
        #expect(next.slotFreed("b", 1) == "close 1, 2:GET b/f")
        #expect(next.head(2, 404, framing: BodyFraming.none) == "close 2, release b, end failed not-found")
        #expect(next.machine.history.sources.bad == [])
    }

    @Test("a source that does not respond within three seconds is left for another")
    func silentSource() {
        let h = Harness(Self.two)
        h.start()
        #expect(h.tick(after: 3) == "")
        #expect(h.tick(after: 0.1) == "defer 1 timeOut timeout")
    }
}
