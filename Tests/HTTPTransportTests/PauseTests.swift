// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Reading stops on request", .timeLimit(.minutes(1)))
struct PauseTests {
    @Test("a pause stops the server by back-pressure, and nothing is delivered until reading resumes")
    func pause() async throws {
        let size = 64 << 20
        let block = [UInt8](repeating: 7, count: size)
        let server = try await ScriptedServer.start(sendBuffer: 65_536) { request in
            request.path == "/" ? .response(200, body: block) : .response(200, text: "other")
        }
        try await HTTPTransport.with { (transport) async throws in
            let isPausing = Mutex(true)
            let receiver = ExchangeRecorder(onBody: { _ in isPausing.withLock { $0 } ? .pause : .read })
            let exchange = await transport.begin(try server.url("/"), receiver)
            await receiver.hasBody.wait()
            let before = receiver.now.body.count
            // Many other exchanges on the same lane: the loop turns, and the paused one must stay as it is.
            for _ in 0..<200 { _ = await transport.get(try server.url("/other")) }
            #expect(receiver.now.body.count == before)
            #expect(receiver.now.bodyPartCount == 1)
            #expect(server.bodyBytesSent(for: "/") < Int64(size))
            isPausing.withLock { $0 = false }
            exchange.resumeReading()
            let record = await receiver.whole()
            #expect(record.body.count == size)
            #expect(record.isClean == true)
        }
    }

    @Test("bytes read before a pause are kept, in whichever part the pause was requested")
    func heldBytes() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n").then(.close)
        }
        try await HTTPTransport.with { (transport) async throws in
            let paused = Mutex<(count: Int, gates: [Gate])>((0, [Gate(), Gate(), Gate()]))
            @Sendable func pause() -> ReadDecision {
                paused.withLock { state in
                    if state.count < 3 { state.gates[state.count].open() }
                    state.count += 1
                }
                return .pause
            }
            let receiver = ExchangeRecorder(onHead: { _ in pause() }, onBody: { _ in pause() })
            let exchange = await transport.begin(try server.url("/"), receiver)
            for index in 0..<3 {
                let gate = paused.withLock { $0.gates[index] }
                await gate.wait()
                #expect(receiver.now.bodyPartCount == index)
                #expect(!receiver.now.isOver)
                exchange.resumeReading()
            }
            let record = await receiver.whole()
            #expect(record.body == Array("ab".utf8))
            #expect(record.isClean == true)
        }
    }

    @Test("a truncation while paused is reported after the retained bytes")
    func truncatedWhilePaused() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(.close)
        }
        try await HTTPTransport.with { (transport) async throws in
            let paused = Gate()
            let receiver = ExchangeRecorder(onHead: { _ in
                paused.open()
                return .pause
            })
            let exchange = await transport.begin(try server.url("/"), receiver)
            await paused.wait()
            #expect(receiver.now.body.isEmpty)
            exchange.resumeReading()
            let record = await receiver.whole()
            #expect(record.body == Array("abc".utf8))
            #expect(record.error?.code == .truncated)
        }
    }

    @Test("no read is larger than the quantum, and a reused connection forgets it")
    func quantum() async throws {
        let body = [UInt8](repeating: 1, count: 1 << 20)
        let server = try await ScriptedServer.start { _ in .response(200, body: body) }
        try await HTTPTransport.with { (transport) async throws in
            let largest = Mutex(0)
            let receiver = ExchangeRecorder(onBody: { count in
                largest.withLock { $0 = max($0, count) }
                return .read
            })
            _ = await transport.begin(try server.url("/"), receiver, readQuantum: 1000)
            #expect(await receiver.whole().body.count == body.count)
            #expect(largest.withLock { $0 } <= 1000)
            let record = await transport.get(try server.url("/"))
            #expect(record.body.count == body.count)
            #expect(record.bodyPartCount < 1000)
        }
        #expect(server.connectionCount == 1)
    }

    @Test("a quantum that is set during a fast response bounds what is delivered from then on")
    func lateQuantum() async throws {
        let body = [UInt8](repeating: 1, count: 16 << 20)
        let server = try await ScriptedServer.start { _ in .response(200, body: body) }
        try await HTTPTransport.with { (transport) async throws in
            let counts = Mutex((before: 0, largest: 0))
            let exchange = Mutex<(any Exchange)?>(nil)
            let started = Gate()
            let receiver = ExchangeRecorder(
                onHead: { _ in started.isOpen ? .read : .pause },
                onBody: { count in
                    counts.withLock { counts in
                        if counts.before < 4 << 20 {
                            counts.before += count
                            if counts.before >= 4 << 20 { exchange.withLock { $0?.setReadQuantum(1000) } }
                        } else {
                            counts.largest = max(counts.largest, count)
                        }
                    }
                    return .read
                }
            )
            let begun = await transport.begin(try server.url("/"), receiver)
            exchange.withLock { $0 = begun }
            started.open()
            begun.resumeReading()
            #expect(await receiver.whole().body == body)
            #expect(counts.withLock { $0.largest } <= 1000)
        }
    }

    @Test("a cancelled exchange emits nothing more, and its connection is closed")
    func cancel() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply([.head(Reply.headBytes(200, [("Content-Length", "9")])), .bytes([1]), .stall])
        }
        try await HTTPTransport.with { (transport) async throws in
            let receiver = ExchangeRecorder()
            let exchange = await transport.begin(try server.url("/"), receiver)
            await receiver.hasBody.wait()
            await withCheckedContinuation { continuation in
                transport.execute(onLane: 0) {
                    exchange.cancel()
                    continuation.resume()
                }
            }
            await transport.shutdown()
            #expect(!receiver.now.isOver)
        }
    }

    @Test("shutting down fails a running exchange as cancelled")
    func shutdown() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        try await HTTPTransport.with { (transport) async throws in
            let receiver = ExchangeRecorder()
            _ = await transport.begin(try server.url("/"), receiver)
            await server.waitForRequests(1)
            await transport.shutdown()
            #expect(receiver.now.error?.code == .cancelled)
        }
    }
}
