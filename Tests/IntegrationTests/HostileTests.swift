// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A server that sends false data: a clear failure, never a wrong file, never a crash.
@Suite(.timeLimit(.minutes(5)))
struct HostileTests {
    private func fail(_ reply: Reply) async throws -> (Harness, Outcome) {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in reply }
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 0 }
        await server.stop()
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(harness.directory.entries().isEmpty, "\(outcome.story)")
        return (harness, outcome)
    }

    @Test("a head of a megabyte is refused")
    func hugeHead() async throws {
        let field = "X-Filler: \(String(repeating: "x", count: 8000))\r\n"
        let head = "HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 130) + "Content-Length: 1\r\n\r\nx"
        _ = try await self.fail(.raw(head))
    }

    @Test("an endless head is refused")
    func endlessHead() async throws {
        _ = try await self.fail(Reply([.head(Array("HTTP/1.1 200 OK\r\n".utf8)), .endless(Array("X-A: b\r\n".utf8))]))
    }

    @Test("endless interim responses come to an end")
    func endlessInterims() async throws {
        _ = try await self.fail(Reply([.endless(Array("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".utf8))]))
    }

    @Test(
        "a length that is none is refused",
        arguments: [
            "Content-Length: 5\r\nContent-Length: 6", "Content-Length: -1", "Content-Length: 99999999999999999999",
            "Content-Length: 18446744073709551616", "Content-Length: 0x10", "Content-Length: 1 2",
            "Content-Length: 5, 6", "Content-Length: 5\r\nTransfer-Encoding: gzip",
        ]
    )
    func badLength(_ field: String) async throws {
        _ = try await self.fail(.raw("HTTP/1.1 200 OK\r\n\(field)\r\nConnection: close\r\n\r\nhello").then(.close))
    }

    @Test("an exabyte is believed only as far as there is room: no space, and nothing left")
    func exabyte() async throws {
        let (_, outcome) = try await self.fail(
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 1152921504606846976\r\n\r\n").then(.stall)
        )
        #expect(outcome.failure?.code == .noSpace, "\(outcome.story)")
    }

    @Test(
        "what is no HTTP/1.1 response is refused",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 99 Low\r\n\r\n", "\r\n\r\n\0\0\0",
        ]
    )
    func noHTTP(_ text: String) async throws {
        _ = try await self.fail(.raw(text).then(.close))
    }

    @Test("a connection that ends before a head fails, each time")
    func nothing() async throws {
        _ = try await self.fail(Reply([.close]))
        _ = try await self.fail(Reply([.reset]))
    }

    @Test(
        "bad chunk framing is refused",
        arguments: ["zz\r\nhello\r\n", "-5\r\nhello\r\n", "ffffffffffffffff1\r\nhello\r\n", "5\r\nhelloXX0\r\n\r\n"]
    )
    func badChunks(_ body: String) async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { _ in
            Reply.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body).then(.close)
        }
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 0 }
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(!harness.directory.contains("file.bin"))
        await server.stop()
    }
}
