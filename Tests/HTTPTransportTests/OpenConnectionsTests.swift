// SPDX-License-Identifier: Apache-2.0
import Platform
import Foundation
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import HTTPTransport

@Suite("Open connections are limited over all event loops", .timeLimit(.minutes(1)))
struct OpenConnectionsTests {
    private func with(_ limits: OpenConnectionLimits, _ body: (HTTPTransport) async throws -> Void) async throws {
        let configure = { (configuration: inout HTTPTransport.Configuration) in
            configuration.laneCount = 2
            configuration.openConnections = limits
        }
        try await HTTPTransport.with(configure, body)
    }

    @Test("an idle connection of another event loop is closed before one is opened")
    func otherLoop() async throws {
        let server = try CountingServer()
        try await self.with(OpenConnectionLimits(perHost: 1)) { transport in
            for index in 0..<20 {
                let record = await transport.get(try server.url("/\(index)"), onLane: index / 2 % 2)
                #expect(record.body == Array("ok".utf8) && record.violations.isEmpty)
            }
        }
        #expect(server.most == 1)
        // Two requests follow each other on a loop.
        #expect(server.accepted == 10)
    }

    @Test("without a limit, each event loop keeps its connection")
    func unlimited() async throws {
        let server = try CountingServer()
        try await self.with(OpenConnectionLimits()) { transport in
            for index in 0..<20 { _ = await transport.get(try server.url("/"), onLane: index % 2) }
        }
        #expect(server.most == 2 && server.accepted == 2)
    }

    @Test("concurrent requests from all event loops never exceed the limit, and all end")
    func concurrent() async throws {
        let server = try CountingServer()
        try await self.with(OpenConnectionLimits(perHost: 3)) { transport in
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<200 {
                    group.addTask {
                        guard let url = try? server.url("/\(index)") else { return }
                        let record = await transport.get(url, onLane: index % 2)
                        if record.body != Array("ok".utf8) { Issue.record("\(record)") }
                    }
                }
            }
        }
        #expect(server.most <= 3)
    }

    @Test("hosts of a domain share its limit")
    func domain() async throws {
        // Addresses are their own domains: the hosts differ in their ports only.
        let servers = [try CountingServer(), try CountingServer()]
        try await self.with(OpenConnectionLimits(perDomain: 1)) { transport in
            for index in 0..<8 {
                let record = await transport.get(try servers[index % 2].url("/"), onLane: 0)
                #expect(record.body == Array("ok".utf8))
            }
        }
        #expect(servers.map(\.accepted) == [4, 4])
    }

    @Test("a request that waits can be cancelled, and fails when the transport is shut down")
    func ended() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let (opened, waiting) = (ExchangeRecorder(), ExchangeRecorder())
        try await self.with(OpenConnectionLimits(perHost: 1)) { transport in
            let url = try server.url("/")
            let first = await transport.begin(url, opened)
            await opened.connected.wait()
            let second = await transport.begin(url, ExchangeRecorder())
            _ = await transport.begin(url, waiting)
            second.cancel()
            first.cancel()
            // The third request has the room now.
            await waiting.connected.wait()
            let fourth = ExchangeRecorder()
            _ = await transport.begin(url, fourth)
            await transport.shutdown()
            #expect(await fourth.whole().error?.code == .cancelled)
        }
        #expect(await waiting.whole().error?.code == .cancelled)
        // The kernel connects before the server accepts.
        await server.waitForConnections(2)
        #expect(server.connectionCount == 2)
    }

    @Test("a host that refuses connections does not use up its limit")
    func refused() async throws {
        let port = try RefusingPort()
        try await self.with(OpenConnectionLimits(perHost: 1)) { transport in
            for index in 0..<4 {
                let url = try HTTPURL("http://127.0.0.1:\(port.port)/")
                #expect(await transport.get(url, onLane: index % 2).error != nil)
            }
        }
    }
}

extension HTTPTransport {
    /// Runs a request to its end on an event loop.
    fileprivate func get(_ url: HTTPURL, onLane lane: Int) async -> ExchangeRecorder.Record {
        let receiver = ExchangeRecorder()
        self.execute(onLane: lane) {
            let request = ExchangeRequest(url: url, fields: [:], connectTimeout: 30_000_000_000)
            _ = self.start(request, onLane: lane, receiver: receiver)
        }
        return await receiver.whole()
    }
}

/// A server that counts its open connections at each new one: those that the client has closed before do not count.
private final class CountingServer: Sendable {
    private struct State {
        var open: Set<Int32> = []
        var most = 0
        var accepted = 0
    }

    private let listener: Int32
    private let port: Int
    private let state = Mutex(State())

    init() throws {
        let (listener, port) = try RawListener.freePort()
        (self.listener, self.port) = (listener, port)
        // Not tasks: the calls block.
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else { return }
                self.accepted(client)
            }
        }
    }

    func url(_ path: String) throws -> HTTPURL { try HTTPURL("http://127.0.0.1:\(self.port)\(path)") }

    var most: Int { self.state.withLock { $0.most } }
    var accepted: Int { self.state.withLock { $0.accepted } }

    private func accepted(_ client: Int32) {
        self.state.withLock { state in
            state.open = state.open.filter { one in
                var byte: UInt8 = 0
                return recv(one, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) != 0
            }
            state.open.insert(client)
            state.most = max(state.most, state.open.count)
            state.accepted += 1
        }
        Thread.detachNewThread { self.serve(client) }
    }

    private func serve(_ client: Int32) {
        var buffer = [UInt8](repeating: 0, count: 1 << 12)
        // A request has no content, and the next one follows after the response.
        while recv(client, &buffer, buffer.count, 0) > 0 {
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            _ = send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        }
        _ = self.state.withLock { $0.open.remove(client) }
        close(client)
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }
}
