// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Destinations", .timeLimit(.minutes(1)))
struct DestinationTests {
    private func server(_ length: Int64 = 4) async throws -> ScriptedServer {
        try await ScriptedServer.start { .file(ServedFile(length: length), $0) }
    }

    @Test("A download appears under its name when it is whole, with nothing beside it")
    func file() async throws {
        let server = try await self.server(2 << 20)
        let harness = try Harness()
        let file = try await harness.session.download(from: server.text("a"), to: .file(harness.path("deep/er/file")))
        #expect(file.path == harness.path("deep/er/file") && !file.isTemporary)
        #expect(TestPattern().difference(fromFileAt: file.path, length: 2 << 20) == nil)
        #expect(Files.entries(of: harness.path("deep/er")) == ["file"])
    }

    @Test("In a directory a download is named by the response or the URL")
    func directory() async throws {
        let server = try await ScriptedServer.start { request in
            let named = [("Content-Disposition", "attachment; filename=\"../named.txt\"")]
            return .response(200, request.path == "/x" ? named : [], text: "body")
        }
        let harness = try Harness()
        for path in ["x", "dir/plain.txt", "dir/plain.txt"] {
            _ = try await harness.session.download(from: server.text(path), to: .directory(harness.path("in")))
        }
        #expect(Files.entries(of: harness.path("in")) == ["named.txt", "plain.1.txt", "plain.txt"])
    }

    @Test("If the name is taken the rule applies", arguments: Destination.ExistingFileRule.allCases)
    func rules(_ rule: Destination.ExistingFileRule) async throws {
        let server = try await self.server()
        let harness = try Harness()
        try harness.directory.write([UInt8]("mine, and longer"), to: "file")
        let ended = await code {
            try await harness.session.download(from: server.text("a"), to: .file(harness.path("file"), ifExists: rule))
        }
        #expect(ended == (rule == .fail ? .fileExists : nil))
        let new = TestPattern().bytes(0..<4)
        #expect(try harness.directory.read("file") == (rule == .overwrite ? new : [UInt8]("mine, and longer")))
        let hasNumbered = rule == .number || rule == .keepIfSame
        #expect(harness.directory.entries() == (hasNumbered ? ["file", "file.1"] : ["file"]))
        if hasNumbered { #expect(try harness.directory.read("file.1") == new) }
    }

    @Test("A file that is the same is kept, and the result says so")
    func same() async throws {
        let server = try await self.server(100_000)
        let harness = try Harness()
        let destination = Destination.file(harness.path("file"), ifExists: .keepIfSame)
        let first = try await harness.session.download(from: server.text("a"), to: destination)
        let second = try await harness.session.download(from: server.text("a"), to: destination)
        #expect(!first.alreadyExisted && second.alreadyExisted && second.path == first.path && second.size == 100_000)
        #expect(harness.directory.entries() == ["file"])
        // The server counts what it has sent after the client may have read it.
        await server.closeConnections()
        #expect(server.bodyBytesSent == 100_000)
    }

    @Test(
        "Two tasks to the same path: one gets it, the other fails or takes a number",
        arguments: [Destination.ExistingFileRule.fail, .number]
    )
    func twice(_ rule: Destination.ExistingFileRule) async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            Reply([.waitUntil(gate)] + Reply.file(ServedFile(length: 4), request).steps)
        }
        let harness = try Harness()
        let destination = Destination.file(harness.path("file"), ifExists: rule)
        let tasks = try (0..<2).map { _ in try harness.session.downloadTask(for: server.text("a"), to: destination) }
        for task in tasks { task.resume() }
        await server.waitForRequests(rule == .fail ? 1 : 2)
        gate.open()
        #expect(try await tasks[0].value.path == harness.path("file"))
        let second = await code { try await tasks[1].value }
        #expect(second == (rule == .fail ? .badDestination : nil))
        #expect(harness.directory.entries() == (rule == .fail ? ["file"] : ["file", "file.1"]))
        // The name is free again once its task has ended.
        let third = await code { try await harness.session.download(from: server.text("a"), to: destination) }
        #expect(third == (rule == .fail ? .fileExists : nil))
    }

    @Test("A path that cannot be a file's is refused", arguments: ["", "dir/", ".", "a/.."])
    func bad(_ path: String) async throws {
        let harness = try Harness()
        #expect(
            await code { try harness.session.downloadTask(for: "http://127.0.0.1:9/", to: .file(path)) }
                == .badDestination
        )
    }

    @Test("A digest that disagrees fails the download, and leaves nothing")
    func digest() async throws {
        let server = try await self.server(100_000)
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        let right = PlainDigests.sha256(TestPattern().bytes(0..<100_000))
        request.expectedDigests = [ExpectedDigest(algorithm: .sha256, bytes: right, source: "test")]
        #expect(try await harness.session.download(from: request, to: .file(harness.path("a"))).size == 100_000)
        request.expectedDigests = [ExpectedDigest(algorithm: .sha256, bytes: right.reversed(), source: "test")]
        let ended = await code { try await harness.session.download(from: request, to: .file(harness.path("b"))) }
        #expect(ended == .checksumMismatch && harness.directory.entries() == ["a"])
    }

    @Test("A mirror helps where the first source fails")
    func mirrors() async throws {
        let bad = try await ScriptedServer.start { _ in .response(404) }
        let good = try await self.server(100_000)
        let harness = try Harness()
        var request = try TransferRequest(bad.text("a"))
        request.mirrors = [try good.url("a")]
        #expect(try await harness.session.download(from: request, to: .file(harness.path("a"))).size == 100_000)
    }
}
