// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Each timeout counts what it says and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct TimeoutTests {
    @Test("a body that stalls is ended and resumed")
    func stall() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .stallAfter(cutLength)
        file.interruptedResponses = 1
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            // Long enough for the second answer, which must not stall on a busy machine.
            $0.options.stallTimeout = .seconds(8)
        }
        harness.expectWhole(outcome, file)
        // The last sent bytes are counted by the time their connection is closed.
        await server.stop()
        #expect(server.bodyBytesSent == fileLength)
    }

    @Test("a server that always stalls fails as a timeout")
    func alwaysStalls() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.stallTimeout = .milliseconds(300)
            $0.options.retries = 1
        }
        harness.expectFailure(outcome, .timeout)
        await server.stop()
    }

    @Test("a response head that drips must be complete within the stall timeout")
    func drippingHead() async throws {
        let head = "HTTP/1.1 200 OK\r\nX-Filler: \(String(repeating: "x", count: 2000))\r\n\r\n"
        try await self.expectNoHead(in: Reply([.drip(Array(head.utf8), every: .milliseconds(50))]))
    }

    @Test("interim responses do not put off the end of the stall timeout")
    func drippingInterims() async throws {
        let interim = Reply.Step.head(Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8))
        try await self.expectNoHead(in: Reply((0..<400).flatMap { _ in [interim, .delay(.milliseconds(100))] }))
    }

    /// Holds that an answer whose head takes too long ends as a timeout, and soon.
    private func expectNoHead(in reply: Reply) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in reply }
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.stallTimeout = .milliseconds(400)
            $0.options.retries = 0
        }
        harness.expectFailure(outcome, .timeout)
        #expect(outcome.seconds < 20)
        await server.stop()
    }

    @Test("a body that drips is not stalled")
    func drippingBody() async throws {
        let harness = try Harness()
        var file = ServedFile(length: 6000)
        file.rate = 500
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.stallTimeout = .seconds(9)
            $0.options.retries = 0
        }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("a handshake that never ends fails by the connect timeout")
    func handshake() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(200) }
        let url = server.text("file.bin").replacingPrefix("http://", by: "https://")
        let outcome = try await harness.fetch(url) {
            $0.options.connectTimeout = .milliseconds(300)
            $0.options.retries = 0
        }
        harness.expectFailure(outcome, .timeout)
        #expect(outcome.seconds < 20)
        await server.stop()
    }

    @Test("the total timeout ends a transfer that moves, and keeps what it has")
    func total() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.rate = 200_000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.totalTimeout = .seconds(8)
        }
        harness.expectFailure(outcome, .timeout)
        #expect(harness.directory.contains("file.bin.part"))
        await server.stop()
    }

    @Test("time in the queue counts towards no timeout")
    func queueing() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 100_000)
        var slow = file
        slow.rate = 8_000
        let slowly = slow
        let server = try await ScriptedServer.start { request in
            .file(request.path == "/slow.bin" ? slowly : file, request)
        }
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 1
        let outcomes = try await harness.fetchAll(
            [
                harness.request([server.text("slow.bin")]),
                harness.request([server.text("file.bin")]) {
                    $0.options.totalTimeout = .seconds(10)
                    $0.options.stallTimeout = .seconds(10)
                    $0.options.connectTimeout = .seconds(10)
                    $0.options.retries = 0
                },
            ],
            engine: configuration
        )
        // The second one waited longer than it may take.
        #expect(outcomes[0].seconds > 11)
        harness.expectWhole(outcomes[1], file, alone: false)
        await server.stop()
    }

    @Test("our own throttling is not a stall")
    func throttled() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 1100)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            // At least 512 bytes are read at once: eight seconds of waiting.
            $0.options.rateLimit = 64
            $0.options.stallTimeout = .seconds(6)
            $0.options.retries = 0
        }
        harness.expectWhole(outcome, file)
        #expect(outcome.seconds > 8)
        await server.stop()
    }
}
