// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Rates are kept, shared fairly, and by not reading.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct RateLimitTests {
    @Test("one transfer's limit: never faster than it, and hardly slower")
    func one() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 5 << 20)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.rateLimit = 1 << 20 }
        harness.expectWhole(outcome, file)
        #expect(outcome.seconds >= 4.75)
        // A busy machine may be late; a quarter of the rate it is not.
        #expect(outcome.seconds <= 20)
        await server.stop()
    }

    @Test("the limit over all is shared, over files and segments")
    func global() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 2 << 20)
        let server = try await serve(Served(file))
        var configuration = TransferEngine.Configuration()
        configuration.rateLimit = 2 << 20
        let requests = try (0..<3)
            .map { index in
                try harness.request([server.text("file\(index)")]) { $0.options.connections = .fixed(1 + index) }
            }
        let outcomes = try await harness.fetchAll(requests, engine: configuration)
        for (index, outcome) in outcomes.enumerated() {
            harness.expectWhole(outcome, file, name: "file\(index)", alone: false)
        }
        #expect(outcomes[0].seconds >= 2.85)
        #expect(outcomes[0].seconds <= 15)
        await server.stop()
    }

    @Test("two transfers under one limit get equal shares")
    func fair() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 2 << 20)
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            // Both begin at the same time, however long the second one took to ask.
            if request.requestIndex == 1 { gate.open() }
            return Reply([.waitUntil(gate)] + Reply.file(file, request).steps)
        }
        var configuration = TransferEngine.Configuration()
        // So slow that a few moments of the server's do not matter.
        configuration.rateLimit = 512 << 10
        let requests = try ["a", "b"].map { try harness.request([server.text($0)]) }
        let (_, events, _) = try await harness.run(requests, engine: configuration)
        let ends = events.indices.filter { if case .finished = events[$0].kind { true } else { false } }
        #expect(ends.count == 2)
        let end = try #require(ends.first)
        let others = events[..<end]
            .compactMap { event -> Int64? in
                guard event.id != events[end].id, case .progress(let progress) = event.kind else { return nil }
                return progress.bytes
            }
        // What the other one had when the first was whole. One after the other it would be nothing; the exact shares are
        // held by the limiter's own tests, on their own clock.
        #expect((others.last ?? 0) > file.length * 2 / 5)
        await server.stop()
    }

    @Test("a limited transfer stops reading: the server cannot send ahead without bound")
    func backPressure() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 64 << 20)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.rateLimit = 1 << 20
            $0.options.totalTimeout = .seconds(1)
        }
        #expect(outcome.failure != nil)
        // The maximum that the kernel's buffers on both sides hold.
        #expect(server.bodyBytesSent < 24 << 20)
        await server.stop()
    }
}
