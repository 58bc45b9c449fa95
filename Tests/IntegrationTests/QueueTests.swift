// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import FileStorage
import TransferCore
@testable import TransferEngine
import TransferTesting

/// The queue over real connections and a real disk.
@Suite(.timeLimit(.minutes(5)))
struct QueueTests {
    /// An engine with a recorder, for tests that steer it.
    private func withEngine(
        _ configuration: TransferEngine.Configuration = .init(),
        _ body: (TransferEngine, EventRecorder) async throws -> Void
    ) async throws {
        await Turnstile.shared.enter()
        defer { Turnstile.shared.leave() }
        let engine = try LiveEngine.make(configuration, store: DiskStore())
        let recorder = EventRecorder()
        engine.observe { recorder.record($0) }
        engine.start()
        try await body(engine, recorder)
        await engine.stop()
        await engine.transport.shutdown()
    }

    @Test("a thousand small files, few connections, every byte right")
    func manyFiles() async throws {
        let harness = try Harness()
        let server = try await ScriptedServer.start { request in
            let seed = UInt64(request.path.dropFirst(2)) ?? 0
            return .file(ServedFile(TestPattern(seed: seed), length: Int64(seed % 40_000)), request)
        }
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 16
        let requests = try (0..<1000).map { try harness.request([server.text("f\($0)")]) }
        let outcomes = try await harness.fetchAll(requests, engine: configuration)
        for (index, outcome) in outcomes.enumerated() {
            let file = ServedFile(TestPattern(seed: UInt64(index)), length: Int64(index % 40_000))
            harness.expectWhole(outcome, file, name: "f\(index)", alone: false)
        }
        #expect(server.connectionCount <= 64)
        await server.stop()
    }

    @Test("durable files are all there", arguments: [5_000, fileLength])
    func durable(_ length: Int64) async throws {
        let harness = try Harness()
        let file = ServedFile(length: length)
        let server = try await serve(Served(file))
        let requests = try (0..<(length < 1 << 20 ? 100 : 3))
            .map { index in
                try harness.request([server.text("f\(index)")]) { $0.options.durable = true }
            }
        let outcomes = try await harness.fetchAll(requests)
        for (index, outcome) in outcomes.enumerated() {
            harness.expectWhole(outcome, file, name: "f\(index)", alone: false)
        }
        #expect(harness.directory.entries().count == requests.count)
        await server.stop()
    }

    @Test("the same URL twice is two transfers, and user information travels with each")
    func twice() async throws {
        let harness = try Harness()
        let file = ServedFile(length: fileLength)
        let server = try await serve(Served(file))
        let requests = try ["one", "two"]
            .map { info in
                try harness.request([server.text("file.bin")]) { $0.userInfo = info }
            }
        let outcomes = try await harness.fetchAll(requests)
        harness.expectWhole(outcomes[0], file, alone: false)
        harness.expectWhole(outcomes[1], file, name: "file.1.bin", alone: false)
        #expect(outcomes[0].events.allSatisfy { $0.userInfo as? String == "one" })
        #expect(outcomes[1].events.allSatisfy { $0.userInfo as? String == "two" })
        await server.stop()
    }

    @Test("events come in order: started, response, progress, finished")
    func order() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.rate = 3_000_000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        let order = outcome.events.compactMap { event -> Int? in
            switch event.kind {
            case .started: 0
            case .response: 1
            case .progress: 2
            case .finished: 3
            default: nil
            }
        }
        #expect(order == order.sorted(), "\(outcome.story)")
        #expect(Set(order) == [0, 1, 2, 3], "\(outcome.story)")
        #expect(Double(order.count { $0 == 2 }) <= 6 * outcome.seconds + 6)
        await server.stop()
    }

    @Test("an add after close throws")
    func closed() async throws {
        let harness = try Harness()
        try await self.withEngine { engine, _ in
            engine.close()
            #expect(throws: EngineError.self) { try engine.add(try harness.request(["http://127.0.0.1:1/x"])) }
            await engine.waitUntilDrained()
        }
    }

    @Test("a pause keeps the bytes, and resuming fetches only the rest")
    func pause() async throws {
        let harness = try Harness()
        var stalling = ServedFile(length: fileLength)
        // It cannot end before it is paused.
        stalling.interruption = .stallAfter(cutLength)
        stalling.interruptedResponses = 1
        let file = stalling
        let server = try await serve(Served(file))
        try await self.withEngine { engine, recorder in
            let id = try engine.add(try harness.request([server.text("file.bin")]))
            _ = await recorder.wait {
                if case .progress(let progress) = $0.kind { progress.bytes >= cutLength } else { false }
            }
            engine.pause(id)
            _ = await recorder.wait { if case .paused = $0.kind { true } else { false } }
            #expect(engine.state(of: id) == .paused)
            engine.resume(id)
            _ = await recorder.end(of: id)
            harness.expectWhole(Outcome(events: recorder.events(of: id), seconds: 0), file)
        }
        await server.stop()
        #expect(server.bodyBytesSent == fileLength)
    }

    @Test("a cancelled transfer leaves nothing")
    func cancel() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .stallAfter(1_500_000)
        let server = try await serve(Served(file))
        try await self.withEngine { engine, recorder in
            let id = try engine.add(try harness.request([server.text("file.bin")]))
            _ = await recorder.wait { if case .progress = $0.kind { true } else { false } }
            engine.cancel(id)
            let end = await recorder.end(of: id)
            if case .cancelled = end.kind {} else { Issue.record("ended as \(end.kind)") }
            #expect(engine.counts.cancelled == 1)
        }
        #expect(harness.directory.entries().isEmpty)
        await server.stop()
    }

    @Test("stop keeps what can be resumed, over one connection and four", arguments: [1, 4])
    func stop(_ connections: Int) async throws {
        let harness = try Harness()
        let file = ServedFile(length: 8 << 20)
        let served = Served(file)
        // It cannot end before it is stopped.
        served.change { $0.interruption = .stallAfter(2_800_000 / Int64(connections)) }
        let server = try await serve(served)
        try await self.withEngine { engine, recorder in
            let request = try harness.request([server.text("file.bin")]) {
                $0.options.connections = .fixed(connections)
            }
            _ = try engine.add(request)
            _ = await recorder.wait { event in
                if case .progress(let progress) = event.kind { progress.bytes >= 2_800_000 } else { false }
            }
        }
        #expect(harness.directory.entries() == ["file.bin.part", "file.bin.part.journal"])
        served.change { $0 = file }
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.options.connections = .fixed(connections)
        }
        harness.expectWhole(outcome, file)
        #expect(Double(server.bodyBytesSent) <= Double(file.length) * 1.3)
        await server.stop()
    }

    @Test("a consumer that stops reading costs no transfer its progress")
    func idleConsumer() async throws {
        let harness = try Harness()
        let file = ServedFile(length: 1000)
        let server = try await serve(Served(file))
        try await self.withEngine { engine, _ in
            let events = engine.events(bufferingAtMost: 4)
            for index in 0..<200 { try engine.add(try harness.request([server.text("f\(index)")])) }
            engine.close()
            await engine.waitUntilDrained()
            #expect(engine.counts.finished == 200)
            var missed = 0
            for await event in events {
                if case .missed(let count) = event.kind { missed += count }
                if case .drained = event.kind { break }
            }
            #expect(missed > 0)
        }
        await server.stop()
    }

    @Test("limits can be raised while it runs")
    func raisedLimits() async throws {
        let harness = try Harness()
        let gate = Gate()
        let file = ServedFile(length: 1000)
        let server = try await ScriptedServer.start { request in
            Reply([.waitUntil(gate)] + Reply.file(file, request).steps)
        }
        var configuration = TransferEngine.Configuration()
        configuration.concurrentTransfers = 1
        try await self.withEngine(configuration) { engine, _ in
            for index in 0..<6 { try engine.add(try harness.request([server.text("f\(index)")])) }
            await server.waitForRequests(1)
            #expect(engine.counts.running == 1)
            engine.setConcurrentTransfers(6)
            await server.waitForRequests(6)
            gate.open()
            engine.close()
            await engine.waitUntilDrained()
            #expect(engine.counts.finished == 6)
        }
        await server.stop()
    }

    @Test("standard output gets the bytes once and in order, over a broken connection, too")
    func stream() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.interruption = .closeAfter(cutLength)
        file.interruptedResponses = 2
        let server = try await serve(Served(file))
        let sink = CollectingSink()
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.destination = .stream(sink) }
        #expect(outcome.completion != nil, "\(outcome.story)")
        #expect(sink.bytes == file.pattern.bytes(0..<fileLength))
        #expect(harness.directory.entries().isEmpty)
        await server.stop()
    }

    @Test("standard output never starts over once a byte is written")
    func streamCannotStartOver() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.supportsRanges = false
        file.interruption = .closeAfter(cutLength)
        let server = try await serve(Served(file))
        let sink = CollectingSink()
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.destination = .stream(sink) }
        #expect(outcome.failure != nil, "\(outcome.story)")
        #expect(sink.bytes == file.pattern.bytes(0..<Int64(sink.bytes.count)))
        await server.stop()
    }
}

/// Keeps what a stream gets.
final class CollectingSink: ByteSink {
    private let collected = Mutex<[UInt8]>([])

    var bytes: [UInt8] { self.collected.withLock { $0 } }

    func write(_ bytes: [UInt8]) throws(StorageError) {
        self.collected.withLock { $0 += bytes }
    }
}
