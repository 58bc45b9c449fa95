// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferTesting

@testable import Daemon

@Suite("Changes while transfers run", .timeLimit(.minutes(2)))
struct CoreChangeTests {
    @Test("Moves, priorities and resumes send no upload twice")
    func uploadsOnce() async throws {
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "5" }
        let server = try await UploadServer.start()
        let entries = (0..<400)
            .map { number in
                var entry = NewTransfer(urls: [server.text("/in/\(number)")])
                entry.options = TransferOptions(["method": ["POST"]])
                entry.upload = UploadSource([.bytes([1, 2, 3])])
                return entry
            }
        let ids = try await harness.core.add(entries, at: nil)
        let changes = Task {
            for round in 0..<200 where harness.core.counts.finished < 400 {
                let id = ids[(round * 37) % 400]
                _ = try? await harness.core.move(id, by: 0, from: round % 2 == 0 ? .start : .end)
                _ = try? await harness.core.perform(.setPriority(round % 3), on: .ids([ids[(round * 61) % 400]]))
                _ = try? await harness.core.perform(.resume, on: .all(session: nil))
            }
        }
        try await harness.events.wait("drained")
        await changes.value
        #expect(harness.core.counts.finished == 400)
        #expect(server.requests.count == 400 && Set(server.requests.map(\.target)).count == 400)
        await harness.stop()
    }

    @Test("Transfers of one host that hang do not keep those of another one waiting")
    func oneHostHangs() async throws {
        let gate = Gate()
        let slow = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let good = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await CoreHarness { $0.options[.maxConcurrentDownloads] = "5" }
        try await harness.core.setHostLimit("localhost", 1)
        let hanging = (0..<300)
            .map { NewTransfer(urls: [slow.text("h\($0)").replacing("127.0.0.1", with: "localhost")]) }
        _ = try await harness.core.add(hanging, at: nil)
        let entries = (0..<100)
            .map { NewTransfer(urls: [good.text("g\($0)").replacing("localhost", with: "127.0.0.1")]) }
        let ids = try await harness.core.add(entries, at: nil)
        for id in ids { try await harness.events.wait("finished \(id)") }
        #expect(harness.core.counts.finished == 100)
        gate.open()
        await harness.stop()
    }
}
