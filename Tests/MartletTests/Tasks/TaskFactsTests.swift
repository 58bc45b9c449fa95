// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("What is known of tasks", .timeLimit(.minutes(1)))
struct TaskFactsTests {
    @Test("A task counts the bytes received, expected and sent")
    func counts() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply(
                [
                    .head(Reply.headBytes(200, [("Content-Length", "6")])), .bytes([UInt8]("abc")), .waitUntil(gate),
                    .bytes([UInt8]("def")),
                ]
            )
        }
        let harness = try Harness()
        let observer = Observer()
        var request = try TransferRequest(server.text("a"))
        request.method = "PUT"
        request.body = [UInt8]("12345")
        let task = try harness.session.dataTask(for: request)
        task.addDelegate(observer)
        #expect(task.bytesReceived == 0 && task.bytesExpected == nil)
        #expect(task.bytesSent == 0 && task.bytesExpectedToSend == 5)
        task.resume()
        await observer.log.wait(for: "data")
        #expect(task.bytesReceived == 3 && task.bytesExpected == 6)
        #expect(task.response?.status == 200)
        gate.open()
        _ = try await task.value
        #expect(task.bytesReceived == 6 && task.bytesExpected == 6 && task.bytesSent == 5)
        #expect(server.requests[0].body.text == "12345")
    }

    @Test("A server that always sends the same part, unasked, is not reported as empty", arguments: [true, false])
    func unaskedPart(_ isData: Bool) async throws {
        let server = try await ScriptedServer.start { _ in
            .response(206, [("Content-Range", "bytes 0-3/10")], text: "part")
        }
        let harness = try Harness { $0.retries = .none }
        let error = try await failure {
            if isData {
                _ = try await harness.session.data(from: server.text("a"))
            } else {
                _ = try await harness.session.download(from: server.text("a"), to: .file(harness.path("f")))
            }
        }
        #expect(error.message.contains("part") && !error.message.contains("without content"), "\(error)")
    }

    @Test("Every report of progress has a rate, the first and the last as well")
    func rates() async throws {
        let head = Reply.headBytes(200, [("Content-Length", "30000")])
        let server = try await ScriptedServer.start { request in
            request.path == "/small"
                ? .response(200, text: "small")
                : Reply([.head(head), .drip([UInt8](repeating: 1, count: 30_000), every: .microseconds(20))])
        }
        let harness = try Harness()
        for name in ["small", "slow"] {
            let observer = Observer()
            let task = try harness.session.downloadTask(for: server.text(name), to: .file(harness.path(name)))
            task.addDelegate(observer)
            task.resume()
            _ = try await task.value
            await observer.waitForEnds()
            let rates = observer.progress.entries.map(\.rate)
            #expect(!rates.isEmpty && rates.allSatisfy { $0 > 0 }, "\(rates)")
        }
    }

    @Test("A download counts the bytes received and expected; progress adds up to the whole")
    func downloadCounts() async throws {
        let file = ServedFile(length: 3 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        let observer = Observer()
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
        task.addDelegate(observer)
        task.resume()
        let result = try await task.value
        await observer.waitForEnds()
        #expect(task.bytesReceived == file.length && task.bytesExpected == file.length && result.size == file.length)
        let told = observer.progress.entries
        #expect(told.last?.bytesReceived == file.length && told.last?.fraction == 1)
        #expect(told.reduce(0) { $0 + $1.bytesSinceLast } == file.length)
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.bytesReceived <= $1.bytesReceived })
    }

    @Test("A body without a length has none expected")
    func unknownLength() async throws {
        var file = ServedFile(length: 1000)
        file.framing = .chunked
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let harness = try Harness()
        let response = try await harness.session.data(from: server.text("a"))
        #expect(response.response.expectedLength == nil && response.body.count == 1000)
    }

    @Test("A task keeps the program's description and user information, and has a number and its request")
    func own() async throws {
        let harness = try Harness()
        let first = try harness.session.dataTask(for: "http://127.0.0.1:9/a")
        let second = try harness.session.downloadTask(for: "http://127.0.0.1:9/b")
        first.description = "the first"
        first.userInfo = 7
        #expect(first.description == "the first" && first.userInfo as? Int == 7)
        #expect(second.description.isEmpty && second.userInfo == nil)
        #expect(first.id == 1 && second.id == 2)
        #expect(second.request.url.path == "/b")
    }

    @Test("A waiting task whose priority is raised starts before those that waited longer")
    func priority() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            request.path == "/first" ? Reply([.waitUntil(gate)] + Reply.response(200).steps) : .response(200)
        }
        let harness = try Harness { $0.concurrentTransfers = 1 }
        var low = try TransferRequest(server.text("low"))
        low.priority = .low
        let first = try harness.session.dataTask(for: server.text("first"))
        let tasks = [
            try harness.session.dataTask(for: low), try harness.session.dataTask(for: server.text("a")),
            try harness.session.dataTask(for: server.text("b")),
        ]
        first.resume()
        await server.waitForRequests(1)
        for task in tasks { task.resume() }
        #expect(tasks.map(\.state) == [.waiting, .waiting, .waiting])
        tasks[2].priority = .high
        gate.open()
        for task in tasks { _ = try await task.value }
        #expect(server.requests.map(\.target) == ["/first", "/b", "/a", "/low"])
        #expect(tasks[2].priority == .high && tasks[0].priority == .low)
    }

    @Test("A rate limit holds a transfer back until it is lifted")
    func rateLimit() async throws {
        let file = ServedFile(length: 8 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.rateLimit = 64 << 10
        let task = try harness.session.downloadTask(for: request, to: .file(harness.path("file")))
        let observer = Observer()
        task.addDelegate(observer)
        task.resume()
        // At this rate the whole would take two minutes, which the test does not have.
        await observer.progress.wait(for: 2)
        #expect(task.bytesReceived < 4 << 20 && task.state == .running)
        task.rateLimit = nil
        #expect(try await task.value.size == file.length)
    }

    @Test("The session's rate limit is over all tasks, and can be lifted while they run")
    func sessionRateLimit() async throws {
        let file = ServedFile(length: 8 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness { $0.rateLimit = 64 << 10 }
        let observer = Observer()
        harness.session.addDelegate(observer)
        let tasks = try (0..<2)
            .map { try harness.session.downloadTask(for: server.text("\($0)"), to: .file(harness.path("\($0)"))) }
        for task in tasks { task.resume() }
        await observer.progress.wait(for: 2)
        #expect(tasks.reduce(0) { $0 + $1.bytesReceived } < 4 << 20)
        harness.session.rateLimit = nil
        for task in tasks { #expect(try await task.value.size == file.length) }
    }
}
