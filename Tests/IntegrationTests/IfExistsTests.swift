// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Existing files are never overwritten unless requested.
@Suite(.timeLimit(.minutes(5)))
struct IfExistsTests {
    private typealias Policy = DownloadOptions.IfExists
    /// 2025-07-01T10:00:00Z, the served file's `Last-Modified`.
    private static let modified = 1_751_364_000

    private func fetch(
        _ policy: DownloadOptions.IfExists,
        over existing: [UInt8],
        modified: Int? = nil,
        file: ServedFile = ServedFile(length: fileLength),
        path: String = "file.bin",
        _ change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> (Harness, Outcome, ScriptedServer) {
        let harness = try Harness()
        try harness.directory.write(existing, to: path, modified: modified)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text(path)) { request in
            request.options.ifExists = policy
            change(&request)
        }
        await server.stop()
        return (harness, outcome, server)
    }

    @Test("auto skips, as success, a file whose length and modification time agree")
    func autoAgrees() async throws {
        let file = ServedFile(length: fileLength)
        let (harness, outcome, server) = try await self.fetch(
            .auto,
            over: file.pattern.bytes(0..<fileLength),
            modified: Self.modified
        )
        #expect(outcome.completion?.skipped == true, "\(outcome.story)")
        #expect(harness.directory.entries() == ["file.bin"])
        #expect(server.bodyBytesSent <= 256 * 1024)
    }

    @Test(
        "auto skips what it fetched itself before",
        .enabled(if: ExtendedAttributes.areSupported),
        arguments: [20_000, fileLength]
    )
    func autoAgain(_ length: Int64) async throws {
        let harness = try Harness()
        var file = ServedFile(length: length)
        file.lastModified = nil
        let server = try await serve(Served(file))
        let first = try await harness.fetch(server.text("file.bin"))
        let second = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(first, file)
        #expect(second.completion?.skipped == true, "\(second.story)")
        await server.stop()
    }

    @Test("auto gives a number where length or modification time differ", arguments: [1000, fileLength])
    func autoDiffers(_ length: Int64) async throws {
        let old = TestPattern(seed: 9).bytes(0..<length)
        let (harness, outcome, _) = try await self.fetch(.auto, over: old, path: "file.tar.gz")
        harness.expectWhole(outcome, ServedFile(length: fileLength), name: "file.1.tar.gz", alone: false)
        #expect(try harness.directory.read("file.tar.gz") == old)
    }

    @Test("auto compares the digest where one is given")
    func autoDigest() async throws {
        let file = ServedFile(length: fileLength)
        let (harness, outcome, _) = try await self.fetch(.auto, over: file.pattern.bytes(0..<fileLength)) {
            $0.expected = [Known.sha256(of: fileLength)]
        }
        #expect(outcome.completion?.skipped == true, "\(outcome.story)")
        #expect(harness.directory.entries() == ["file.bin"])
    }

    @Test("skip skips whatever exists, and asks the server nothing")
    func skip() async throws {
        let (harness, outcome, server) = try await self.fetch(.skip, over: [1, 2, 3])
        #expect(outcome.completion?.skipped == true, "\(outcome.story)")
        #expect(try harness.directory.read("file.bin") == [1, 2, 3])
        #expect(server.requests.isEmpty)
    }

    @Test("fail fails")
    func fail() async throws {
        let (harness, outcome, _) = try await self.fetch(.fail, over: [1, 2, 3])
        #expect(outcome.failure?.code == .fileExists, "\(outcome.story)")
        #expect(try harness.directory.read("file.bin") == [1, 2, 3])
    }

    @Test("rename always takes a number")
    func rename() async throws {
        let (harness, outcome, _) = try await self.fetch(.rename, over: [1, 2, 3])
        harness.expectWhole(outcome, ServedFile(length: fileLength), name: "file.1.bin", alone: false)
        #expect(try harness.directory.read("file.bin") == [1, 2, 3])
    }

    @Test("overwrite replaces the file when the new one is whole", arguments: [20_000, fileLength])
    func overwrite(_ length: Int64) async throws {
        let file = ServedFile(length: length)
        let (harness, outcome, _) = try await self.fetch(.overwrite, over: [1, 2, 3], file: file)
        harness.expectWhole(outcome, file)
    }

    @Test("overwrite leaves the old file where the new one fails")
    func overwriteFails() async throws {
        var file = ServedFile(length: 20_000)
        file.interruption = .closeAfter(10_000)
        let (harness, outcome, _) = try await self.fetch(.overwrite, over: [1, 2, 3], file: file)
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(try harness.directory.read("file.bin") == [1, 2, 3])
    }

    @Test("resume without a journal compares the overlap, then fetches only the rest")
    func resume() async throws {
        let file = ServedFile(length: fileLength)
        let (harness, outcome, server) = try await self.fetch(.resume, over: file.pattern.bytes(0..<2_000_000))
        harness.expectWhole(outcome, file)
        #expect(server.bodyBytesSent < fileLength)
    }

    @Test("resume of a file that is none of the server's fails and changes nothing")
    func resumeDiffers() async throws {
        let old = TestPattern(seed: 9).bytes(0..<2_000_000)
        let (harness, outcome, _) = try await self.fetch(.resume, over: old)
        #expect(outcome.failure?.code == .cannotResume, "\(outcome.story)")
        #expect(try harness.directory.read("file.bin") == old)
        #expect(harness.directory.entries() == ["file.bin"])
    }

    @Test("resume of a whole file fetches no more of it")
    func resumeWhole() async throws {
        let file = ServedFile(length: fileLength)
        let (harness, outcome, server) = try await self.fetch(.resume, over: file.pattern.bytes(0..<fileLength))
        harness.expectWhole(outcome, file)
        #expect(server.bodyBytesSent <= (1 << 20) + 4096)
    }

    @Test("resume where the server's file is shorter fails and changes nothing")
    func resumeLonger() async throws {
        let old = TestPattern().bytes(0..<(fileLength + 10))
        let (harness, outcome, _) = try await self.fetch(.resume, over: old)
        #expect(outcome.failure?.code == .cannotResume, "\(outcome.story)")
        #expect(try harness.directory.read("file.bin") == old)
    }
}
