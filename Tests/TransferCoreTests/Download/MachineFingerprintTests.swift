// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("DownloadMachine: the fingerprint of its state")
struct MachineFingerprintTests {
    private func names(_ value: Any) -> [String] { Mirror(reflecting: value).children.compactMap(\.label) }

    @Test("all values are known: a new one has to be added to combine(into:), or to what it leaves out")
    func isComplete() {
        let url = MachineHarness.url("http://a/f")
        let request = FetchRequest(number: 1, lane: 0, source: 0, flow: RequestFlow(url), purpose: .fetch, now: 0)
        let times = ["startedAt", "lastActivity", "headTime", "window", "bodySince"]
        #expect(
            self.names(request).filter { !times.contains($0) } == [
                "number", "lane", "source", "flow", "origin", "purpose", "holdsSlot", "isAdditional", "isPinned",
                "range", "overlap", "sentIfRange", "isEndProbe", "isConditional", "hasCredentials", "isConnected",
                "isPaused", "stage", "basis", "facts", "compared", "repeated", "responseEnd", "isPart", "partExpected",
                "partLength", "hasExtent", "bytes",
            ]
        )
        let fetching = Fetching(.partial, SegmentPlanner(length: 1), facts: nil, now: 0)
        #expect(
            self.names(fetching) == [
                "held", "planner", "beyond", "facts", "recorded", "digests", "doesRanges", "verifiedLength",
                "requestsWhole",
                "owesRestart", "probesEnd", "isForeign", "sinceCheckpoint", "lastCheckpoint",
            ]
        )
        #expect(self.names(fetching.planner) == ["length", "pieces", "completed"])
        #expect(
            self.names(ConnectionPlan(.fixed(1))) == [
                "advisor", "fixed", "mostOfMirrors", "hasTaken", "bestRate", "bestHeadTime", "takeovers", "dismissals",
            ]
        )
        let history = DownloadHistory()
        #expect(
            self.names(history) == [
                "ranges", "sources", "restarts", "takesSingleResponse", "target", "name", "baseName", "diversion",
                "isResponseDecided", "mayBeProcessed", "stream",
            ]
        )
        #expect(
            self.names(history.ranges) == [
                "isProven", "isUnasked", "isRefused", "omitsIfRange", "wantsOverlap", "isRequired", "malformed",
            ]
        )
        #expect(self.names(history.sources) == ["bad", "proven", "fallback", "freshLinks", "refreshes"])
        #expect(self.names(history.stream) == ["count", "facts", "serverDigests"])
    }

    @Test("a copy is in the same state, and changes alone")
    func copy() {
        let h = MachineHarness()
        h.start()
        h.whole(1)
        h.partialCreated()
        h.body(1, 500_000)
        var copy = DownloadMachine(copying: h.machine)
        #expect(Self.hash(copy) == Self.hash(h.machine))
        _ = copy.requestFailed(TransferFailure(TransportError(.reset, "lost")), 1, h.now)
        #expect(copy.isEnded && !h.machine.isEnded)
        #expect(Self.hash(copy) != Self.hash(h.machine))
    }

    private static func hash(_ machine: borrowing DownloadMachine) -> Int {
        var hasher = Hasher()
        machine.combine(into: &hasher)
        return hasher.finalize()
    }
}
