// SPDX-License-Identifier: Apache-2.0
import Control
import Martlet
import Synchronization
import Testing
import TransferTesting

@testable import Daemon

@Suite("Outages in the queue", .timeLimit(.minutes(2)))
struct CoreOutageTests {
    private static func add(_ count: Int, to harness: CoreHarness, _ url: (String) -> String) async throws -> [GID] {
        try await harness.core.add((0..<count).map { NewTransfer(urls: [url("\($0)")]) }, at: nil)
    }

    @Test("A host that refuses for a while fails no transfer; waiting transfers show the reason")
    func back() async throws {
        let port = try RefusingPort(isShared: true)
        let harness = try await CoreHarness { configuration in
            configuration.options[.maxConcurrentDownloads] = "5"
            configuration.options[.maxDownloadResult] = "10"
        }
        let ids = try await Self.add(50, to: harness, port.text)
        try await harness.events.wait(forLine: "127.0.0.1:\(port.port) is held")
        for id in [ids[0], ids[49]] {
            let record = try await harness.core.record(id)
            let hold = try #require(record.hold)
            #expect(record.waitingFor == .host && hold.reason == "unreachable" && hold.cause == "connection refused")
            #expect(hold.host == "127.0.0.1:\(port.port)")
        }
        let server = try await ScriptedServer.start(port: port.port) { _ in .response(200, text: "x") }
        for id in ids { try await harness.events.wait("finished \(id)") }
        #expect(harness.events.ids("failed").isEmpty)
        #expect(Set(server.requests.map(\.target)).count == 50)
        await harness.stop()
    }

    @Test("An outage beyond outage-timeout fails all with its remedy; retrying all finds all")
    func away() async throws {
        let port = try RefusingPort(isShared: true)
        let harness = try await CoreHarness { configuration in
            configuration.options[.outageTimeout] = "1"
            configuration.options[.maxDownloadResult] = "1"
        }
        // Those beyond a few are tried two at a time, with the host's pauses between.
        let ids = try await Self.add(3, to: harness, port.text)
        for id in ids { try await harness.events.wait("failed \(id)") }
        for id in ids {
            // Failed ones are never trimmed.
            let failure = try #require(try await harness.core.record(id).failure)
            #expect(failure.message.contains("127.0.0.1:\(port.port)"), "\(failure.message)")
            #expect(failure.remedy.contains("'outage-timeout'"), "\(failure.remedy)")
        }
        #expect(harness.core.counts.failed == 3)
        let server = try await ScriptedServer.start(port: port.port) { _ in .response(200, text: "x") }
        harness.events.clear()
        #expect(try await harness.core.perform(.retry, on: .all(session: nil)) == 3)
        for id in ids { try await harness.events.wait("finished \(id)") }
        #expect(harness.events.ids("failed").isEmpty && server.requests.count == 3)
        await harness.stop()
    }

    @Test("The time for which outages are waited out is changed for all, also for those that wait")
    func changed() async throws {
        let port = try RefusingPort()
        let harness = try await CoreHarness()
        let ids = try await Self.add(3, to: harness, port.text)
        try await harness.events.wait(forLine: "127.0.0.1:\(port.port) is held")
        try await harness.core.changeGlobalOptions(TransferOptions(["outage-timeout": ["0.1"]]))
        for id in ids.dropFirst() { try await harness.events.wait("failed \(id)") }
        #expect(
            await controlCode {
                try await harness.core.changeGlobalOptions(TransferOptions(["outage-timeout": ["soon"]]))
            } == .badParameter
        )
        await harness.stop()
    }

    @Test(
        "Resuming or retrying one that waits for a held host tries at once",
        arguments: [TransferAction.resume, .retry]
    )
    func released(_ action: TransferAction) async throws {
        let isOpen = Mutex(false)
        let server = try await ScriptedServer.start { _ in
            isOpen.withLock { $0 }
                ? .response(200, text: "x") : .response(503, [("Retry-After", "3600")], text: "later")
        }
        // One at a time: no other request is under way when the second one holds the host.
        let harness = try await CoreHarness()
        let ids = try await Self.add(10, to: harness, server.text)
        try await harness.events.wait(forLine: "127.0.0.1:\(server.port) is held")
        #expect(try await harness.core.record(ids[9]).hold?.reason == "throttled")
        isOpen.withLock { $0 = true }
        // The two that were asked to wait have waits of their own.
        #expect(try await harness.core.perform(action, on: .ids(ids)) == 10)
        for id in ids { try await harness.events.wait("finished \(id)") }
        #expect(await controlCode { try await harness.core.perform(action, on: .ids([ids[9]])) } == .wrongState)
        await harness.stop()
    }

    @Test("Transfers of a host that responds with errors only are held, not active, and all finish later")
    func errors() async throws {
        let isOpen = Mutex(false)
        let server = try await ScriptedServer.start { _ in
            isOpen.withLock { $0 } ? .response(200, text: "x") : .response(502, text: "bad gateway")
        }
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "3" }
        let ids = try await Self.add(50, to: harness, server.text)
        try await harness.events.wait(forLine: "127.0.0.1:\(server.port) is held")
        let record = try await harness.core.record(ids[49])
        #expect(record.hold?.reason == "errors" && record.hold?.nextTry != 0)
        // One of them may be probing.
        let counts = harness.core.counts
        #expect(counts.held >= 2 && counts.active <= 1 && counts.waiting <= 47 && counts.failed == 0)
        isOpen.withLock { $0 = true }
        // The next probe ends the hold.
        for id in ids { try await harness.events.wait("finished \(id)") }
        #expect(harness.core.counts.held == 0 && harness.events.ids("failed").isEmpty)
        await harness.stop()
    }
}
