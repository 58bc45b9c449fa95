// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

/// A queue's delegate that records its calls.
final class QueueObserver: TransferQueueDelegate {
    let log = Log<String>()
    private let bodies = Mutex<[Int: [UInt8]]>([:])

    func body(_ number: Int) -> [UInt8]? { self.bodies.withLock { $0[number] } }

    /// The events of one item, consecutive data counted once.
    func story(_ number: Int) -> [String] {
        self.log.entries.filter { $0.hasPrefix("\(number) ") }.map { String($0.dropFirst("\(number) ".utf8.count)) }
            .reduce(into: []) { if $0.last != $1 || $1 != "data" { $0.append($1) } }
    }

    private func note(_ item: TransferQueue.Item, _ what: String) {
        self.log.add("\(item.number) \(what)" + (item.userInfo as? String ?? ""))
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive response: TransferResponse) {
        self.note(item, "response \(response.status)")
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8]) {
        self.bodies.withLock { $0[item.number, default: []] += bytes }
        self.note(item, "data")
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        self.note(item, "finish \(data.body.count)")
    }

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFailWith error: TransferError) {
        self.note(item, "fail \(error.code)")
    }

    func queueDidFinish(_ queue: TransferQueue) { self.log.add("finished") }

    func queueDidStop(_ queue: TransferQueue) { self.log.add("stopped") }
}

@Suite("Transfer queues", .timeLimit(.minutes(1)))
struct QueueTests {
    static func queue(limit: Int = 1, _ change: (inout SessionConfiguration) -> Void = { _ in }) throws -> TransferQueue
    {
        var configuration = TransferQueue.defaultConfiguration
        configuration.proxy = .none
        configuration.cookies = nil
        // A machine that is busy with other work for a minute must not lead to another attempt.
        configuration.requestTimeout = .zero
        change(&configuration)
        return try TransferQueue(concurrentTransfers: limit, configuration: configuration)
    }

    /// A server whose every answer waits for a gate.
    static func gated(_ gate: Gate) async throws -> ScriptedServer {
        try await ScriptedServer.start { _ in Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps) }
    }

    @Test("The limit is 1 by default, and items run in the order of adding")
    func order() async throws {
        let gate = Gate()
        let server = try await Self.gated(gate)
        let queue = try Self.queue()
        #expect(queue.concurrentTransfers == 1)
        for index in 0..<5 { try queue.add(server.text("\(index)")) }
        #expect(queue.waitingCount == 5 && queue.runningCount == 0 && server.requests.isEmpty)
        queue.start()
        await server.waitForRequests(1)
        #expect(queue.runningCount == 1 && queue.waitingCount == 4 && queue.finishedCount == 0)
        #expect(server.requests.count == 1)
        try queue.add(server.text("5"))
        queue.finishQueuing()
        #expect(!queue.isFinished)
        gate.open()
        try await queue.waitUntilFinished()
        #expect(queue.isFinished && queue.finishedCount == 6 && queue.waitingCount == 0 && queue.runningCount == 0)
        #expect(server.requests.map(\.target) == (0..<6).map { "/\($0)" })
    }

    @Test("The limit can change while it runs; those beyond a lower one run to their end")
    func limit() async throws {
        let (first, second) = (Gate(), Gate())
        // The head comes at once: a host that is silent for 5 seconds would not be counted.
        let server = try await ScriptedServer.start { request in
            Reply([
                .head(Reply.headBytes(200, [("Content-Length", "1")])),
                .waitUntil(request.requestIndex < 3 ? first : second), .bytes([1]),
            ])
        }
        let queue = try Self.queue(limit: 2)
        for index in 0..<6 { try queue.add(server.text("\(index)")) }
        queue.finishQueuing()
        queue.start()
        await server.waitForRequests(2)
        #expect(queue.runningCount == 2)
        queue.concurrentTransfers = 3
        await server.waitForRequests(3)
        #expect(queue.runningCount == 3 && queue.concurrentTransfers == 3)
        queue.concurrentTransfers = 1
        #expect(queue.runningCount == 3)
        first.open()
        await server.waitForRequests(4)
        // Those that have all their bytes no longer count against the limit, and still end.
        while queue.runningCount > 1 { await Task.yield() }
        #expect(server.requests.count == 4)
        queue.concurrentTransfers = 0
        #expect(queue.concurrentTransfers == 1)
        second.open()
        try await queue.waitUntilFinished()
        #expect(queue.finishedCount == 6)
    }

    @Test("The counts are read on many threads while items change")
    func counts() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try Self.queue(limit: 8)
        for index in 0..<300 { try queue.add(server.text("\(index)")) }
        queue.finishQueuing()
        let problems = Log<String>()
        let readers = (0..<4)
            .map { _ in
                Task {
                    var last = 0
                    while !queue.isFinished {
                        let (finished, running, waiting) = (queue.finishedCount, queue.runningCount, queue.waitingCount)
                        if finished < last { problems.add("finished \(finished) after \(last)") }
                        if running < 0 || running > 300 { problems.add("running \(running)") }
                        if waiting < 0 || waiting > 300 { problems.add("waiting \(waiting)") }
                        last = finished
                        await Task.yield()
                    }
                }
            }
        queue.start()
        try await queue.waitUntilFinished()
        for reader in readers { await reader.value }
        #expect(problems.entries.isEmpty)
        #expect(queue.finishedCount == 300 && queue.runningCount == 0 && queue.waitingCount == 0)
    }

    @Test("Each item's response, data and one end come with its user information; then the queue's end")
    func callbacks() async throws {
        let file = ServedFile(length: 300_000)
        let server = try await ScriptedServer.start { request in
            request.path == "/missing" ? .response(404) : .file(file, request)
        }
        let port = try RefusingPort()
        let queue = try Self.queue(limit: 3) { $0.retries = .none }
        let observer = QueueObserver()
        queue.addDelegate(observer)
        try queue.add(server.text("a"), userInfo: "!")
        try queue.add(server.text("missing"), userInfo: "?")
        try queue.add(port.text("a"))
        queue.start()
        queue.finishQueuing()
        try await queue.waitUntilFinished()
        await observer.log.wait(for: "finished")
        #expect(observer.story(1) == ["response 200!", "data!", "finish 300000!"] || observer.story(1).count > 3)
        #expect(observer.story(1).first == "response 200!" && observer.story(1).last == "finish 300000!")
        #expect(observer.body(1) == file.pattern.bytes(0..<300_000))
        #expect(observer.story(2) == ["response 404?", "fail httpStatus?"])
        #expect(observer.story(3) == ["fail network"])
        #expect(observer.log.entries.last == "finished" && observer.log.entries.count { $0 == "finished" } == 1)
        #expect(!observer.log.entries.contains("stopped") && queue.finishedCount == 3)
    }

    @Test("After finishQueuing, and after a stop, an add throws", arguments: [true, false])
    func closed(_ isStop: Bool) async throws {
        let queue = try Self.queue()
        if isStop { queue.requestStop() } else { queue.finishQueuing() }
        #expect(await code { try queue.add("http://127.0.0.1:9/") } == .queueClosed)
    }

    @Test("What cannot be asked is refused when it is added")
    func bad() async throws {
        let queue = try Self.queue()
        #expect(await code { try queue.add("no url") } == .badURL)
        var request = try TransferRequest("http://127.0.0.1:9/")
        request.headers.append("X", "a\r\nb")
        #expect(await code { try queue.add(request) } == .badRequest)
        #expect(queue.waitingCount == 0)
    }

    @Test("The same URL twice is two items")
    func twice() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try Self.queue(limit: 2)
        let observer = QueueObserver()
        queue.addDelegate(observer)
        let items = [try queue.add(server.text("a"), userInfo: "1"), try queue.add(server.text("a"), userInfo: "2")]
        #expect(items.map(\.number) == [1, 2] && items.map { $0.userInfo as? String } == ["1", "2"])
        queue.start()
        queue.finishQueuing()
        await observer.log.wait(for: "finished")
        #expect(server.requests.count == 2)
        #expect(observer.story(1).last == "finish 11" && observer.story(2).last == "finish 12")
    }

    @Test("Waiting returns at once where the queue was never started")
    func neverStarted() async throws {
        let queue = try Self.queue()
        try queue.add("http://127.0.0.1:9/")
        try await queue.waitUntilFinished()
        try await onThread { try queue.waitUntilFinishedBlocking() }
        #expect(!queue.isFinished && queue.waitingCount == 1)
    }

    @Test("An empty queue is finished as soon as no more will come")
    func empty() async throws {
        let queue = try Self.queue()
        let observer = QueueObserver()
        queue.addDelegate(observer)
        queue.start()
        #expect(!queue.isFinished)
        queue.finishQueuing()
        #expect(queue.isFinished)
        try await queue.waitUntilFinished()
        await observer.log.wait(for: "finished")
        queue.requestStop()
        #expect(observer.log.entries == ["finished"])
    }

    @Test("An item's time-out is the request's own, 10 seconds by default")
    func timeout() async throws {
        #expect(TransferQueue.defaultConfiguration.requestTimeout == .seconds(10))
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let queue = try Self.queue {
            $0.requestTimeout = .milliseconds(300)
            $0.retries = .none
        }
        let observer = QueueObserver()
        queue.addDelegate(observer)
        try queue.add(server.text("a"))
        queue.start()
        queue.finishQueuing()
        await observer.log.wait(for: "finished")
        #expect(observer.story(1) == ["fail timeout"])
    }
}
