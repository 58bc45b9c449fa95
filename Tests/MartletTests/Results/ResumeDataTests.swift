// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Resume data", .timeLimit(.minutes(1)))
struct ResumeDataTests {
    private static let whole = ServedFile(length: 4 << 20)

    /// A server whose first response stops in the middle.
    private func server(
        _ interruption: ServedFile.Interruption = .stallAfter(2 << 20),
        change: ServedFile.Change? = nil
    ) async throws -> ScriptedServer {
        var file = Self.whole
        file.interruption = interruption
        file.interruptedResponses = 1
        file.change = change
        return try await ScriptedServer.start { [file] in .file(file, $0) }
    }

    /// Runs a download until half of it is there, and cancels it.
    private func cut(_ harness: Harness, _ url: String, to destination: Destination) async throws -> ResumeData {
        let observer = Observer()
        var request = try TransferRequest(url)
        request.headers = ["X-Own": "1", "Authorization": "Bearer secret"]
        let task = try harness.session.downloadTask(for: request, to: destination)
        task.addDelegate(observer)
        task.resume()
        await observer.progress.wait { ($0.last?.bytesReceived ?? 0) >= 2 << 20 }
        let data = await task.cancelProducingResumeData()
        await observer.waitForEnds()
        #expect(observer.story.last == "failed cancelled" && observer.story.count { $0.hasPrefix("failed") } == 1)
        #expect(observer.errors.entries.last?.resumeData == data)
        return try #require(data)
    }

    @Test("A cancelled download resumes from its resume data without a byte twice", arguments: [true, false])
    func goesOn(_ isTemporary: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let data = try await self.cut(
            harness,
            server.text("a"),
            to: isTemporary ? .temporary : .file(harness.path("file"))
        )
        #expect(data.bytesReceived == 2 << 20 && data.bytesExpected == 4 << 20 && data.url == server.text("a"))
        #expect(!data.bytes.text.contains("secret"))
        let read = try ResumeData(data.bytes)
        #expect(read == data)
        // Another session, as another run of the program would have it.
        var configuration = Harness.configuration(harness.directory)
        configuration.concurrentTransfers = 2
        let session = try TransferSession(configuration: configuration)
        let file = try await session.download(resuming: read)
        #expect(Self.whole.pattern.difference(fromFileAt: file.path, length: Self.whole.length) == nil)
        #expect(file.isTemporary == isTemporary)
        if !isTemporary { #expect(file.path == harness.path("file")) }
        // Bytes that the kernel took are counted a moment later, and before their connection is closed.
        await server.closeConnections()
        #expect(server.bodyBytesSent == Self.whole.length)
        #expect(server.requests.last?["Range"] == "bytes=2097152-" && server.requests.last?["X-Own"] == "1")
    }

    @Test("The partial file of another download is not in the resume data of one that fails")
    func foreign() async throws {
        var file = Self.whole
        file.interruption = .stallAfter(2 << 20)
        file.interruptedResponses = 1
        let server = try await ScriptedServer.start { [file] request in
            request.path == "/a" && request.targetIndex == 0 ? .file(file, request) : .response(404, text: "gone")
        }
        let harness = try Harness()
        _ = try await self.cut(harness, server.text("a"), to: .file(harness.path("file")))
        func resumeData(_ name: String) async throws -> ResumeData? {
            let error = try await failure {
                try await harness.session.download(from: server.text(name), to: .file(harness.path("file")))
            }
            return error.resumeData
        }
        #expect(try await resumeData("b") == nil)
        #expect(try await resumeData("a")?.bytesReceived == 2 << 20)
    }

    @Test("A download that continues reports so after its response and before its first progress")
    func reportsThatItContinues() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let data = try await self.cut(harness, server.text("a"), to: .file(harness.path("file")))
        let observer = Observer()
        let task = try harness.session.downloadTask(resuming: data)
        task.addDelegate(observer)
        let events = task.events
        task.resume()
        var story: [String] = []
        for await event in events {
            switch event {
            case .response(let response): story.append("response \(response.status)")
            case .resumed(let offset, let expected): story.append("resumed \(offset) \(expected ?? -1)")
            case .progress: if story.last != "progress" { story.append("progress") }
            case .finished: story.append("end")
            case .failed, .sent, .data, .waiting: story.append("wrong")
            }
        }
        #expect(story == ["response 206", "resumed 2097152 4194304", "progress", "end"])
        await observer.waitForEnds()
        #expect(Array(observer.story.prefix(3)) == ["response 206", "resumed 2097152 4194304", "progress"])
    }

    @Test("A download from its beginning does not report that it continues")
    func reportsNoContinuation() async throws {
        let server = try await ScriptedServer.start { .file(Self.whole, $0) }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        _ = try await harness.session.download(from: server.text("a"), to: .file(harness.path("file")))
        await observer.waitForEnds()
        #expect(observer.story.first == "response 200" && !observer.story.contains { $0.hasPrefix("resumed") })
    }

    @Test("A failed download's error has resume data")
    func failed() async throws {
        let server = try await self.server(.closeAfter(2 << 20))
        let harness = try Harness { $0.retries = .none }
        let error = try await failure {
            try await harness.session.download(from: server.text("a"), to: .file(harness.path("file")))
        }
        #expect(error.code == .network)
        let data = try #require(error.resumeData)
        #expect(harness.directory.entries() == ["file.part", "file.part.journal"])
        _ = try await harness.session.download(resuming: data)
        await server.closeConnections()
        #expect(Self.whole.pattern.difference(fromFileAt: harness.path("file"), length: Self.whole.length) == nil)
        #expect(server.bodyBytesSent == Self.whole.length && harness.directory.entries() == ["file"])
    }

    @Test("If the file changed on the server, the download restarts and has the current version")
    func changed() async throws {
        let new = TestPattern(seed: 7)
        let server = try await self.server(change: .after(1, new, length: 3 << 20, entityTag: "\"v2\""))
        let harness = try Harness()
        let data = try await self.cut(harness, server.text("a"), to: .file(harness.path("file")))
        let file = try await harness.session.download(resuming: data)
        #expect(
            new.difference(fromFileAt: file.path, length: 3 << 20) == nil && harness.directory.entries() == ["file"]
        )
    }

    @Test("If the partial file is gone, the download restarts", arguments: [true, false])
    func gone(_ isDiscarded: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let data = try await self.cut(harness, server.text("a"), to: .file(harness.path("file")))
        if isDiscarded {
            data.discard()
        } else {
            for name in harness.directory.entries() { Files.remove(harness.path(name)) }
        }
        #expect(harness.directory.entries() == [])
        let file = try await harness.session.download(resuming: data)
        #expect(Self.whole.pattern.difference(fromFileAt: file.path, length: Self.whole.length) == nil)
        #expect(server.requests.last?["Range"] == nil)
    }

    @Test("Damaged resume data are refused")
    func damaged() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let data = try await self.cut(harness, server.text("a"), to: .temporary)
        for bytes in [[], [UInt8]("{}"), Array(data.bytes.dropLast()), [UInt8](repeating: 0xFF, count: 100)] {
            #expect(await code { try ResumeData(bytes) } == .badResumeData)
        }
        data.discard()
        #expect(harness.temporaryFiles == [])
    }

    @Test("A data task, a task that has not begun and one that has ended have no resume data")
    func none() async throws {
        let server = try await ScriptedServer.start { .file(ServedFile(length: 10), $0) }
        let harness = try Harness()
        let fresh = try harness.session.downloadTask(for: server.text("a"))
        #expect(await fresh.cancelProducingResumeData() == nil && fresh.state == .ended)
        let data = try harness.session.dataTask(for: server.text("a"))
        #expect(await data.cancelProducingResumeData() == nil && data.state == .ended)
        let ended = try harness.session.downloadTask(for: server.text("a"))
        ended.resume()
        _ = try await ended.value
        #expect(await ended.cancelProducingResumeData() == nil)
    }
}
