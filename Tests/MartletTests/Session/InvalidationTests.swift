// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Ends of sessions", .timeLimit(.minutes(1)))
struct InvalidationTests {
    @Test("finishTasksAndInvalidate lets tasks end, refuses new ones, and calls delegates once, last")
    func finishing() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let running = try harness.session.dataTask(for: server.text("a"))
        running.resume()
        let made = try harness.session.dataTask(for: server.text("b"))
        await server.waitForRequests(1)
        harness.session.finishTasksAndInvalidate()
        harness.session.finishTasksAndInvalidate()
        #expect(await code { try harness.session.dataTask(for: server.text("c")) } == .invalidated)
        #expect(await code { try harness.session.downloadTask(for: server.text("c")) } == .invalidated)
        #expect(!observer.log.entries.contains("invalid"))
        gate.open()
        #expect(try await running.value.text == "x")
        made.resume()
        #expect(try await made.value.text == "x")
        await observer.log.wait(for: "invalid")
        #expect(observer.story.last == "invalid")
        harness.session.invalidateAndCancel()
        harness.session.finishTasksAndInvalidate()
        #expect(observer.log.entries.count { $0 == "invalid" } == 1)
        #expect(observer.log.entries.count { $0 == "end" } == 2)
    }

    @Test("invalidateAndCancel cancels running, waiting, suspended and new tasks, then calls delegates once")
    func cancelling() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness { $0.concurrentTransfers = 1 }
        let observer = Observer()
        harness.session.addDelegate(observer)
        let running = try harness.session.dataTask(for: server.text("a"))
        let waiting = try harness.session.downloadTask(for: server.text("b"))
        let suspended = try harness.session.dataTask(for: server.text("c"))
        let fresh = try harness.session.dataTask(for: server.text("d"))
        running.resume()
        waiting.resume()
        suspended.resume()
        suspended.suspend()
        await server.waitForRequests(1)
        harness.session.invalidateAndCancel()
        for task in [running, suspended, fresh] { #expect(await code { try await task.value } == .cancelled) }
        #expect(await code { try await waiting.value } == .cancelled)
        await observer.log.wait(for: "invalid")
        #expect(
            observer.story == [
                "failed cancelled", "failed cancelled", "failed cancelled", "failed cancelled", "invalid",
            ]
        )
        #expect(await code { try harness.session.dataTask(for: server.text("e")) } == .invalidated)
        #expect(server.requests.count == 1)
    }

    @Test("A session without tasks is invalid at once")
    func empty() async throws {
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        harness.session.finishTasksAndInvalidate()
        await observer.log.wait(for: "invalid")
        #expect(await harness.session.tasks().isEmpty)
    }

    @Test("Letting go of the session cuts nothing off, and it goes away with its last task")
    func dropped() async throws {
        let gate = Gate()
        let file = ServedFile(length: 2 << 20)
        let server = try await ScriptedServer.start { request in
            Reply([.waitUntil(gate)] + Reply.file(file, request).steps)
        }
        let directory = try TemporaryDirectory()
        let ends = Log<String>()
        weak var gone: TransferSession?
        do {
            let session = try TransferSession(configuration: Harness.configuration(directory))
            gone = session
            try session.data(from: server.text("data")) { ends.add("data \((try? $0.get().body.count) ?? -1)") }
            try session.download(from: server.text("file"), to: .file(directory.path("file"))) {
                ends.add("file \((try? $0.get().size) ?? -1)")
            }
        }
        await server.waitForRequests(2)
        #expect(gone != nil)
        gate.open()
        await ends.wait(for: 2)
        #expect(ends.entries.sorted() == ["data 2097152", "file 2097152"])
        #expect(file.pattern.difference(fromFileAt: directory.path("file"), length: file.length) == nil)
        // The last hold on it goes with the last task's own end, which is just behind its handler.
        while gone != nil { await Task.yield() }
    }

    @Test("A suspended task without a reference is cancelled, and its session can end")
    func droppedSuspended() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        do {
            let task = try harness.session.dataTask(for: server.text("a"))
            task.resume()
            await server.waitForRequests(1)
            task.suspend()
            let fresh = try harness.session.downloadTask(for: server.text("b"))
            #expect(fresh.state == .suspended)
        }
        harness.session.finishTasksAndInvalidate()
        await observer.log.wait(for: "invalid")
        await server.waitForOpenConnections(0)
        #expect(await harness.session.tasks().isEmpty)
    }

    @Test("tasks() has the tasks that have not ended, by kind, in the order of making")
    func kinds() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/now" ? .response(200, text: "x") : Reply([.stall])
        }
        let harness = try Harness()
        let first = try harness.session.dataTask(for: server.text("a"))
        let download = try harness.session.downloadTask(for: server.text("b"))
        let second = try harness.session.dataTask(for: server.text("c"))
        first.resume()
        download.resume()
        _ = try await harness.session.data(from: server.text("now"))
        let tasks = await harness.session.tasks()
        #expect(tasks.data.map(\.id) == [first.id, second.id])
        #expect(tasks.download.map(\.id) == [download.id])
        #expect(tasks.count == 3 && !tasks.isEmpty)
        first.cancel()
        _ = try? await first.value
        #expect(await harness.session.tasks().data.map(\.id) == [second.id])
        harness.session.invalidateAndCancel()
    }

    @Test("A resumed task lives although only the session retains it")
    func unheld() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        try harness.session.dataTask(for: server.text("a")).resume()
        await server.waitForRequests(1)
        #expect(await harness.session.tasks().count == 1)
        gate.open()
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "data", "end"])
    }
}
