// SPDX-License-Identifier: Apache-2.0
import Martlet
import MartletFoundation
import Synchronization
import Testing
import TransferTesting

@Suite("Conditional requests", .timeLimit(.minutes(1)))
struct ConditionalTests {
    private static let date: Int64 = 1_751_364_000

    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            let fields = [("ETag", "\"v1\""), ("Last-Modified", "Tue, 01 Jul 2025 10:00:00 GMT")]
            if request["If-None-Match"] == "\"v1\"" { return .response(304, fields) }
            if request["If-Modified-Since"] == "Tue, 01 Jul 2025 10:00:00 GMT" { return .response(304, fields) }
            return .response(200, fields, text: "body")
        }
    }

    @Test("A response's entity tag and date make the next request conditional; the answer is not modified")
    func data() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let first = try await harness.session.data(from: server.text("a"))
        let tag = try #require(first.response.entityTag)
        let date = try #require(first.response.lastModified)
        #expect(tag == "\"v1\"" && date == Self.date && !first.isNotModified)
        let request = try TransferRequest(server.text("a"))
        for conditional in [request.ifNoneMatch(tag), request.ifModified(since: date)] {
            let observer = Observer()
            let task = try harness.session.dataTask(for: conditional)
            task.addDelegate(observer)
            task.resume()
            let response = try await task.value
            #expect(response.isNotModified && response.status == 304 && response.body.isEmpty)
            #expect(response.response.reasonPhrase == "Not Modified")
            await observer.waitForEnds()
            #expect(observer.story == ["response 304", "end"])
        }
        #expect(server.requests[1]["If-None-Match"] == "\"v1\"")
        #expect(server.requests[2]["If-Modified-Since"] == "Tue, 01 Jul 2025 10:00:00 GMT")
    }

    @Test("What is newer is brought")
    func newer() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let request = try TransferRequest(server.text("a"))
        let responses = [
            try await harness.session.data(from: request.ifNoneMatch("\"v0\"")),
            try await harness.session.data(from: request.ifModified(since: Self.date - 10)),
        ]
        #expect(responses.allSatisfy { !$0.isNotModified && $0.text == "body" })
    }

    @Test("An unmodified conditional download writes nothing, in a temporary place or elsewhere")
    func download() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let request = try TransferRequest(server.text("a")).ifNoneMatch("\"v1\"")
        let temporary = try await harness.session.download(from: request)
        #expect(temporary.isNotModified && temporary.path.isEmpty && !temporary.isTemporary)
        #expect(harness.temporaryFiles == [])
        try harness.directory.write([UInt8]("mine"), to: "file")
        for rule in [Destination.ExistingFileRule.overwrite, .number, .keepIfSame] {
            let file = try await harness.session.download(
                from: request,
                to: .file(harness.path("file"), ifExists: rule)
            )
            #expect(file.isNotModified && file.response?.status == 304, "\(rule)")
        }
        #expect(try harness.directory.read("file") == [UInt8]("mine"))
        #expect(harness.directory.entries().filter { $0 != "place" } == ["file"])
    }

    @Test("A conditional download brings what is newer, over the file that is there")
    func newerDownload() async throws {
        let server = try await self.server()
        let harness = try Harness()
        try harness.directory.write([UInt8]("old"), to: "file")
        let request = try TransferRequest(server.text("a")).ifNoneMatch("\"v0\"")
        let file = try await harness.session.download(
            from: request,
            to: .file(harness.path("file"), ifExists: .overwrite)
        )
        #expect(!file.isNotModified && file.size == 4)
        #expect(try harness.directory.read("file") == [UInt8]("body"))
    }

    @Test("An unrequested 304 is a failure with its status")
    func unasked() async throws {
        let server = try await ScriptedServer.start { _ in .response(304) }
        let harness = try Harness()
        let error = try await failure { try await harness.session.data(from: server.text("a")) }
        #expect(error.code == .httpStatus && error.status == 304)
    }
}
