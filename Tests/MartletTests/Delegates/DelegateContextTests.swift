// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Where delegates are called", .timeLimit(.minutes(1)))
struct DelegateContextTests {
    private static let key = DispatchSpecificKey<String>()

    private func run(_ harness: Harness, _ observer: Observer) async throws {
        let file = ServedFile(length: 2 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        #expect(try await task.value.body.count == 2 << 20)
        await observer.waitForEnds()
        #expect(observer.bytes == file.pattern.bytes(0..<file.length))
    }

    @Test("On a serial queue")
    func serialQueue() async throws {
        let queue = DispatchQueue(label: "delegate")
        queue.setSpecific(key: Self.key, value: "mine")
        let places = Log<String?>()
        let observer = Observer { $0.every = { _ in places.add(DispatchQueue.getSpecific(key: Self.key)) } }
        let harness = try Harness()
        harness.session.addDelegate(observer, on: .queue(queue))
        try await self.run(harness, observer)
        #expect(places.entries.count >= 3 && places.entries.allSatisfy { $0 == "mine" })
    }

    @Test("On a concurrent queue, one call at a time and in order")
    func concurrentQueue() async throws {
        let queue = DispatchQueue(label: "delegate", attributes: .concurrent)
        queue.setSpecific(key: Self.key, value: "mine")
        let (places, box) = (Log<String?>(), Counters())
        let observer = Observer { script in
            script.every = { _ in places.add(DispatchQueue.getSpecific(key: Self.key)) }
            script.data = { _, _ in box.pass() }
        }
        let harness = try Harness()
        harness.session.addDelegate(observer, on: .queue(queue))
        try await self.run(harness, observer)
        #expect(places.entries.allSatisfy { $0 == "mine" })
        #expect(box.overlaps == 0)
        #expect(observer.story.first == "response 200" && observer.story.last == "end")
    }

    @Test("On the main actor, by a preconcurrency conformance")
    @MainActor func mainActor() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        let harness = try Harness()
        let window = Window()
        harness.session.addDelegate(window, on: .main)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        _ = try await task.value
        await window.done.wait(for: "hello")
        #expect(window.shown == ["response", "hello"])
    }

    @Test("While an actor is held, so that the delegate may assume its isolation")
    func actor() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        let harness = try Harness()
        let keeper = Keeper()
        let observer = Observer { script in
            script.every = { name in keeper.assumeIsolated { $0.names.append(name) } }
        }
        harness.session.addDelegate(observer, on: .actor(keeper))
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        _ = try await task.value
        await observer.waitForEnds()
        #expect(await keeper.names == ["response 200", "data", "end"])
    }

    @Test("On a task executor")
    func executor() async throws {
        let executor = QueueExecutor()
        executor.queue.setSpecific(key: Self.key, value: "executor")
        let places = Log<String?>()
        let observer = Observer { $0.every = { _ in places.add(DispatchQueue.getSpecific(key: Self.key)) } }
        let harness = try Harness()
        harness.session.addDelegate(observer, on: .executor(executor))
        try await self.run(harness, observer)
        #expect(places.entries.allSatisfy { $0 == "executor" })
    }

    @Test("In a context of the program's own")
    func own() async throws {
        let queue = DispatchQueue(label: "own")
        let runs = Log<Int>()
        let context = CallbackContext { work in
            runs.add(1)
            queue.async(execute: work)
        }
        let observer = Observer()
        let harness = try Harness()
        harness.session.addDelegate(observer, on: context)
        try await self.run(harness, observer)
        #expect(!runs.entries.isEmpty)
    }

    @Test("Completion handlers are called in the configuration's context")
    func handlers() async throws {
        let queue = DispatchQueue(label: "handlers")
        queue.setSpecific(key: Self.key, value: "handlers")
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness { $0.callbackContext = .queue(queue) }
        let places = Log<String?>()
        try harness.session.data(from: server.text("a")) { _ in places.add(DispatchQueue.getSpecific(key: Self.key)) }
        try harness.session.download(from: server.text("a")) { _ in
            places.add(DispatchQueue.getSpecific(key: Self.key))
        }
        await places.wait(for: 2)
        #expect(places.entries == ["handlers", "handlers"])
    }

    @Test("A delegate that is added twice is called once, in the context named last")
    func addedTwice() async throws {
        let queue = DispatchQueue(label: "second")
        queue.setSpecific(key: Self.key, value: "second")
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let places = Log<String?>()
        let observer = Observer { $0.every = { _ in places.add(DispatchQueue.getSpecific(key: Self.key)) } }
        let harness = try Harness()
        harness.session.addDelegate(observer)
        harness.session.addDelegate(observer, on: .queue(queue))
        _ = try await harness.session.data(from: server.text("a"))
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "data", "end"])
        #expect(places.entries == ["second", "second", "second"])
    }
}

/// Counts calls that overlap.
private final class Counters: Sendable {
    private let state = Mutex((inside: 0, overlaps: 0))

    func pass() {
        self.state.withLock { state in
            state.inside += 1
            if state.inside > 1 { state.overlaps += 1 }
        }
        // Work that another call would fall into, if there were one.
        _ = TestPattern().bytes(0..<10_000)
        self.state.withLock { $0.inside -= 1 }
    }

    var overlaps: Int { self.state.withLock { $0.overlaps } }
}

@MainActor
private final class Window: @preconcurrency TransferDelegate {
    var shown: [String] = []
    let done = Log<String>()

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        self.shown.append("response")
        decide(.allow)
    }

    func task(_ task: DataTask, didEndWith result: Result<DataResponse, TransferError>) {
        self.shown.append((try? result.get().text) ?? "failed")
        self.done.add(self.shown.last ?? "")
    }
}

private actor Keeper {
    var names: [String] = []
}

private final class QueueExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "executor")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
