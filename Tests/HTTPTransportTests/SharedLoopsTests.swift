// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Shared loops", .timeLimit(.minutes(1)))
struct SharedLoopsTests {
    private struct Weak {
        weak var transport: HTTPTransport?
    }

    @Test("a transport that is shut down cancels what is its own, and leaves the others' alone")
    func shutdown() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/body": Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(.stall)
            case "/wait": Reply([.stall])
            default: .response(200, text: "all")
            }
        }
        let loops = SharedLoops(laneCount: 1)
        let first = try HTTPTransport(configuration: HTTPTransport.Configuration(), on: loops)
        let second = try HTTPTransport(configuration: HTTPTransport.Configuration(), on: loops)
        #expect(first.laneCount == 1 && loops.laneCount == 1)
        #expect(await first.get(try server.url("/")).body == Array("all".utf8))

        let reading = ExchangeRecorder()
        let paused = ExchangeRecorder(onBody: { _ in .pause })
        let waiting = ExchangeRecorder()
        let connecting = ExchangeRecorder()
        let other = ExchangeRecorder()
        for (path, receiver) in [("/body", reading), ("/body", paused), ("/wait", waiting)] {
            _ = await first.begin(try server.url(path), receiver)
        }
        // A plain server that is taken for a TLS one never ends the handshake.
        _ = await first.begin(try HTTPURL("https://127.0.0.1:\(server.port)/wait"), connecting)
        _ = await second.begin(try server.url("/body"), other)
        for receiver in [reading, paused, other] { await receiver.hasBody.wait() }
        await waiting.connected.wait()

        await first.shutdown()
        for receiver in [reading, paused, waiting, connecting] {
            let record = await receiver.whole()
            #expect(record.error?.code == .cancelled)
            #expect(record.violations.isEmpty)
        }
        #expect(await first.get(try server.url("/")).error?.code == .cancelled)
        #expect(!other.now.isOver)
        #expect(await second.get(try server.url("/")).body == Array("all".utf8))
        await second.shutdown()
        #expect(await other.whole().error?.code == .cancelled)
        await loops.shutdown()
        await loops.shutdown()
    }

    @Test("loops know their own threads")
    func currentThread() async throws {
        #expect(!SharedLoops.isCurrentThread)
        let loops = SharedLoops(laneCount: 2)
        let transport = try HTTPTransport(configuration: HTTPTransport.Configuration(), on: loops)
        let isOnLoop = await withCheckedContinuation { continuation in
            transport.execute(onLane: 1) { continuation.resume(returning: SharedLoops.isCurrentThread) }
        }
        #expect(isOnLoop)
        await transport.shutdown()
        await loops.shutdown()
    }

    @Test("a released transport closes its unused connections, and others when they are done")
    func letGo() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            request.path == "/slow"
                ? Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na")
                    .then(.waitUntil(gate), .bytes([0x62, 0x63]))
                : .response(200, text: "abc")
        }
        let loops = SharedLoops(laneCount: 1)
        var configuration = HTTPTransport.Configuration()
        configuration.idleTimeout = .max
        let slow = ExchangeRecorder()
        weak var remembered: HTTPTransport?
        do {
            let transport = try HTTPTransport(configuration: configuration, on: loops)
            remembered = transport
            _ = await transport.begin(try server.url("/slow"), slow)
            await slow.hasBody.wait()
            #expect(await transport.get(try server.url("/")).body == Array("abc".utf8))
        }
        #expect(remembered == nil)
        // Only the connection whose exchange still runs is left.
        await server.waitForOpenConnections(1)
        #expect(!slow.now.isOver)
        gate.open()
        #expect(await slow.whole().body == Array("abc".utf8))
        await server.waitForOpenConnections(0)
        await loops.shutdown()
    }

    @Test("ten thousand transports on shared loops come and go, and leave nothing")
    func many() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "abc") }
        let loops = SharedLoops(laneCount: 2)
        var observers: [Weak] = []
        for _ in 0..<10 {
            var transports: [HTTPTransport] = []
            for _ in 0..<1000 {
                let transport = try HTTPTransport(configuration: HTTPTransport.Configuration(), on: loops)
                transports.append(transport)
                observers.append(Weak(transport: transport))
            }
            for index in stride(from: 0, to: 1000, by: 100) {
                #expect(await transports[index].get(try server.url("/")).body == Array("abc".utf8))
            }
        }
        #expect(observers.count == 10_000 && observers.allSatisfy { $0.transport == nil })
        await server.waitForOpenConnections(0)
        #expect(server.connectionCount == 100)
        await loops.shutdown()
    }
}
