// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Decisions on the response", .timeLimit(.minutes(1)))
struct ResponseDecisionTests {
    private static let file = ServedFile(length: 2 << 20)

    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.start { .file(Self.file, $0) }
    }

    @Test("Cancelling ends the task as cancelled, and takes no body", arguments: [false, true])
    func cancel(_ isDownload: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { $0.response = { $1(.cancel) } }
        harness.session.addDelegate(observer)
        let ended = await code {
            if isDownload {
                _ = try await harness.session.download(from: server.text("a"), to: .file(harness.path("file")))
            } else {
                _ = try await harness.session.data(from: server.text("a"))
            }
        }
        #expect(ended == .cancelled)
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "failed cancelled"] && harness.directory.entries() == [])
    }

    @Test("A data task becomes a download to a file; its own end is becameDownload, once")
    func toFile() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let destination = Destination.file(harness.path("file"))
        let observer = Observer { $0.response = { $1(.becomeDownload(to: destination)) } }
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.description = "mine"
        task.userInfo = 7
        let events = task.events
        task.resume()
        #expect(await code { try await task.value } == .becameDownload)
        #expect(task.state == .ended && task.error?.code == .becameDownload)
        await observer.log.wait(for: "became")
        let download = try #require(observer.became.entries.first)
        #expect(download.description == "mine" && download.userInfo as? Int == 7 && download.id != task.id)
        #expect(try await download.value.path == harness.path("file"))
        await observer.waitForEnds()
        #expect(Self.file.pattern.difference(fromFileAt: harness.path("file"), length: Self.file.length) == nil)
        #expect(observer.story == ["response 200", "became", "progress", "end"])
        #expect(server.requests.count == 1 && observer.bytes.isEmpty)
        var last = ""
        for await event in events { if case .failed(let error) = event { last += error.code.description } }
        #expect(last == "becameDownload")
        #expect(await harness.session.tasks().isEmpty)
    }

    @Test("A data task becomes a download in a temporary place")
    func toTemporary() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let sizes = Log<Int64>()
        let observer = Observer { script in
            script.response = { $1(.becomeDownload(to: .temporary)) }
            script.downloadEnd = { _, result in
                guard let file = try? result.get(), file.isTemporary, Files.exists(file.path) else {
                    return sizes.add(-1)
                }
                sizes.add(file.size)
            }
        }
        harness.session.addDelegate(observer)
        try harness.session.dataTask(for: server.text("a")).resume()
        await sizes.wait(for: 1)
        #expect(sizes.entries == [Self.file.length])
        while !harness.temporaryFiles.isEmpty { await Task.yield() }
    }

    @Test(
        "If the file exists, its rule applies to a task that became a download",
        arguments: [Destination.ExistingFileRule.fail, .overwrite, .number]
    )
    func existing(_ rule: Destination.ExistingFileRule) async throws {
        let server = try await self.server()
        let harness = try Harness()
        try harness.directory.write([UInt8]("mine"), to: "file")
        let destination = Destination.file(harness.path("file"), ifExists: rule)
        let observer = Observer { $0.response = { $1(.becomeDownload(to: destination)) } }
        harness.session.addDelegate(observer)
        try harness.session.dataTask(for: server.text("a")).resume()
        await observer.waitForEnds()
        #expect(observer.story.last == (rule == .fail ? "failed fileExists" : "end"))
        #expect(harness.directory.entries() == (rule == .number ? ["file", "file.1"] : ["file"]))
        #expect((try harness.directory.read("file") == [UInt8]("mine")) == (rule != .overwrite))
    }

    @Test("A decision after the task's end makes no task")
    func tooLate() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let decisions = Log<@Sendable (TransferResponse.Decision) -> Void>()
        let observer = Observer { $0.response = { _, decide in decisions.add(decide) } }
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await decisions.wait(for: 1)
        task.cancel()
        await observer.waitForEnds()
        decisions.entries[0](.becomeDownload(to: .file(harness.path("file"))))
        #expect(await harness.session.tasks().isEmpty)
        #expect(observer.story.last == "failed cancelled" && harness.directory.entries().isEmpty)
    }

    @Test("For a download becoming one is taking the body")
    func download() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { $0.response = { $1(.becomeDownload(to: .temporary)) } }
        harness.session.addDelegate(observer)
        let file = try await harness.session.download(from: server.text("a"), to: .file(harness.path("file")))
        #expect(file.path == harness.path("file") && file.size == Self.file.length)
    }
}
