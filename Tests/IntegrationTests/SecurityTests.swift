// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// TLS, and both families of addresses.
@Suite(.timeLimit(.minutes(5)))
struct SecurityTests {
    @Test("https with a trusted authority", arguments: [20_000, fileLength])
    func trusted(_ length: Int64) async throws {
        let harness = try Harness()
        let file = ServedFile(length: length)
        let server = try await serve(Served(file), tls: .localhost)
        let outcome = try await harness.fetch(server.text("file.bin"), transport: harness.trusting())
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("an untrusted certificate is refused, and not tried again")
    func untrusted() async throws {
        let harness = try Harness()
        let server = try await serve(Served(ServedFile(length: 20_000)), tls: .localhost)
        let outcome = try await harness.fetch(server.text("file.bin"))
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(outcome.retries == 0, "\(outcome.story)")
        #expect(server.requests.isEmpty)
        #expect(harness.directory.entries().isEmpty)
        await server.stop()
    }

    @Test("an untrusted certificate is taken where asked")
    func insecure() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 20_000)
        let server = try await serve(Served(file), tls: .localhost)
        var transport = HTTPTransport.Configuration()
        transport.tls.verification = .none
        let outcome = try await harness.fetch(server.text("file.bin"), transport: transport)
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("https, cut and over segments")
    func segments() async throws {
        let harness = try Harness()
        var file = ServedFile(length: 8 << 20)
        file.rate = 8_000_000
        file.interruption = .closeAfter(900_000)
        file.interruptedResponses = 5
        let server = try await serve(Served(file), tls: .localhost)
        let outcome = try await harness.fetch(server.text("file.bin"), transport: harness.trusting()) {
            $0.options.connections = .fixed(4)
            $0.options.retries = 5
        }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("IPv6", arguments: [false, true])
    func version6(_ isTLS: Bool) async throws {
        let harness = try Harness()
        let file = ServedFile(length: fileLength)
        let server = try await serve(Served(file), tls: isTLS ? .localhost : nil, host: "::1")
        let outcome = try await harness.fetch(server.text("file.bin"), transport: harness.trusting())
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("a name that resolves to both families is reached on whichever answers")
    func localhost() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 20_000)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch("http://localhost:\(server.port)/file.bin")
        harness.expectWhole(outcome, file)
        await server.stop()
    }
}
