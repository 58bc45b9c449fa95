// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Which failures are worth another attempt, and how many.
@Suite(.timeLimit(.minutes(5)))
struct RetryTests {
    @Test("a status of the list is tried again", arguments: [408, 429, 500, 502, 503, 504])
    func statuses(_ status: Int) async throws {
        let harness = try Harness()
        var file = ServedFile(length: 20_000)
        file.refusal = .init(status: status, count: 1)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(server.requests.count == 2)
        await server.stop()
    }

    @Test("another status is not", arguments: [400, 401, 403, 404, 410, 501])
    func otherStatuses(_ status: Int) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(status) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.failure?.status == status, "\(outcome.story)")
        #expect(server.requests.count == 1)
        await server.stop()
    }

    @Test("the list can be changed")
    func list() async throws {
        let harness = try Harness()
        var file = ServedFile(length: 20_000)
        file.refusal = .init(status: 404, count: 1)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retryStatuses = [404] }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("Retry-After in seconds is kept")
    func retryAfter() async throws {
        let harness = try Harness()
        var file = ServedFile(length: 20_000)
        file.refusal = .init(status: 503, count: 1, retryAfter: "1")
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(outcome.seconds >= 1)
        await server.stop()
    }

    @Test("the attempts beyond the first are counted")
    func budget() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(503) }
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 2 }
        harness.expectFailure(outcome, .overloaded)
        #expect(server.requests.count == 3)
        await server.stop()
    }

    @Test("a server that cuts every response at the same place ends with a failure")
    func samePlace() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .closeAt(cutLength)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectFailure(outcome, .network)
        #expect(harness.directory.contains("file.bin.part"))
        await server.stop()
        #expect(server.requests.count <= 6)
        #expect(server.bodyBytesSent == cutLength)
    }

    @Test("a server without ranges that cuts every response ends with a failure")
    func noRanges() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.supportsRanges = false
        file.interruption = .closeAfter(cutLength)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(server.requests.count <= 8)
        await server.stop()
    }

    @Test("each new byte that is kept refills the budget")
    func refill() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .closeAfter(400_000)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 1 }
        harness.expectWhole(outcome, file)
        // The last sent bytes are counted by the time their connection is closed.
        await server.stop()
        #expect(server.bodyBytesSent == fileLength)
    }

    @Test("a connection that is refused is tried again, then fails as refused")
    func refused() async throws {
        let harness = try Harness()
        let refusing = try RefusingPort()
        let outcome = try await harness.fetch(refusing.text("file.bin")) { $0.options.retries = 1 }
        harness.expectFailure(outcome, .connectionRefused)
        #expect(outcome.retries == 1)
    }

    @Test("a name that does not exist fails as name resolution")
    func noName() async throws {
        let harness = try Harness()
        let outcome = try await harness.fetch("http://no-such-host.invalid/file.bin") { $0.options.retries = 0 }
        harness.expectFailure(outcome, .nameResolution)
    }

    @Test("a failing host backs off; others continue")
    func otherHosts() async throws {
        let harness = try Harness()
        let bad = try await ScriptedServer.start { _ in .response(503, [("Retry-After", "2")]) }
        let file = ServedFile(length: 20_000)
        let good = try await serve(Served(file))
        var requests = try (0..<4).map { try harness.request([bad.text("bad\($0)")]) { $0.options.retries = 1 } }
        requests += try (0..<4).map { try harness.request([good.text("good\($0)")]) }
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 1
        let outcomes = try await harness.fetchAll(requests, engine: configuration)
        #expect(outcomes[..<4].allSatisfy { $0.failure?.code == .overloaded })
        #expect(outcomes[4...].allSatisfy { $0.completion != nil })
        #expect(bad.requests.count <= 8)
        await bad.stop()
        await good.stop()
    }
}
