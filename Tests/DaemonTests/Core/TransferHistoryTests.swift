// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import QueueStore
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import Daemon

@Suite("The history of a transfer's attempts", .timeLimit(.minutes(2)))
struct TransferHistoryTests {
    static let limits = TransferHistory.Limits(events: 5, text: 40, fields: 120, bytes: 3000)

    static func id(_ number: UInt64) throws -> GID { try #require(GID(rawValue: number)) }

    /// The simplest history with the same rules: every event recomputes everything.
    struct Naive {
        var limits: TransferHistory.Limits
        /// The transfers, the one with the oldest last event first.
        var transfers: [(id: GID, events: [(at: Double, text: String, fields: Int)])] = []

        mutating func record(_ id: GID, _ text: String, fields: Int?, at: Double) {
            var events = self.transfers.first { $0.id == id }?.events ?? []
            self.transfers.removeAll { $0.id == id }
            if fields != nil { events = events.map { ($0.at, $0.text, 0) } }
            events.append((at, text, fields ?? 0))
            self.transfers.append((id, Array(events.suffix(self.limits.events))))
            while self.cost > self.limits.bytes { self.transfers.removeFirst() }
        }

        var cost: Int {
            self.transfers.reduce(0) { sum, transfer in
                transfer.events.reduce(sum + TransferHistory.transferCost) {
                    $0 + TransferHistory.eventCost + $1.text.utf8.count + $1.fields
                }
            }
        }
    }

    /// An event with a text of `size` bytes, or a response with that many bytes of a value, and what is kept of it.
    static func event(_ kind: Int, size: Int) -> (TransferHistory.Event, text: String, fields: Int?) {
        let text = String(repeating: "x", count: size)
        let kept = size <= Self.limits.text ? text : String(repeating: "x", count: Self.limits.text - 6) + "…"
        switch kind {
        case 0: return (.started(url: text), kept, nil)
        case 1: return (.note(text), kept, nil)
        case 2: return (.retrying(text, attempt: 2, delay: .seconds(1), bytes: 7), kept, nil)
        case 3: return (.ended(.failed(text), bytes: 9), kept, nil)
        default:
            // Two fields of which the second one is left out if both are too long.
            let fields = HeaderFields([("A", text), ("B", text)])
            let one = 1 + size + 16
            let count = 2 * one <= Self.limits.fields ? 2 * one : one <= Self.limits.fields ? one : 0
            return (.response(status: 200, expected: nil, resumedFrom: 0, fields: fields), "", count)
        }
    }

    @Test("keeps what a naive history keeps, within its bounds", arguments: 1...20)
    func walk(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var history = TransferHistory(limits: Self.limits)
        var naive = Naive(limits: Self.limits)
        for step in 0..<2000 {
            let id = try Self.id(UInt64.random(in: 1...12, using: &random))
            if Int.random(in: 0..<50, using: &random) == 0 {
                history.forget(id)
                naive.transfers.removeAll { $0.id == id }
            } else {
                let size = Int.random(in: 0...130, using: &random)
                let (event, text, fields) = Self.event(Int.random(in: 0...4, using: &random), size: size)
                history.record(id, event, at: Double(step))
                naive.record(id, text, fields: fields, at: Double(step))
            }
            #expect(history.cost == naive.cost && history.cost <= Self.limits.bytes)
            #expect(history.count == naive.transfers.count)
            for (id, events) in naive.transfers {
                #expect(history.entries(of: id)?.entries.map(\.at) == events.map(\.at))
            }
        }
        for number in 1...12 { history.forget(try Self.id(UInt64(number))) }
        #expect(history.cost == 0 && history.count == 0)
    }

    @Test("a million transfers need no more than the bound")
    func many() throws {
        var history = TransferHistory()
        for number in 1...1_000_000 as ClosedRange<UInt64> {
            history.record(try Self.id(number), .started(url: "http://example.org/"), at: Double(number))
        }
        #expect(history.cost <= 4 << 20 && history.count > 10_000)
        #expect(history.entries(of: try Self.id(1)) == nil)
        #expect(history.entries(of: try Self.id(1_000_000)) != nil)
    }

    @Test("attempts, the last response without secrets, and a log with the words of verbose output")
    func details() throws {
        var history = TransferHistory()
        let id = try Self.id(1)
        let fields = HeaderFields([("ETag", "\"1\""), ("Set-Cookie", "secret=1"), ("LOCATION", "http://h/?secret")])
        history.record(id, .note("of an earlier transfer"), at: 5)
        history.record(id, .started(url: "http://h/a"), at: 10)
        history.record(id, .response(status: 200, expected: 9, resumedFrom: 0, fields: fields), at: 11)
        history.record(id, .retrying("the peer reset", attempt: 2, delay: .seconds(4), bytes: 3), at: 12)
        history.record(id, .started(url: "http://h/a"), at: 16)
        history.record(id, .response(status: 206, expected: 9, resumedFrom: 3, fields: fields), at: 17)
        history.record(id, .ended(.failed("status 500"), bytes: 4), at: 18)
        let details = try #require(history.details(of: id, since: 6))
        #expect(details.started == 10)
        var first = TransferDetails.Attempt(started: 10, url: "http://h/a")
        (first.ended, first.status, first.resumedFrom, first.bytes) = (12, 200, 0, 3)
        (first.outcome, first.message, first.nextTry) = ("retrying", "the peer reset", 16)
        var second = TransferDetails.Attempt(started: 16, url: "http://h/a")
        (second.ended, second.status, second.resumedFrom, second.bytes) = (18, 206, 3, 4)
        (second.outcome, second.message) = ("failed", "status 500")
        #expect(details.attempts == [first, second])
        #expect(details.response?.fields.map(\.value) == ["\"1\"", nil, nil])
        #expect(details.log.count == 6 && details.log[2].text == "retrying: the peer reset; attempt 2 in 4s")
        #expect(!details.json.text.contains("secret"))
        #expect(TransferDetails(json: details.json) == details)
        #expect(history.attemptsToStore(of: id, since: 6).map(\.message) == ["the peer reset", ""])
    }

    @Test("a failed transfer has its attempts and the response, and after a restart its last attempts")
    func core() async throws {
        let server = try await ScriptedServer.start { _ in .response(500, [("X-Note", "<b>")]) }
        let directory = try TemporaryDirectory()
        var harness = try await CoreHarness(directory)
        let id = try await harness.add(server.text("gone"), ["max-tries": "2", "retry-wait": "0"])
        try await harness.events.wait("failed \(id)")
        let details = try await harness.core.details(id)
        #expect(details.attempts.map(\.status) == [500, 500])
        #expect(details.attempts.map(\.outcome) == ["retrying", "failed"])
        #expect(details.response?.status == 500)
        #expect(details.response?.fields.contains(TransferDetails.Field(name: "X-Note", value: "<b>")) == true)
        #expect(details.log.first?.text == "started: from \(server.text("gone"))")
        await harness.stop()
        harness = try await CoreHarness(directory)
        let kept = try await harness.core.details(id)
        #expect(kept.attempts.map(\.outcome) == ["retrying", "failed"] && kept.log.isEmpty && kept.response == nil)
        #expect(kept.attempts.last?.message == (try await harness.core.record(id)).failure?.message)
        await harness.stop()
    }
}
