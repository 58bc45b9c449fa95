// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Bodies in memory", .timeLimit(.minutes(1)))
struct BodyLimitTests {
    @Test("A body larger than the maximum fails the task; one of just the maximum does not", arguments: [true, false])
    func maximum(_ isDeclared: Bool) async throws {
        var file = ServedFile(length: 100_000)
        file.framing = isDeclared ? .length : .chunked
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let harness = try Harness()
        let error = try await failure { try await harness.session.data(from: server.text("a"), maximumBytes: 99_999) }
        #expect(error.code == .bodyTooLarge && !error.isRetryable)
        #expect(server.requests.count == 1)
        let whole = try await harness.session.data(from: server.text("a"), maximumBytes: 100_000)
        #expect(whole.body == file.pattern.bytes(0..<100_000))
    }

    @Test("A body that is only delivered in events can have any size")
    func notCollected() async throws {
        let file = ServedFile(length: 8 << 20)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"), maximumBytes: 1000, collectsBody: false)
        let events = task.events
        task.resume()
        var (count, isRight) = (Int64(0), true)
        for await event in events {
            guard case .data(let bytes) = event else { continue }
            isRight = isRight && bytes == file.pattern.bytes(count..<(count + Int64(bytes.count)))
            count += Int64(bytes.count)
        }
        #expect(count == file.length && isRight)
        #expect(try await task.value.body.isEmpty)
    }

    @Test("An unconsumed sequence makes the server stop sending")
    func sequencePressure() async throws {
        let length: Int64 = 64 << 20
        let (server, harness) = (try await Self.large(length), try Harness())
        let task = try harness.session.dataTask(for: server.text("a"), collectsBody: false)
        let events = task.events
        task.resume()
        await server.waitForRequests(1)
        try await Self.passAnother(server, length)
        // A bounded amount: what is held in memory, and what the kernel's buffers take.
        #expect(server.bodyBytesSent(for: "/a") < 24 << 20)
        var count: Int64 = 0
        for await event in events { if case .data(let bytes) = event { count += Int64(bytes.count) } }
        #expect(count == length)
    }

    @Test("A delegate that keeps its call makes the server stop sending")
    func delegatePressure() async throws {
        let length: Int64 = 64 << 20
        let (server, harness, gate) = (try await Self.large(length), try Harness(), Gate())
        let observer = Observer { script in
            script.data = { _, _ in
                guard !gate.isOpen else { return }
                Waiting.block(on: gate)
            }
        }
        let task = try harness.session.dataTask(for: server.text("a"), collectsBody: false)
        task.addDelegate(observer)
        task.resume()
        await server.waitForRequests(1)
        try await Self.passAnother(server, length)
        #expect(server.bodyBytesSent(for: "/a") < 24 << 20)
        gate.open()
        _ = try await task.value
        await observer.waitForEnds()
        #expect(Int64(observer.bytes.count) == length)
    }

    private static func large(_ length: Int64) async throws -> ScriptedServer {
        try await ScriptedServer.start(sendBuffer: 64 << 10) { .file(ServedFile(length: length), $0) }
    }

    /// Brings all of another file from the same server, which so has had the time to send as much of the first.
    private static func passAnother(_ server: ScriptedServer, _ length: Int64) async throws {
        let other = try Harness()
        let task = try other.session.dataTask(for: server.text("other"), collectsBody: false)
        task.resume()
        _ = try await task.value
        #expect(task.bytesReceived == length)
    }
}
