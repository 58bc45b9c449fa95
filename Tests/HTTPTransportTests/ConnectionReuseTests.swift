// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Connections are reused", .timeLimit(.minutes(1)))
struct ConnectionReuseTests {
    @Test("a kept connection carries the next request (RFC 9112 §9.3)")
    func keepAlive() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        try await HTTPTransport.with { (transport) async throws in
            for index in 0..<3 {
                let record = await transport.get(try server.url("/\(index)"))
                #expect(record.body == Array("hello".utf8))
                #expect(record.isClean == true)
                #expect(record.connectedCount == 1)
                #expect(record.violations.isEmpty)
            }
        }
        #expect(server.connectionCount == 1)
    }

    @Test("a request that starts in the end of another takes its connection at once")
    func reentrantStart() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        try await HTTPTransport.with { (transport) async throws in
            let url = try server.url("/")
            let second = ExchangeRecorder()
            let first = ExchangeRecorder(onEnd: {
                let request = ExchangeRequest(url: url, fields: [:], connectTimeout: 1_000_000_000)
                _ = transport.start(request, onLane: 0, receiver: second)
                if second.now.connectedCount != 0 { Issue.record("the receiver was called before start returned") }
            })
            _ = await transport.begin(url, first)
            let record = await second.whole()
            #expect(record.body == Array("hello".utf8))
            #expect(record.violations.isEmpty)
        }
        #expect(server.connectionCount == 1)
    }

    @Test("a connection is not reused after `Connection: close`, nor after bytes that belong to no response")
    func notReused() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/close"
                ? .response(200, [("Connection", "close")], text: "a").then(.close)
                : .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na and more")
        }
        try await HTTPTransport.with { (transport) async throws in
            for path in ["/close", "/more", "/close"] {
                #expect(try await transport.get(server.url(path)).body == [0x61])
            }
        }
        #expect(server.connectionCount == 3)
    }

    @Test("a GET whose kept connection turns out to be dead is sent again on a fresh one")
    func repeated() async throws {
        let server = try await ScriptedServer.start { request in
            request.connectionIndex == 0 && request.path == "/second"
                ? Reply([.close]) : .response(200, text: request.path)
        }
        try await HTTPTransport.with { (transport) async throws in
            #expect(try await transport.get(server.url("/first")).body == Array("/first".utf8))
            let record = await transport.get(try server.url("/second"))
            #expect(record.body == Array("/second".utf8))
            #expect(record.connectedCount == 1)
            #expect(record.violations.isEmpty)
        }
        #expect(server.connectionCount == 2)
    }

    @Test("another method is not repeated, but the failure says that it was a kept connection")
    func notRepeated() async throws {
        let server = try await ScriptedServer.start { request in
            request.method == "POST" ? Reply([.close]) : .response(200)
        }
        try await HTTPTransport.with { (transport) async throws in
            _ = await transport.get(try server.url("/"))
            let record = await transport.get(try server.url("/"), method: "POST")
            #expect(record.error?.code == .truncated)
            #expect(record.error?.onReusedConnection == true)
        }
    }

    @Test("a receiver that answers `close` to a response without a body keeps its connection")
    func closeAtEnd() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/empty" ? .response(204) : .response(200, text: "body")
        }
        try await HTTPTransport.with { (transport) async throws in
            let seen = Gate()
            let receiver = ExchangeRecorder(onHead: { _ in
                seen.open()
                return .close
            })
            _ = await transport.begin(try server.url("/empty"), receiver)
            await seen.wait()
            #expect(try await transport.get(server.url("/")).body == Array("body".utf8))
            #expect(!receiver.now.isOver)
            #expect(server.connectionCount == 1)
        }
    }

    @Test("an idle connection that the server closes is not used again")
    func closedWhileIdle() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "a") }
        try await HTTPTransport.with { (transport) async throws in
            #expect(try await transport.get(server.url("/")).body == [0x61])
            await server.closeConnections()
            #expect(try await transport.get(server.url("/")).body == [0x61])
        }
        #expect(server.connectionCount == 2)
    }
}
