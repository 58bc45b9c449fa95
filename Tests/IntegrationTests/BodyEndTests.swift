// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// How a body ends, and what is made of it.
@Suite(.timeLimit(.minutes(5)))
struct BodyEndTests {
    @Test("shorter than Content-Length: the bytes are kept and resumed from")
    func truncated() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .closeAfter(cutLength)
        file.interruptedResponses = 1
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        // The last sent bytes are counted by the time their connection is closed.
        await server.stop()
        #expect(server.bodyBytesSent == fileLength)
        #expect(outcome.retries == 1)
    }

    @Test("chunked without its last chunk: an error, resumed if the server supports ranges")
    func chunkedCut() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.framing = .chunked
        file.interruption = .closeAfter(cutLength)
        file.interruptedResponses = 1
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(server.bodyBytesSent <= fileLength + 32 * 1024)
        await server.stop()
    }

    @Test("chunked and whole", arguments: [0, 1, 200_000, fileLength])
    func chunked(_ length: Int64) async throws {
        let harness = try Harness()
        var file = ServedFile(length: length)
        file.framing = .chunked
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("ended by close with no length: complete but unverified", arguments: [10_000, fileLength])
    func untilClose(_ length: Int64) async throws {
        let harness = try Harness()
        var file = ServedFile(length: length)
        file.framing = .close
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(outcome.completion?.verifiedLength == false)
        await server.stop()
    }

    @Test("over TLS, no length and no close_notify: truncated, an error; the bytes are kept and resumed")
    func cut() async throws {
        let file = ServedFile(length: fileLength)
        let head = Reply.headBytes(200, [("ETag", "\"v1\""), ("Accept-Ranges", "bytes")])
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            guard request.requestIndex == 0 || request.path == "/always" else { return .file(file, request) }
            return Reply([.head(head), .pattern(file.pattern, 0..<cutLength), .cut])
        }
        var transport = HTTPTransport.Configuration()
        transport.tls.verification = .none
        let harness = try Harness()
        let outcome = try await harness.fetch(server.text("file.bin"), transport: transport)
        harness.expectWhole(outcome, file)
        #expect(outcome.retries == 1)
        let failed = try await harness.fetch(server.text("always"), transport: transport) { $0.options.retries = 0 }
        #expect(failed.failure?.code == .network, "\(failed.story)")
        #expect(failed.failure?.message.contains("close_notify") == true && !harness.directory.contains("always"))
        await server.stop()
        #expect(server.bodyBytesSent(for: "/file.bin") == fileLength + 1)
    }

    @Test("a whole length is a verified one", arguments: [0, 1, 20_480, 1 << 20, (1 << 20) + 1])
    func verified(_ length: Int64) async throws {
        let harness = try Harness()
        let file = ServedFile(length: length)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(outcome.completion?.verifiedLength == true)
        #expect(outcome.completion?.bytes == length)
        await server.stop()
    }

    @Test("bytes beyond the declared length are discarded", arguments: [20_480, fileLength])
    func tooLong(_ length: Int64) async throws {
        let harness = try Harness()
        var file = ServedFile(length: length)
        file.excess = 5000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("a small file that is cut leaves nothing behind, and is fetched again")
    func smallCut() async throws {
        let harness = try Harness()
        var file = ServedFile(length: 100_000)
        file.interruption = .closeAfter(60_000)
        file.interruptedResponses = 1
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("204 has no content", arguments: [204, 205])
    func noContent(_ status: Int) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(status) }
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.completion?.bytes == 0, "\(outcome.story)")
        await server.stop()
    }

    @Test("a response that is not 2xx is never written into a file", arguments: [400, 403, 404, 410, 500, 503])
    func notSuccess(_ status: Int) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in .response(status, text: "an error page") }
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 0 }
        #expect(outcome.failure?.status == status, "\(outcome.story)")
        #expect(harness.directory.entries().isEmpty)
        await server.stop()
    }

    @Test("cut at random offsets, by FIN: right bytes, each fetched once", arguments: 1...6 as ClosedRange<UInt64>)
    func randomCuts(_ seed: UInt64) async throws {
        let sent = try await self.fetchCut(seed, times: 6) { .closeAfter($0) }
        #expect(sent == fileLength)
    }

    @Test("cut at random offsets, by RST: right bytes", arguments: 11...14 as ClosedRange<UInt64>)
    func randomResets(_ seed: UInt64) async throws {
        // Bytes in the kernel at a reset are lost, so some bytes are sent again.
        let sent = try await self.fetchCut(seed, times: 5) { .resetAfter($0) }
        #expect(sent >= fileLength)
    }

    /// Fetches a file whose first responses are cut at random offsets, and returns the number of bytes sent.
    private func fetchCut(
        _ seed: UInt64,
        times: Int,
        by interruption: @escaping @Sendable (Int64) -> ServedFile.Interruption
    ) async throws -> Int64 {
        let harness = try Harness()
        var generator = SeededGenerator(seed: seed)
        let cuts = (0..<times).map { _ in Int64.random(in: 1...900_000, using: &generator) }
        let file = ServedFile(TestPattern(seed: seed), length: fileLength)
        let server = try await ScriptedServer.start { request in
            var file = file
            if request.requestIndex < cuts.count { file.interruption = interruption(cuts[request.requestIndex]) }
            return .file(file, request)
        }
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 5 }
        harness.expectWhole(outcome, file)
        // The last sent bytes are counted by the time their connection is closed.
        await server.stop()
        return server.bodyBytesSent
    }
}
