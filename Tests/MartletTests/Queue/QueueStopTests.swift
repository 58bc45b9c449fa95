// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Martlet
import Testing
import TransferTesting

@Suite("Queues that are stopped or released", .timeLimit(.minutes(1)))
struct QueueStopTests {
    @Test("A stop ends what runs and what waits, each once, as cancelled; then the queue was stopped, not finished")
    func stop() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let queue = try QueueTests.queue(limit: 2)
        let observer = QueueObserver()
        queue.addDelegate(observer)
        for index in 0..<6 { try queue.add(server.text("\(index)"), userInfo: "#\(index)") }
        queue.start()
        await server.waitForRequests(2)
        queue.requestStop()
        queue.requestStop()
        try await queue.waitUntilFinished()
        await observer.log.wait(for: "stopped")
        #expect(queue.isFinished && queue.finishedCount == 6 && queue.runningCount == 0 && queue.waitingCount == 0)
        for number in 1...6 { #expect(observer.story(number) == ["fail cancelled#\(number - 1)"]) }
        #expect(observer.log.entries.last == "stopped" && !observer.log.entries.contains("finished"))
        #expect(observer.log.entries.count == 7 && server.requests.count == 2)
        queue.start()
        #expect(server.requests.count == 2)
    }

    @Test("A stop of a queue that was never started ends its items")
    func stopBeforeStart() async throws {
        let queue = try QueueTests.queue()
        let observer = QueueObserver()
        queue.addDelegate(observer)
        for _ in 0..<3 { try queue.add("http://127.0.0.1:9/") }
        queue.requestStop()
        try await queue.waitUntilFinished()
        await observer.log.wait(for: "stopped")
        #expect(observer.log.entries == ["1 fail cancelled", "2 fail cancelled", "3 fail cancelled", "stopped"])
    }

    @Test("Letting go of a queue that runs cuts nothing off, and it goes away when all is done")
    func dropped() async throws {
        let gate = Gate()
        let server = try await QueueTests.gated(gate)
        let observer = QueueObserver()
        weak var gone: TransferQueue?
        do {
            let queue = try QueueTests.queue()
            gone = queue
            queue.addDelegate(observer)
            for index in 0..<4 { try queue.add(server.text("\(index)")) }
            queue.start()
            queue.finishQueuing()
        }
        await server.waitForRequests(1)
        gate.open()
        await observer.log.wait(for: "finished")
        for number in 1...4 { #expect(observer.story(number).last == "finish 1") }
        while gone != nil { await Task.yield() }
    }

    @Test(
        "A queue that was never started, or has nothing to do, goes away with its last holder",
        arguments: [true, false]
    )
    func droppedIdle(_ isStarted: Bool) async throws {
        weak var gone: TransferQueue?
        do {
            let queue = try QueueTests.queue()
            gone = queue
            if isStarted { queue.start() } else { try queue.add("http://127.0.0.1:9/") }
        }
        while gone != nil { await Task.yield() }
    }

    @Test("A delegate that is released while transfers run is not called, and the rest continues")
    func delegateGone() async throws {
        let gate = Gate()
        let server = try await QueueTests.gated(gate)
        let queue = try QueueTests.queue()
        let (other, log) = (QueueObserver(), Log<String>())
        do {
            let observer = QueueObserver()
            queue.addDelegate(observer)
            queue.addDelegate(other)
            try queue.add(server.text("a"))
            queue.start()
            await server.waitForRequests(1)
            log.add("\(observer.log.entries.count)")
        }
        gate.open()
        queue.finishQueuing()
        await other.log.wait(for: "finished")
        #expect(other.story(1) == ["response 200", "data", "finish 1"] && log.entries == ["0"])
    }

    @Test("A removed delegate is not called")
    func delegateRemoved() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try QueueTests.queue()
        let (removed, other) = (QueueObserver(), QueueObserver())
        queue.addDelegate(removed)
        queue.addDelegate(removed)
        queue.addDelegate(other)
        queue.removeDelegate(removed)
        try queue.add(server.text("a"))
        queue.start()
        queue.finishQueuing()
        await other.log.wait(for: "finished")
        #expect(removed.log.entries == [])
    }

    @Test("Blocking waits work on a thread, on the delegate's own queue, and throw in asynchronous code")
    func blocking() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try QueueTests.queue()
        for index in 0..<10 { try queue.add(server.text("\(index)")) }
        queue.start()
        queue.finishQueuing()
        try await onThread { try queue.waitUntilFinishedBlocking() }
        #expect(queue.isFinished)
        func wait() throws { try queue.waitUntilFinishedBlocking() }
        #expect(await code { try wait() } == .wouldDeadlock)
    }

    @Test("Waiting on the main thread makes the calls that are pending there")
    @MainActor func mainThread() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try QueueTests.queue(limit: 3)
        let observer = QueueObserver()
        queue.addDelegate(observer, on: .main)
        for index in 0..<10 { try queue.add(server.text("\(index)")) }
        queue.start()
        queue.finishQueuing()
        func wait() throws { try queue.waitUntilFinishedBlocking() }
        try wait()
        #expect(queue.isFinished && queue.finishedCount == 10 && observer.log.entries.last == "finished")
        for number in 1...10 { #expect(observer.story(number).last == "finish 1") }
    }

    @Test("Callbacks that add items, change the limit and stop the queue do not deadlock")
    func fromCallbacks() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try QueueTests.queue()
        let adder = Adder(url: server.text("more"))
        queue.addDelegate(adder, on: .queue(DispatchQueue(label: "adder")))
        try queue.add(server.text("a"))
        queue.start()
        await adder.done.wait(for: "stopped")
        #expect(queue.finishedCount >= 5 && queue.isFinished)
    }

    private final class Adder: TransferQueueDelegate {
        let url: String
        let done = Log<String>()

        init(url: String) { self.url = url }

        func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
            queue.concurrentTransfers += 1
            if item.number < 5 { _ = try? queue.add(self.url) } else { queue.requestStop() }
        }

        func queueDidStop(_ queue: TransferQueue) { self.done.add("stopped") }
    }
}
