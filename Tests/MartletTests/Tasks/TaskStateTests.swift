// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("States of tasks", .timeLimit(.minutes(1)))
struct TaskStateTests {
    @Test("A task is made suspended, and asks nothing before it is resumed")
    func fresh() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        #expect(task.state == .suspended)
        _ = try await harness.session.data(from: server.text("b"))
        #expect(server.requests.map(\.target) == ["/b"])
        #expect(task.state == .suspended && task.error == nil && task.response == nil)
    }

    @Test("Cancelling before resume ends the task once, as cancelled, and nothing is asked")
    func cancelBeforeResume() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        let download = try harness.session.downloadTask(for: server.text("b"))
        task.cancel()
        download.cancel()
        #expect(task.state == .ended && download.state == .ended)
        task.resume()
        task.cancel()
        download.resume()
        #expect(await code { try await task.value } == .cancelled)
        #expect(await code { try await download.value } == .cancelled)
        await observer.waitForEnds(2)
        #expect(task.error?.code == .cancelled)
        #expect(observer.story == ["failed cancelled", "failed cancelled"])
        #expect(server.requests.isEmpty)
    }

    @Test("Resuming twice is resuming once")
    func resumeTwice() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        task.resume()
        await server.waitForRequests(1)
        task.resume()
        gate.open()
        _ = try await task.value
        task.resume()
        await observer.waitForEnds()
        #expect(task.state == .ended)
        #expect(server.requests.count == 1)
        #expect(observer.story == ["response 200", "data", "end"])
    }

    @Test("Suspends are not counted: one resume undoes any number of them")
    func suspendsNotCounted() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        task.suspend()
        task.suspend()
        task.suspend()
        task.resume()
        #expect(try await task.value.text == "x")
    }

    @Test("A data task suspended while it runs continues after resume, and is complete")
    func suspendData() async throws {
        let file = ServedFile(length: 300_000)
        let server = try await ScriptedServer.start { request in
            var served = file
            if request["Range"] == nil { served.interruption = .stallAfter(100_000) }
            return .file(served, request)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await observer.log.wait(for: "data")
        task.suspend()
        task.suspend()
        #expect(task.state == .suspended)
        task.resume()
        #expect(try await task.value.body == file.pattern.bytes(0..<300_000))
        await observer.waitForEnds()
        #expect(observer.bytes == file.pattern.bytes(0..<300_000))
        #expect(observer.log.entries.count { $0.hasPrefix("response") } == 1)
    }

    @Test("A data task continues after a suspension although the server has no ranges")
    func suspendDataWithoutRanges() async throws {
        let (gate, file) = (Gate(), ServedFile(length: 300_000))
        let server = try await ScriptedServer.start { request in
            Reply(
                [
                    .head(Reply.headBytes(200, [("Content-Length", "300000")])), .pattern(file.pattern, 0..<100_000),
                    .waitUntil(gate), .pattern(file.pattern, 100_000..<300_000),
                ]
            )
        }
        let harness = try Harness()
        let observer = Observer()
        let task = try harness.session.dataTask(for: server.text("a"))
        task.addDelegate(observer)
        task.resume()
        await observer.log.wait(for: "data")
        task.suspend()
        gate.open()
        task.resume()
        #expect(try await task.value.body == file.pattern.bytes(0..<300_000))
        await observer.waitForEnds()
        #expect(observer.bytes == file.pattern.bytes(0..<300_000), "no byte is delivered twice")
    }

    @Test("A download suspended while it runs continues from its bytes")
    func suspendDownload() async throws {
        let (gate, file) = (Gate(), ServedFile(length: 4 << 20))
        let server = try await ScriptedServer.start { request in
            guard request["Range"] == nil else { return .file(file, request) }
            var first = file
            first.interruption = .stallAfter(2 << 20)
            return Reply(Reply.file(first, request).steps + [.waitUntil(gate)])
        }
        let harness = try Harness()
        let observer = Observer()
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
        task.addDelegate(observer)
        task.resume()
        await observer.progress.wait { ($0.last?.bytesReceived ?? 0) >= 1 << 20 }
        task.suspend()
        #expect(task.state == .suspended)
        await server.waitForOpenConnections(0)
        #expect(server.requests.count == 1)
        task.resume()
        _ = try await task.value
        #expect(file.pattern.difference(fromFileAt: harness.path("file"), length: file.length) == nil)
        let range = try #require(server.requests.last?["Range"])
        #expect(range.hasPrefix("bytes=") && range != "bytes=0-")
        #expect(observer.log.entries.count { $0 == "response 200" } == 1)
        gate.open()
    }

    @Test("A task can be cancelled while it runs, waits, and is suspended; each ends once, as cancelled")
    func cancel() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness { $0.concurrentTransfers = 2 }
        let observers = (0..<3).map { _ in Observer() }
        let tasks = try (0..<3).map { try harness.session.dataTask(for: server.text("\($0)")) }
        for (task, observer) in zip(tasks, observers) { task.addDelegate(observer) }
        for task in tasks { task.resume() }
        await server.waitForRequests(2)
        tasks[1].suspend()
        await server.waitForRequests(3)
        let waiting = try harness.session.downloadTask(for: server.text("waiting"))
        waiting.resume()
        #expect(tasks.map(\.state) == [.running, .suspended, .running] && waiting.state == .waiting)
        for task in tasks + tasks { task.cancel() }
        waiting.cancel()
        for task in tasks { #expect(await code { try await task.value } == .cancelled) }
        #expect(await code { try await waiting.value } == .cancelled)
        for observer in observers {
            await observer.waitForEnds()
            #expect(observer.story == ["failed cancelled"])
        }
        #expect(tasks.allSatisfy { $0.state == .ended })
        await server.waitForOpenConnections(0)
    }

    @Test("Cancelling a download deletes what it has gathered")
    func cancelDeletes() async throws {
        var file = ServedFile(length: 4 << 20)
        file.interruption = .stallAfter(2 << 20)
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let harness = try Harness()
        let observer = Observer()
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("file")))
        task.addDelegate(observer)
        task.resume()
        await observer.progress.wait { ($0.last?.bytesReceived ?? 0) >= 1 << 20 }
        #expect(harness.directory.contains("file.part"))
        task.cancel()
        let error = try await failure { try await task.value }
        #expect(error.code == .cancelled && error.resumeData == nil)
        #expect(harness.directory.entries() == [])
    }

    @Test("Cancelling the Swift task that waits for a value cancels the transfer, and throws CancellationError")
    func swiftCancellation() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        let (session, url) = (harness.session, server.text("a"))
        let data = Task { try await session.data(from: url) }
        let download = Task { try await session.download(from: url) }
        await server.waitForRequests(2)
        data.cancel()
        download.cancel()
        await #expect(throws: CancellationError.self) { try await data.value }
        await #expect(throws: CancellationError.self) { try await download.value }
        await server.waitForOpenConnections(0)
    }

    @Test("Cancelling right after suspending ends the task", arguments: [false, true])
    func suspendAndCancel(_ goesOn: Bool) async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        for index in 1...20 {
            let task = try harness.session.dataTask(for: server.text("a"))
            task.resume()
            await server.waitForRequests(index)
            task.suspend()
            if goesOn { task.resume() }
            task.cancel()
            #expect(await code { try await task.value } == .cancelled)
        }
    }

    @Test("Resuming right after suspending continues")
    func suspendAndResume() async throws {
        let file = ServedFile(length: 3 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        for index in 0..<10 {
            let observer = Observer()
            let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("\(index)")))
            task.addDelegate(observer)
            task.resume()
            await observer.log.wait(for: "response 200")
            task.suspend()
            task.resume()
            task.suspend()
            task.resume()
            #expect(try await task.value.size == file.length)
            #expect(file.pattern.difference(fromFileAt: harness.path("\(index)"), length: file.length) == nil)
        }
    }
}
