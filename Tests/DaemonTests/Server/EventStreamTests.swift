// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Synchronization
import Testing
import TransferTesting

@testable import Daemon

@Suite("Events and stopping", .timeLimit(.minutes(1)))
struct EventStreamTests {
    @Test("/events reports events")
    func events() async throws {
        try await ServerHarness.run { harness in
            let denied = try await harness.tcp()
            #expect(try await denied.request("GET", "/events").status == 401)
            await denied.close()
            let connection = try await harness.tcp()
            let reply = try await connection.request("GET", "/events?token=t0p-s3cret")
            #expect(reply.status == 200)
            #expect(reply.field("Content-Type") == "text/event-stream")
            // The first bytes come before any event: some browsers call a stream open only then.
            #expect(try await connection.receive(through: "\n\n").hasSuffix(":\n\n"))
            let id = try #require(GID("00000000000000ab"))
            _ = try await harness.service.add([NewTransfer(id: id, urls: ["http://h/x"])], at: nil)
            let queued = try await connection.receive(through: "\n\n")
            #expect(
                queued.contains("event: queued\ndata: {\"kind\":\"queued\",\"transfer\":{\"id\":\"00000000000000ab\"")
            )
            harness.service.tell(.progress([try await harness.service.record(id)]))
            #expect(
                try await connection.receive(through: "\n\n")
                    .contains("event: progress\ndata: {\"kind\":\"progress\",\"transfers\":[{")
            )
            harness.service.tell(.drained)
            #expect(
                try await connection.receive(through: "\n\n").contains("event: drained\ndata: {\"kind\":\"drained\"}")
            )
            await connection.close()
            #expect(await harness.eventually { harness.service.listenerCount == 0 })
        }
    }

    @Test("a comment is sent if there are no events, and a client that does not read loses the connection")
    func keepAlive() async throws {
        try await ServerHarness.run {
            $0.limits.keepAlive = .milliseconds(50)
            $0.limits.stallTime = .milliseconds(200)
            $0.limits.events = 16
        } _: { harness in
            let connection = try await harness.tcp()
            #expect(try await connection.request("GET", "/events", [ServerHarness.bearer]).status == 200)
            try await connection.receive(through: ":\n\n")
            try await connection.receive(through: ":\n\n")
            try await connection.stopReading()
            var record = TransferRecord(id: .random(), state: .active, urls: [], directory: "/", added: 0)
            record.urls = [String(repeating: "x", count: 1 << 20)]
            // Far more than all buffers between here and there take.
            for _ in 0..<64 { harness.service.tell(.progress([record])) }
            #expect(await harness.eventually { harness.service.listenerCount == 0 })
        }
    }

    @Test("a session's events come over the Unix socket with their numbers, and end with their reader")
    func sessionEvents() async throws {
        try await ServerHarness.run { harness in
            _ = try await harness.service.openSession("a b", instance: "i", program: "p", configuration: [:])
            harness.service.tell("a b", ["kind": "finished"])
            harness.service.tell("a b", ["kind": "failed"])
            let tcp = try await harness.tcp()
            #expect(
                try await tcp.request("GET", "/sessions/a%20b/events?instance=i", [ServerHarness.bearer]).status == 403
            )
            await tcp.close()
            let connection = try await harness.local()
            #expect(try await connection.request("GET", "/sessions/a%20b/events?instance=j&after=0").status == 409)
            #expect(try await connection.request("GET", "/sessions/none/events?instance=j&after=0").status == 404)
            #expect(try await connection.request("GET", "/sessions/a%20b/events").status == 400)
            #expect(try await connection.request("GET", "/sessions/a%20b/events?instance=i&after=x").status == 400)
            #expect(try await connection.request("GET", "/sessions/a%20b/events?instance=i&after=1").status == 200)
            try await connection.receive(through: ":\n\n")
            #expect(try await connection.receive(through: "\n\n").contains("id: 2\ndata: {\"kind\":\"failed\"}"))
            harness.service.tell("a b", ["kind": "removed"])
            #expect(try await connection.receive(through: "\n\n").contains("id: 3\ndata: {\"kind\":\"removed\"}"))
            await connection.close()
            #expect(
                await harness.eventually {
                    harness.service.state.withLock { $0.sessions["a b"]?.reader == nil }
                }
            )
        }
    }

    @Test("stopping ends idle connections, event streams and WebSockets")
    func stopping() async throws {
        try await ServerHarness.run { harness in
            let silent = try await harness.tcp()
            let idle = try await harness.local()
            #expect(try await idle.request("GET", "/health").status == 200)
            let events = try await harness.local()
            #expect(try await events.request("GET", "/events").status == 200)
            let socket = try await harness.socket("/jsonrpc?token=t0p-s3cret")
            #expect(try await socket.call("system.listNotifications")["result"] != nil)
            await harness.server.stop()
            try await silent.end()
            try await idle.end()
            try await events.end()
            let last = try await socket.frame()
            #expect(last.opcode == 8)
            #expect(last.code == 1001)
            try await socket.connection.end()
        }
    }

    @Test("the Unix socket is its user's alone")
    func mode() async throws {
        try await ServerHarness.run { harness in
            #expect(TemporaryDirectory.permissions(of: harness.path) == 0o600)
        }
    }
}
