// SPDX-License-Identifier: Apache-2.0
import InMemoryLogging
import Logging
import Martlet
import MetricsTestKit
import Testing
import TransferTesting

@Suite("Logger and metrics", .timeLimit(.minutes(1)))
struct InstrumentTests {
    @Test("Attempts and ends are logged with the task's description, and never a secret, a query or a cookie")
    func logger() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/again" where request.targetIndex == 0:
                .response(503, [("Retry-After", "0"), ("Set-Cookie", "c=crumb")])
            case "/missing": .response(404)
            default: .response(200, text: "x")
            }
        }
        let handler = InMemoryLogHandler()
        let harness = try Harness {
            $0.logger = Logger(label: "test") { _ in handler }
            $0.logger?.logLevel = .trace
        }
        let observer = Observer()
        harness.session.addDelegate(observer)
        var request = try TransferRequest("http://me:hidden@127.0.0.1:\(server.port)/again?token=query")
        request.headers = ["X-Key": "inheader"]
        let task = try harness.session.dataTask(for: request)
        task.description = "the first"
        task.resume()
        _ = try await task.value
        _ = try? await harness.session.data(from: server.text("missing"))
        await observer.waitForEnds(2)
        let entries = handler.entries
        let text = entries.map { "\($0.level) \($0.message) \($0.metadata)" }.joined(separator: "\n")
        #expect(entries.contains { $0.level == .warning && $0.metadata["task"] == "the first" })
        #expect(entries.contains { "\($0.message)" == "finished" && $0.metadata["task"] == "the first" })
        #expect(entries.contains { $0.level == .error && "\($0.message)" == "failed" })
        for secret in ["hidden", "query", "crumb", "inheader"] { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("Metrics count tasks by their outcome, bytes received and attempts that failed")
    func metrics() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/again" where request.targetIndex == 0: .response(503, [("Retry-After", "0")])
            case "/missing": .response(404)
            case "/stall": Reply([.stall])
            default: .response(200, text: "12345")
            }
        }
        let metrics = TestMetrics()
        let harness = try Harness { $0.metrics = metrics }
        _ = try await harness.session.data(from: server.text("again"))
        _ = try await harness.session.download(from: server.text("a"))
        _ = try? await harness.session.data(from: server.text("missing"))
        let task = try harness.session.dataTask(for: server.text("stall"))
        task.resume()
        await server.waitForRequests(5)
        task.cancel()
        _ = try? await task.value
        func tasks(_ outcome: String) throws -> Int64 {
            try metrics.expectCounter("martlet.tasks", [("outcome", outcome)]).totalValue
        }
        #expect(try tasks("finished") == 2 && tasks("failed") == 1 && tasks("cancelled") == 1)
        #expect(try metrics.expectCounter("martlet.bytes.received").totalValue == 10)
        #expect(try metrics.expectCounter("martlet.attempts.failed").totalValue == 1)
    }
}
