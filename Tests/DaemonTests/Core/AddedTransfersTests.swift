// SPDX-License-Identifier: Apache-2.0
import Control
import QueueStore
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import Daemon

@Suite("Recently added transfers")
struct AddedTransfersTests {
    private func addition(_ number: UInt64, generation: Int = 0) throws -> Addition {
        let url = "http://host.example/\(number)"
        let id = try #require(GID(rawValue: number))
        return Addition(
            StoredTransfer(id: id, urls: [url], directory: "/", added: 0),
            RequestPlan(request: DownloadRequest([try HTTPURL(url)])),
            generation: generation
        )
    }

    @Test("A transfer is taken once, and not kept with a plan of earlier settings")
    func once() throws {
        var added = AddedTransfers()
        let (first, second) = (try self.addition(1), try self.addition(2))
        added.keep(first)
        added.keep(second)
        added.keep(Addition(try self.addition(3).transfer, nil, generation: 0))
        #expect(added.ids == [first.transfer.id, second.transfer.id])
        #expect(added[first.transfer.id] == first.transfer)
        #expect(added.take(first.transfer.id)?.transfer == first.transfer)
        #expect(added.take(first.transfer.id) == nil && added[first.transfer.id] == nil)
        added.clear()
        #expect(added.ids.isEmpty)
        added.keep(first)
        #expect(added.ids.isEmpty)
        added.keep(try self.addition(1, generation: 1))
        #expect(added.ids == [first.transfer.id])
    }

    @Test("The number of kept transfers is limited")
    func limit() throws {
        var added = AddedTransfers()
        for number in 1...UInt64(AddedTransfers.limit) + 5 {
            added.keep(try self.addition(number))
        }
        #expect(added.ids.count == AddedTransfers.limit && !added.hasRoom)
        added.take(try #require(GID(rawValue: 1)))
        #expect(added.hasRoom)
    }

    @Test("A transfer that is changed before its turn runs with the change")
    func changed() async throws {
        let server = try await ScriptedServer.start { .response(200, text: $0.target) }
        let harness = try await CoreHarness()
        let today = Int(CoreClock().now() / 86_400 + 4) % 7
        try await harness.core.setSchedule(Schedule(start: 0, end: 0, days: [(today + 3) % 7]))
        let id = try await harness.add(server.text("first"))
        let second = try await harness.add(server.text("second"))
        let third = try await harness.add(server.text("third"))
        try await harness.core.changeOptions(id, TransferOptions(["out": ["renamed"]]))
        try await harness.core.replaceURLs(second, with: [server.text("other")])
        try await harness.core.perform(.setPriority(3), on: .ids([third]))
        try await harness.core.setSchedule(nil)
        for id in [id, second, third] { try await harness.events.wait("finished \(id)") }
        #expect(try await harness.core.record(id).path == harness.path("renamed"))
        #expect(try await harness.core.record(second).path == harness.path("other"))
        #expect(harness.events.ids("finished").first == "\(third)")
        await harness.stop()
    }

    @Test("A transfer that was removed before its turn and added again runs as it was added again")
    func again() async throws {
        let server = try await ScriptedServer.start { .response(200, text: $0.target) }
        let harness = try await CoreHarness()
        let today = Int(CoreClock().now() / 86_400 + 4) % 7
        try await harness.core.setSchedule(Schedule(start: 0, end: 0, days: [(today + 3) % 7]))
        let id = try await harness.add(server.text("first"))
        try await harness.core.perform(.remove(deletesPartial: true), on: .ids([id]))
        try await harness.core.perform(.forget, on: .ids([id]))
        _ = try await harness.core.add([NewTransfer(id: id, urls: [server.text("second")])], at: nil)
        try await harness.core.setSchedule(nil)
        try await harness.events.wait("finished \(id)")
        #expect(try await harness.core.record(id).path == harness.path("second"))
        await harness.stop()
    }
}
