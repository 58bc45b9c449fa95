// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Blocking calls on the delegates' own thread", .timeLimit(.minutes(1)))
struct BlockedDelegateTests {
    private static let pattern = TestPattern(seed: 3)

    private static func server(_ size: Int64) async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            if request.target == "/small" { return .response(200, text: "small") }
            return Reply([
                .head(Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8)),
                .pattern(self.pattern, 0..<size),
            ])
        }
    }

    /// Responds once a gate is open.
    private static func server(waitingFor gate: Gate) async throws -> ScriptedServer {
        try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate), .head(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))])
        }
    }

    /// A started queue with one item.
    private static func queue(_ server: ScriptedServer) throws -> TransferQueue {
        let queue = try TransferQueue()
        try queue.add(server.text("x"))
        queue.finishQueuing()
        queue.start()
        return queue
    }

    /// Runs work on a queue that can block.
    private static func on<Value: Sendable>(
        _ queue: DispatchQueue,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try work() }) }
        }
    }

    @Test("The thread of a delegate that waits for a queue makes the delegate's calls, with every byte")
    func finishes() async throws {
        let server = try await Self.server(6 << 20)
        let serial = DispatchQueue(label: "the delegate's")
        let queue = try TransferQueue(concurrentTransfers: 3)
        let counter = Counter()
        queue.addDelegate(counter, on: .queue(serial))
        for number in 0..<6 { try queue.add(server.text("\(number)")) }
        queue.finishQueuing()
        queue.start()
        try await Self.on(serial) { try queue.waitUntilFinishedBlocking() }
        #expect(counter.hasFinished.withLock { $0 })
        #expect(counter.bytes.withLock { $0.values.map(\.self) } == Array(repeating: 6 << 20, count: 6))
        #expect(counter.wrong.withLock { $0 } == 0)
    }

    @Test("A queue stops while the thread of its delegate waits for it")
    func stops() async throws {
        let server = try await Self.server(10 << 20)
        let serial = DispatchQueue(label: "the delegate's")
        let queue = try TransferQueue(concurrentTransfers: 3)
        let counter = Counter()
        queue.addDelegate(counter, on: .queue(serial))
        for number in 0..<20 { try queue.add(server.text("\(number)")) }
        queue.start()
        try await Self.on(serial) {
            queue.requestStop()
            try queue.waitUntilFinishedBlocking()
        }
        #expect(queue.finishedCount == 20)
    }

    @Test("A wait includes every call of the delegates, wherever they are called", arguments: [true, false])
    func includesCalls(_ isBlocking: Bool) async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        for round in 0..<50 {
            let queue = try QueueTests.queue(limit: 3)
            let (here, there) = (QueueObserver(), QueueObserver())
            queue.addDelegate(here)
            queue.addDelegate(there, on: .queue(DispatchQueue(label: "a delegate's")))
            for number in 0..<3 { try queue.add(server.text("\(number)")) }
            queue.finishQueuing()
            queue.start()
            if isBlocking {
                try await onThread { try queue.waitUntilFinishedBlocking() }
            } else {
                try await queue.waitUntilFinished()
            }
            #expect(here.log.entries.last == "finished" && there.log.entries.last == "finished", "round \(round)")
        }
    }

    @Test("A delegate's call that waits for its own queue makes the later calls", arguments: [true, false])
    func ownCall(_ isOnQueue: Bool) async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let queue = try QueueTests.queue(limit: 2)
        let (waiter, observer) = (Waiter(), QueueObserver())
        queue.addDelegate(waiter, on: isOnQueue ? .queue(DispatchQueue(label: "the waiter's")) : .anyThread)
        queue.addDelegate(observer)
        for number in 0..<5 { try queue.add(server.text("\(number)")) }
        queue.finishQueuing()
        queue.start()
        await waiter.log.wait(for: "returned")
        // The call that waits, the others nested in it, and then its return.
        #expect(waiter.log.entries == ["waits", "end", "end", "end", "end", "finished", "returned"])
        #expect(observer.log.entries.last == "finished")
        try await queue.waitUntilFinished()
    }

    @Test("The calls of a delegate that was removed meanwhile, and those in a context of the program's own, are made")
    func ownContext() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let serial = DispatchQueue(label: "the program's")
        let key = DispatchSpecificKey<Bool>()
        serial.setSpecific(key: key, value: true)
        let own = CallbackContext {
            serial.async(execute: $0)
        } isCurrent: {
            DispatchQueue.getSpecific(key: key) ?? false
        }
        let queue = try QueueTests.queue()
        let (leaver, observer) = (Leaver(), QueueObserver())
        queue.addDelegate(leaver, on: own)
        queue.addDelegate(observer, on: .queue(serial))
        for number in 0..<3 { try queue.add(server.text("\(number)")) }
        queue.finishQueuing()
        try await Self.on(DispatchQueue(label: "its child", target: serial)) {
            queue.start()
            try queue.waitUntilFinishedBlocking()
        }
        #expect(leaver.log.entries == ["first"])
        #expect(observer.log.entries.last == "finished")
    }

    @Test("A caller's timeout is heeded, and the queue continues")
    func timeout() async throws {
        let gate = Gate()
        let server = try await Self.server(waitingFor: gate)
        let queue = try Self.queue(server)
        let error = await #expect(throws: TransferError.self) {
            try await Self.on(.global()) { try queue.waitUntilFinishedBlocking(timeout: .milliseconds(50)) }
        }
        #expect(error?.code == .timeout)
        let session = try TransferSession()
        let other = await #expect(throws: TransferError.self) {
            try await Self.on(.global()) {
                try session.dataBlocking(from: server.text("y"), timeout: .milliseconds(50))
            }
        }
        #expect(other?.code == .timeout)
        gate.open()
        try await queue.waitUntilFinished()
    }

    @Test("Cancelling the Swift task ends its wait for a queue")
    func cancelled() async throws {
        let gate = Gate()
        let server = try await Self.server(waitingFor: gate)
        let queue = try Self.queue(server)
        let waiting = Task { try await queue.waitUntilFinished() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.open()
        try await queue.waitUntilFinished()
        #expect(queue.finishedCount == 1)
    }

    @Test("A blocking call in a delegate's method ends although all places are taken by transfers that wait for it")
    func inDelegate() async throws {
        let server = try await Self.server(4 << 20)
        var configuration = SessionConfiguration.ephemeral
        configuration.concurrentTransfers = 2
        configuration.connectionsPerHost = 2
        let session = try TransferSession(configuration: configuration)
        let caller = Caller(session, server.text("small"))
        session.addDelegate(caller)
        let tasks = try (0..<4)
            .map { number in try session.dataTask(for: server.text("\(number)"), collectsBody: false) }
        for task in tasks { task.resume() }
        for task in tasks { _ = try await task.value }
        #expect(caller.answers.withLock { $0.allSatisfy { $0 == "small" } && $0.count >= 4 })
    }
}

/// Counts the bytes of each item.
private final class Counter: TransferQueueDelegate {
    let bytes = Mutex<[Int: Int]>([:])
    let wrong = Mutex(0)
    let hasFinished = Mutex(false)
    private let pattern = TestPattern(seed: 3)

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didReceive bytes: [UInt8]) {
        let offset = self.bytes.withLock { counts in
            defer { counts[item.number, default: 0] += bytes.count }
            return counts[item.number] ?? 0
        }
        if self.pattern.bytes(Int64(offset)..<Int64(offset + bytes.count)) != bytes { self.wrong.withLock { $0 += 1 } }
    }

    func queueDidFinish(_ queue: TransferQueue) { self.hasFinished.withLock { $0 = true } }
}

/// Makes a blocking call with the first bytes of each task.
private final class Caller: TransferDelegate {
    let answers = Mutex<[String]>([])
    private let known = Mutex<Set<Int>>([])
    private let session: TransferSession
    private let url: String

    init(_ session: TransferSession, _ url: String) {
        self.session = session
        self.url = url
    }

    func task(_ task: DataTask, didReceive bytes: [UInt8]) {
        guard self.known.withLock({ $0.insert(task.id).inserted }) else { return }
        let answer = try? self.session.dataBlocking(from: self.url)
        self.answers.withLock { $0.append(answer?.text ?? "failed") }
    }
}

/// Waits for its own queue in its first call.
private final class Waiter: TransferQueueDelegate {
    let log = Log<String>()

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        guard self.log.entries.isEmpty else { return self.log.add("end") }
        self.log.add("waits")
        do {
            try queue.waitUntilFinishedBlocking()
            self.log.add("returned")
        } catch {
            self.log.add("\(error)")
        }
    }

    func queueDidFinish(_ queue: TransferQueue) { self.log.add("finished") }
}

/// Removes itself in its first call.
private final class Leaver: TransferQueueDelegate {
    let log = Log<String>()

    func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
        self.log.add("first")
        queue.removeDelegate(self)
    }
}
