// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import MartletSystemTransport

@Suite("The ledger of a background session")
struct LedgerTests {
    static func key(_ path: String, range: String? = nil, ifRange: String? = nil, token: String? = nil) -> BackgroundKey
    {
        var fields: HeaderFields = ["User-Agent": "any"]
        fields["Range"] = range
        fields["If-Range"] = ifRange
        fields["Authorization"] = token
        guard let url = try? HTTPURL("https://example.org/\(path)") else { preconditionFailure("the URL is valid") }
        return BackgroundKey(ExchangeRequest(url: url, fields: fields, connectTimeout: 1))
    }

    private static let whole = ShelvedFacts(status: 200, length: 100, strongTag: "\"1\"", time: 1000)
    private static let lost = BackgroundFailure(TransportError(.broken, "lost"))

    @Test("a key is read from a task's description, and differs for what selects the response") func keys() {
        let key = Self.key("a", range: "bytes=5-", ifRange: "\"1\"")
        let task = TaskDescription(key, resumedTag: "\"1\"")
        #expect(
            TaskDescription(text: task.text) == task && TaskDescription(text: TaskDescription(key).text)?.key == key
        )
        #expect(TaskDescription(text: "another program's") == nil && TaskDescription(text: nil) == nil)
        let others = [
            Self.key("b", range: "bytes=5-", ifRange: "\"1\""), Self.key("a"), Self.key("a", range: "bytes=5-"),
            Self.key("a", range: "bytes=5-", ifRange: "\"1\"", token: "secret"),
        ]
        #expect(!others.contains(key) && !others.contains { TaskDescription($0).text.contains("secret") })
        #expect(key.bytes(of: 100) == 5..<100 && key.bytes(of: 5) == nil)
        #expect(Self.key("a", range: "bytes=5-9").bytes(of: 8) == 5..<8)
        for range in ["bytes=-5", "bytes=1-2,4-5", "bytes=9-5", "items=1-", "bytes=a-", "bytes=99999999999999999999-"] {
            #expect(Self.key("a", range: range).bytes(of: 100) == nil)
        }
    }

    @Test("only plain requests are given to the system, credentials only if allowed") func allowed() throws {
        var request = ExchangeRequest(url: try HTTPURL("https://example.org/"), fields: [:], connectTimeout: 1)
        #expect(BackgroundKey.allows(request, withCredentials: false))
        request.fields["Cookie"] = "a=b"
        #expect(!BackgroundKey.allows(request, withCredentials: false))
        #expect(BackgroundKey.allows(request, withCredentials: true))
        request.fields["Accept-Encoding"] = "gzip"
        #expect(!BackgroundKey.allows(request, withCredentials: true))
        request = ExchangeRequest(method: "POST", url: request.url, fields: [:], body: [1], connectTimeout: 1)
        #expect(!BackgroundKey.allows(request, withCredentials: true))
    }

    @Test("nothing is requested before the system has listed its tasks, and then a task is attached to")
    func attaching() {
        var ledger = BackgroundLedger(unclaimedLimit: 4)
        #expect(ledger.requested(1, Self.key("a")) == [])
        #expect(ledger.requested(2, Self.key("b")) == [])
        #expect(ledger.restored([(7, Self.key("a"))]) == [.begin(2, Self.key("b"), resuming: nil)])
        ledger.began(2, Self.key("b"), 8)
        #expect(ledger.finished(7, Self.key("a"), 1, Self.whole) == [.deliver(1, to: 1)])
        #expect(ledger.consumed(1) == [.discard(1)])
        // Two exchanges for the same are two tasks.
        #expect(ledger.requested(3, Self.key("b")) == [.begin(3, Self.key("b"), resuming: nil)])
    }

    @Test("a response that arrived without the program waits for its request, also for the rest of it") func unclaimed()
    {
        var ledger = BackgroundLedger(stored: [3: (Self.key("a"), Self.whole)], unclaimedLimit: 4)
        #expect(ledger.restored([]) == [])
        let rest = Self.key("a", range: "bytes=40-", ifRange: "\"1\"")
        #expect(ledger.requested(1, rest) == [.deliver(3, to: 1)])
        #expect(ledger.cancelled(1) == [])
        // Another version, or other credentials.
        let others = [
            Self.key("a", range: "bytes=40-", ifRange: "\"2\""), Self.key("a", range: "bytes=40-"),
            Self.key("a", token: "secret"),
        ]
        for (index, other) in others.enumerated() {
            #expect(ledger.requested(10 + index, other) == [.begin(10 + index, other, resuming: nil)])
        }
        #expect(ledger.requested(2, Self.key("a")) == [.deliver(3, to: 2)])
        #expect(ledger.consumed(2) == [.discard(3)])
        #expect(ledger.requested(4, Self.key("a")) == [.begin(4, Self.key("a"), resuming: nil)])
    }

    @Test("a task that ended before the list is not waited for") func endedEarly() {
        var ledger = BackgroundLedger(unclaimedLimit: 4)
        #expect(ledger.requested(1, Self.key("a")) == [])
        #expect(ledger.failed(7, Self.key("a"), Self.lost, resume: 2) == [])
        #expect(ledger.restored([(7, Self.key("a"))]) == [.begin(1, Self.key("a"), resuming: 2)])
    }

    @Test("a cancelled task leaves what it can be resumed with, also for a request that comes before it has ended")
    func resuming() {
        var ledger = BackgroundLedger(unclaimedLimit: 4)
        _ = ledger.restored([])
        _ = ledger.requested(1, Self.key("a"))
        ledger.began(1, Self.key("a"), 7)
        #expect(ledger.cancelled(1) == [.cancel(7)])
        #expect(ledger.requested(2, Self.key("a")) == [])
        #expect(ledger.failed(7, Self.key("a"), Self.lost, resume: nil) == [])
        #expect(ledger.wasCancelled(7, resume: 5) == [.begin(2, Self.key("a"), resuming: 5)])
        ledger.began(2, Self.key("a"), 8)
        #expect(ledger.failed(8, Self.key("a"), Self.lost, resume: 6) == [.fail(2, Self.lost)])
        #expect(ledger.requested(3, Self.key("a")) == [.begin(3, Self.key("a"), resuming: 6)])
        // A transport that ends cancels nothing.
        ledger.began(3, Self.key("a"), 9)
        #expect(ledger.abandoned(3) == [])
        #expect(ledger.requested(4, Self.key("a")) == [])
        #expect(ledger.finished(9, Self.key("a"), 10, Self.whole) == [.deliver(10, to: 4)])
    }

    @Test("a response that the system reports after its list serves the request for which a task was made") func late()
    {
        var ledger = BackgroundLedger(unclaimedLimit: 4)
        #expect(ledger.requested(1, Self.key("a")) == [])
        #expect(ledger.restored([]) == [.begin(1, Self.key("a"), resuming: nil)])
        ledger.began(1, Self.key("a"), 9)
        #expect(ledger.finished(7, Self.key("a"), 3, Self.whole) == [.deliver(3, to: 1), .cancel(9)])
        #expect(ledger.wasCancelled(9, resume: nil) == [] && ledger.consumed(1) == [.discard(3)])
    }

    @Test("a failure is not kept for a later request, and a success for some days only") func unkept() {
        let refused = ShelvedFacts(status: 503, length: 9, strongTag: nil, time: 1000)
        var ledger = BackgroundLedger(
            stored: [3: (Self.key("a"), refused), 4: (Self.key("b"), Self.whole)],
            unclaimedLimit: 4
        )
        #expect(ledger.restored([(7, Self.key("c"))]) == [.discard(3)])
        #expect(ledger.finished(7, Self.key("c"), 5, refused) == [.discard(5)])
        #expect(ledger.requested(1, Self.key("a")) == [.begin(1, Self.key("a"), resuming: nil)])
        ledger.began(1, Self.key("a"), 8)
        #expect(ledger.finished(8, Self.key("a"), 6, refused) == [.deliver(6, to: 1)])
        #expect(ledger.expired(before: 1000) == [] && ledger.expired(before: 1001) == [.discard(4)])
        #expect(ledger.consumed(1) == [.discard(6)])
    }

    @Test("the system's handlers are called when nothing is being delivered") func waking() {
        var ledger = BackgroundLedger(unclaimedLimit: 4)
        _ = ledger.restored([(7, Self.key("a"))])
        #expect(ledger.eventsReported(hasHandlers: false) == [])
        #expect(ledger.eventsReported(hasHandlers: true) == [.callWakeHandlers])
        _ = ledger.requested(1, Self.key("a"))
        _ = ledger.finished(7, Self.key("a"), 1, Self.whole)
        #expect(ledger.eventsReported(hasHandlers: true) == [])
        #expect(ledger.consumed(1) == [.discard(1), .callWakeHandlers])
        #expect(ledger.eventsReported(hasHandlers: true) == [.callWakeHandlers])
    }

    @Test("of what nothing requests, the oldest is discarded beyond the limit") func limit() {
        var ledger = BackgroundLedger(
            stored: [1: (Self.key("a"), Self.whole), 2: (Self.key("b"), Self.whole), 3: (Self.key("c"), Self.whole)],
            resumable: [4: Self.key("d"), 5: Self.key("e")],
            unclaimedLimit: 1
        )
        #expect(ledger.requested(1, Self.key("a")) == [])
        #expect(ledger.restored([]) == [.deliver(1, to: 1), .discard(2), .discard(4)])
    }
}
