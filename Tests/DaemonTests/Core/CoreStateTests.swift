// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("States of started transfers", .timeLimit(.minutes(2)))
struct CoreStateTests {
    private static func server(_ interruption: ServedFile.Interruption) async throws -> ScriptedServer {
        var file = ServedFile(length: CoreRunningTests.length)
        file.interruption = interruption
        let served = file
        return try await ScriptedServer.start { .file(served, $0) }
    }

    @Test(
        "A transfer in its own retry says why and until when, is listed and counted so, and is tried at once on request",
        arguments: [TransferAction.resume, .retry]
    )
    func retrying(_ action: TransferAction) async throws {
        let isOpen = Mutex(false)
        let server = try await ScriptedServer.start { _ in
            isOpen.withLock { $0 }
                ? .response(200, text: "x") : .response(503, [("Retry-After", "600")], text: "later")
        }
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"))
        try await harness.events.wait("retrying \(id)")
        let record = try await harness.core.record(id)
        let retry = try #require(record.retry)
        #expect(record.state == .retrying && record.hold == nil && record.rate == 0)
        #expect(retry.code == TransferFailure.Code.overloaded.rawValue && retry.message.contains("503"))
        #expect(retry.attempt == 1)
        #expect((1...600).contains(retry.nextTry - record.added))
        let counts = harness.core.counts
        #expect(counts.retrying == 1 && counts.active == 0 && counts.held == 0 && counts.waiting == 0)
        for (states, count) in [([.retrying], 1), ([.active], 0), ([.active, .held], 0), ([.waiting], 0)]
            as [(Set<TransferRecord.State>, Int)]
        {
            #expect(try await harness.core.list(ListQuery(states: states)).count == count, "\(states)")
            var query = ListQuery(states: states)
            query.words = ["file"]
            #expect(try await harness.core.list(query).count == count, "\(states)")
            query = ListQuery(states: states)
            query.after = 0
            #expect(try await harness.core.list(query).count == count, "\(states)")
        }
        var query = ListQuery()
        query.words = ["file"]
        #expect(try await harness.core.counts(of: query).retrying == 1)
        isOpen.withLock { $0 = true }
        #expect(try await harness.core.perform(action, on: .ids([id])) == 1)
        try await harness.events.wait("finished \(id)")
        #expect(harness.core.counts.retrying == 0)
        await harness.stop()
    }

    @Test("A held transfer is reported, listed and counted as held, and as active once it continues")
    func held() async throws {
        let isOpen = Mutex(false)
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            isOpen.withLock { $0 }
                ? Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
                : .response(502, text: "bad gateway")
        }
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "3" }
        let ids = try await harness.core.add((0..<3).map { NewTransfer(urls: [server.text("\($0)")]) }, at: nil)
        try await harness.events.wait("held ")
        let held = try await harness.core.list(ListQuery(states: [.held]))
        #expect(!held.isEmpty)
        for record in held {
            #expect(record.hold?.reason == "errors" && record.hold?.code != nil && record.retry == nil)
        }
        isOpen.withLock { $0 = true }
        // One of them probes the host, and the others wait for its response.
        try await harness.events.wait("active ")
        gate.open()
        for id in ids { try await harness.events.wait("finished \(id)") }
        await harness.stop()
    }

    @Test("A schedule that stops a running transfer reports it, and its log says so")
    func stopped() async throws {
        let server = try await Self.server(.stallAfter(1_500_000))
        let harness = try await CoreHarness { $0.clock.local = { (0, 0) } }
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: id)
        harness.events.clear()
        try await harness.core.setSchedule(Schedule(start: 60, end: 120))
        try await harness.events.wait("waiting \(id)")
        #expect(harness.events.entries.contains { $0.hasPrefix("all waiting") })
        let record = try await harness.core.record(id)
        #expect(record.state == .waiting && record.waitingFor == .schedule && record.rate == 0)
        #expect(record.bytes >= 1_000_000)
        let log = try await harness.core.details(id).log
        #expect(log.contains { $0.text.contains("waits for the hours of the schedule") }, "\(log)")
        await harness.stop()
    }

    @Test("A failed transfer counts the bytes that are kept")
    func kept() async throws {
        let server = try await Self.server(.closeAfter(1_500_000))
        let harness = try await CoreHarness()
        let id = try await harness.add(server.text("file"), ["split": "1", "max-tries": "1"])
        try await harness.events.wait("failed \(id)")
        let record = try await harness.core.record(id)
        #expect(record.state == .failed && record.bytes == 1_500_000 && record.total == CoreRunningTests.length)
        await harness.stop()
    }

    @Test("A rate is not older than two seconds")
    func rates() async throws {
        let server = try await Self.server(.stallAfter(1_500_000))
        let skipped = Mutex<Int64>(0)
        let harness = try await CoreHarness { configuration in
            let uptime = configuration.clock.uptime
            configuration.clock.uptime = { uptime() + skipped.withLock { $0 } }
        }
        let id = try await harness.add(server.text("file"), ["split": "1"])
        try await harness.events.wait(for: 1_500_000, of: id)
        skipped.withLock { $0 = 2_000_000_000 }
        let record = try await harness.core.record(id)
        #expect(record.state == .active && record.rate == 0 && record.bytes == 1_500_000)
        await harness.core.publish()
        #expect(harness.core.counts.rate == 0 && harness.core.counts.active == 1)
        await harness.stop()
    }
}
