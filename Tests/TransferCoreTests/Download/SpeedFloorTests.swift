// SPDX-License-Identifier: Apache-2.0
import TransferTesting
import Testing

@testable import TransferCore

@Suite("The lowest rate of a transfer")
struct SpeedFloorTests {
    typealias Harness = MachineHarness
    private static let floor = SpeedFloor(rate: 1000, window: 10 * MachineHarness.second)

    @Test("A watch judges windows that follow each other, as a naive list of samples does")
    func watch() throws {
        var random = SeededGenerator(seed: 7)
        // A quarter of a byte in a nanosecond.
        let floor = try #require(SpeedFloor(rate: 250_000_000, window: 10_000))
        var slow = 0
        for _ in 0..<500 {
            var watch = SpeedWatch()
            var samples: [(time: Int64, bytes: Int64)] = []
            var (time, bytes): (Int64, Int64) = (0, 0)
            for _ in 0..<50 {
                time += Int64.random(in: 1...4_000, using: &random)
                bytes += Int64.random(in: 0...1_000, using: &random)
                if Int.random(in: 0..<12, using: &random) == 0 {
                    watch.restart()
                    samples = []
                }
                let found = watch.isTooSlow(bytes, at: time, floor: floor)
                samples.append((time, bytes))
                var expected = false
                if let first = samples.first, time - first.time >= 10_000 {
                    expected = 4 * (bytes - first.bytes) < time - first.time
                    samples = [(time, bytes)]
                }
                #expect(found == expected)
                slow += found ? 1 : 0
            }
        }
        #expect(slow > 100)
        #expect(SpeedFloor(rate: 0, window: 1) == nil && SpeedFloor(rate: 1, window: 0) == nil)
    }

    /// Sends `bytes` each second, until the run ends or `seconds` have passed.
    private func drip(_ h: Harness, _ number: Int, _ bytes: Int, _ seconds: Int, pausing: Bool = false) -> Int? {
        for second in 1...seconds {
            h.body(number, bytes)
            if pausing {
                h.machine.paused(number)
                _ = h.machine.resumed(number, h.now)
            }
            h.tick(after: 1, floor: Self.floor)
            if h.ending != nil { return second }
        }
        return nil
    }

    private func open(_ length: Int64 = Harness.length, ranges: String = "bytes") -> Harness {
        let h = Harness()
        h.start()
        h.head(1, 200, ["Accept-Ranges": ranges, "Content-Length": "\(length)", "ETag": "\"x\""])
        if length > 262_144 { h.partialCreated() } else { h.smallCreated() }
        return h
    }

    @Test("A slower download fails after at most two windows, and keeps what it has")
    func slow() throws {
        for length in [Harness.length, 100_000] {
            let h = self.open(length)
            let end = try #require(self.drip(h, 1, 900, 60))
            #expect((10...20).contains(end))
            let ending = try #require(h.ending)
            guard case .failed(let failure) = ending.outcome else {
                Issue.record("\(ending.outcome)")
                continue
            }
            #expect(failure.code == .tooSlow && failure.setting == .lowestRate && !failure.isRetryable)
            #expect(failure.message == "slower than 0.98 KiB/s for 10s")
            switch ending.file {
            case .keep: #expect(length == Harness.length)
            // Less than 16 KiB of a small file are not worth keeping.
            case .discard: #expect(length == 100_000)
            default: Issue.record("\(ending.file)")
            }
        }
    }

    @Test("A faster one, one without a floor, and one that waits for us continues")
    func others() {
        #expect(self.drip(self.open(), 1, 1001, 60) == nil)
        #expect(self.drip(self.open(), 1, 1, 60, pausing: true) == nil)
        let h = self.open()
        for _ in 0..<100 { h.tick(after: 0.5) }
        #expect(h.ending == nil)
    }

    @Test("One that the server would not continue is never ended")
    func noRanges() {
        for length in [Harness.length, 100_000] {
            #expect(self.drip(self.open(length, ranges: "none"), 1, 1, 60) == nil)
        }
        let stream = Harness { $0.destination = .stream }
        stream.begin()
        stream.whole(1)
        #expect(self.drip(stream, 1, 1, 60) == nil)
        let post = Harness {
            $0.method = "POST"
            $0.asksForWhole = false
        }
        post.start()
        post.whole(1)
        post.partialCreated()
        #expect(self.drip(post, 1, 1, 60) == nil)
    }

    @Test("The time before the response counts for the stall timeout only")
    func head() {
        let h = Harness { $0.requests.stallTimeout = 0 }
        h.start()
        for _ in 0..<60 { h.tick(after: 1, floor: Self.floor) }
        #expect(h.ending == nil)
    }

    @Test("Another mirror is tried first")
    func mirrors() throws {
        let h = Harness(["http://a/f", "http://b/f"])
        h.start()
        h.whole(1)
        h.partialCreated()
        var words = ""
        for _ in 0..<20 where !words.contains("defer 1") {
            h.body(1, 1)
            words = h.tick(after: 1, floor: Self.floor)
        }
        #expect(words.contains("defer 1 timeOut"), "\(words)")
        let failure = TransferFailure(.tooSlow, "", isRetryable: true)
        h.slotLimit = 2
        let next = h.step(.timeOut(failure), 1)
        #expect(h.ending == nil, "\(next)")
    }
}
