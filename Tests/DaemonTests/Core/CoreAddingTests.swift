// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

/// Adding several transfers at once.
@Suite(.timeLimit(.minutes(1)))
struct CoreAddingTests {
    @Test("Ten thousand addUri in one multicall are one transaction, in order, and errors stay single")
    func oneTransaction() async throws {
        let harness = try await CoreHarness()
        let dispatcher = RPCDispatcher(
            service: harness.core,
            configuration: ServerConfiguration(directory: harness.directory.path("files")),
            access: nil,
            metrics: ServerMetrics()
        )
        func gid(_ number: Int) -> JSON { .string(GID(rawValue: UInt64(number))?.description ?? "") }
        let calls: [JSON] = (1...10_000)
            .map { number in
                let options: JSON = ["gid": gid(number == 5_000 ? 1 : number), "pause": "true"]
                let url: JSON = number == 7_000 ? "nope" : .string("http://localhost/\(number)")
                return ["methodName": "aria2.addUri", "params": [[url], options]]
            }
        let message: JSON = ["id": 1, "method": "system.multicall", "params": [.array(calls)]]
        await harness.store.finishChores()
        let before = harness.store.transactions
        let answer = await dispatcher.answer(RPCEnvelope(message), from: RPCBench.local)
        #expect(harness.store.transactions - before == 1)
        let results = try #require(try JSON(parsing: answer.bytes)["result"]?.array)
        #expect(results.count == 10_000)
        for (index, result) in results.enumerated() where result != [gid(index + 1)] {
            #expect(index == 4_999 || index == 6_999, "\(index): \(result.text)")
        }
        #expect(results[4_999]["message"] == "the transfer 0000000000000001 already exists")
        #expect(results[6_999]["message"]?.string?.hasPrefix("No URI to download.") == true)
        #expect(harness.core.counts.paused == 9_998)
        let last = try await harness.core.list(ListQuery(offset: -1, limit: 1))
        #expect(last.first?.urls == ["http://localhost/10000"])
        await harness.stop()
    }

    @Test("Places are kept among transfers that are added at once")
    func positions() async throws {
        let harness = try await CoreHarness()
        func entry(_ name: String, _ position: Int?) -> PlacedTransfer {
            PlacedTransfer(NewTransfer(urls: ["http://localhost/\(name)"], isPaused: true), at: position)
        }
        let results = await harness.core.addEach([
            entry("c", nil), entry("d", nil), entry("a", 0), entry("b", 1), entry("x", -1), entry("e", nil),
        ])
        #expect(results.compactMap { try? $0.get() }.count == 5)
        let urls = try await harness.core.list(ListQuery()).compactMap(\.urls.first)
        #expect(urls == ["a", "b", "c", "d", "e"].map { "http://localhost/\($0)" })
        await harness.stop()
    }

    @Test("A refused transfer with the identifier of a waiting one does not change what the waiting one requests")
    func plans() async throws {
        let server = try await ScriptedServer.start { .response(200, text: $0.target) }
        let harness = try await CoreHarness()
        // A queue whose settings are known, and that is held.
        let first = try await harness.add(server.text("first"))
        try await harness.events.wait("finished \(first)")
        let today = Int(CoreClock().now() / 86_400 + 4) % 7
        try await harness.core.setSchedule(Schedule(start: 0, end: 0, days: [(today + 3) % 7]))
        let id = try await harness.add(server.text("right"), ["out": "right"])
        let code = await controlCode { () throws in
            try await harness.core.add([NewTransfer(id: id, urls: [server.text("wrong")])], at: nil)
        }
        #expect(code == .duplicate)
        try await harness.core.setSchedule(nil)
        try await harness.events.wait("finished \(id)")
        #expect(try await harness.core.record(id).path == harness.path("right"))
        await harness.stop()
    }
}
