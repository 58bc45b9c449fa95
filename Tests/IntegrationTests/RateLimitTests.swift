import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Rates are kept, shared fairly, and by not reading.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct RateLimitTests {
    @Test("one transfer's limit: never faster than it, and hardly slower")
    func one() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 5 << 20)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.rateLimit = 1 << 20 }
        harness.expectWhole(outcome, file)
        #expect(outcome.seconds >= 4.75)
        // A busy machine may be late; half the rate it is not.
        #expect(outcome.seconds <= 9)
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
        #expect(outcomes[0].seconds <= 6)
        await server.stop()
    }

    @Test("two transfers under one limit get equal shares")
    func fair() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 2 << 20)
        let server = try await serve(Served(file))
        var configuration = TransferEngine.Configuration()
        configuration.rateLimit = 2 << 20
        let requests = try ["a", "b"].map { try harness.request([server.text($0)]) }
        let outcomes = try await harness.fetchAll(requests, engine: configuration)
        let durations = outcomes.compactMap { $0.completion.map { $0.duration / .seconds(1) } }
        #expect(durations.count == 2)
        let (shortest, longest) = (durations.min() ?? 0, durations.max() ?? 0)
        // One after the other would be 0.5; the exact shares are held by the limiter's own tests, on their own clock.
        #expect(longest - shortest < 0.4 * longest)
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
        // What the kernel's buffers on both sides hold at most.
        #expect(server.bodyBytesSent < 24 << 20)
        await server.stop()
    }
}
