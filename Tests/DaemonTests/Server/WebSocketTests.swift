// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Testing
import TransferTesting

@testable import Daemon

@Suite("WebSockets", .timeLimit(.minutes(1)))
struct WebSocketTests {
    static let token: JSON = "token:t0p-s3cret"

    @Test("calls are answered, in pieces or whole, and pings too")
    func calls() async throws {
        try await ServerHarness.run { harness in
            let socket = try await harness.socket()
            #expect(try await socket.call("aria2.tellWaiting", [Self.token, 0, 1])["result"] == [])
            #expect(try await socket.call("aria2.tellWaiting", [0, 1])["error"]?["message"] == "Unauthorized")
            let text = Array(#"{"id":"é","method":"system.listNotifications"}"#.utf8)
            try await socket.send(1, Array(text[..<8]), isFinal: false)
            try await socket.send(9, Array("hi".utf8))
            try await socket.send(0, Array(text[8..<20]), isFinal: false)
            try await socket.send(0, Array(text[20...]))
            #expect(try await socket.frame() == RawWebSocket.Frame(opcode: 10, isFinal: true, data: Array("hi".utf8)))
            #expect(try await socket.message()["id"] == "é")
            try await socket.send("{broken")
            #expect(try await socket.message()["error"]?["code"] == -32_700)
            try await socket.send(#"[{"id":1,"method":"a"},{"id":1,"method":"b"}]"#)
            #expect(try await socket.message().array?.count == 2)
            try await socket.send(8, [3, 232])
            let close = try await socket.frame()
            #expect(close.opcode == 8)
            #expect(close.code == 1000)
            try await socket.connection.end()
        }
    }

    @Test(
        "a client that breaks a rule gets the rule's close code",
        arguments: [
            ([RawWebSocket.bytes(1, [65], isMasked: false)], 1002), ([RawWebSocket.bytes(0, [65])], 1002),
            ([RawWebSocket.bytes(1, [65], isFinal: false), RawWebSocket.bytes(1, [65])], 1002),
            ([RawWebSocket.bytes(9, [65], isFinal: false)], 1002), ([RawWebSocket.bytes(3, [65])], 1002),
            ([RawWebSocket.bytes(0x41, [65])], 1002), ([RawWebSocket.bytes(2, [65])], 1003),
            ([RawWebSocket.bytes(1, [0xFF, 0xFE])], 1007), ([RawWebSocket.bytes(8, [3])], 1002),
            ([RawWebSocket.bytes(8, [0, 1])], 1002),
            ([RawWebSocket.bytes(1, [UInt8](repeating: 65, count: 2_000))], 1009),
            (
                [
                    RawWebSocket.bytes(1, [UInt8](repeating: 65, count: 600), isFinal: false),
                    RawWebSocket.bytes(0, [UInt8](repeating: 65, count: 600)),
                ], 1009
            ),
            // A length of 2^63 - 1.
            ([[0x81, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [1, 2, 3, 4]], 1009),
        ]
    )
    func violations(_ frames: [[UInt8]], _ code: Int) async throws {
        try await ServerHarness.run {
            $0.limits.body = 1_000
        } _: { harness in
            let socket = try await harness.socket()
            for frame in frames { try await socket.connection.send(frame) }
            let close = try await socket.frame()
            #expect(close.opcode == 8)
            #expect(close.code == code)
            try await socket.connection.end()
        }
    }

    @Test("a socket gets notifications once it has presented the token")
    func notifications() async throws {
        try await ServerHarness.run { harness in
            let stranger = try await harness.socket()
            let friend = try await harness.socket()
            let named = try await harness.socket("/jsonrpc?token=t0p-s3cret")
            #expect(try await stranger.call("aria2.getVersion")["error"]?["message"] == "Unauthorized")
            let added = try await friend.call("aria2.addUri", [Self.token, ["http://h/x"]])
            let id = try #require(added["result"]?.string.flatMap { GID($0) })
            #expect(await harness.eventually { harness.service.listenerCount == 2 })
            let record = try await harness.service.record(id)
            harness.service.tell(.started(record))
            let expected: JSON = [
                "jsonrpc": "2.0", "method": "aria2.onDownloadStart", "params": [["gid": .string(id.description)]],
            ]
            #expect(try await friend.message() == expected)
            #expect(try await named.message() == expected)
            var ofSession = record
            ofSession.session = "s"
            harness.service.tell(.finished(ofSession))
            harness.service.tell(.failed(record))
            #expect(try await friend.message()["method"] == "aria2.onDownloadError")
            // The stranger's next message is an answer, not a notification.
            #expect(try await stranger.call("system.listNotifications")["id"] == 1)
            for socket in [stranger, friend, named] { await socket.connection.close() }
        }
    }

    @Test("with the flag, sockets of this machine get notifications without a token")
    func openNotifications() async throws {
        try await ServerHarness.run {
            $0.allowsOpenNotifications = true
        } _: { harness in
            let socket = try await harness.socket()
            #expect(await harness.eventually { harness.service.listenerCount == 1 })
            let record = TransferRecord(id: .random(), state: .finished, urls: [], directory: "/", added: 0)
            harness.service.tell(.finished(record))
            #expect(try await socket.message()["method"] == "aria2.onDownloadComplete")
            #expect(try await socket.call("aria2.getVersion")["error"]?["message"] == "Unauthorized")
            await socket.connection.close()
        }
    }

    @Test("martlet.subscribe brings the kinds asked for")
    func subscribing() async throws {
        try await ServerHarness.run { harness in
            let socket = try await RawWebSocket.open(try await harness.local())
            #expect(try await socket.call("martlet.subscribe", [["events": ["nope"]]])["error"]?["code"] == 1)
            #expect(
                try await socket.call("martlet.subscribe", [["events": ["drained"], "progress": true]])["result"] == [:]
            )
            harness.service.tell(
                .queued(TransferRecord(id: .random(), state: .waiting, urls: [], directory: "/", added: 0))
            )
            harness.service.tell(.progress([]))
            harness.service.tell(.drained)
            #expect(
                try await socket.message()
                    == [
                        "jsonrpc": "2.0", "method": "martlet.event", "params": [["kind": "progress", "transfers": []]],
                    ]
            )
            #expect(try await socket.message()["params"] == [["kind": "drained"]])
            await socket.connection.close()
        }
    }

    @Test("a handshake on another path or of another version is answered as a request, and no socket is made")
    func handshakes() async throws {
        try await ServerHarness.run { harness in
            for (text, status) in [
                (RawWebSocket.handshake("/events"), 401), (RawWebSocket.handshake("/nope"), 404),
                (RawWebSocket.handshake().replacing("Version: 13", with: "Version: 8"), 426),
                (RawWebSocket.handshake().replacing("Connection: Upgrade", with: "Connection: close"), 426),
                (RawWebSocket.handshake().replacing("Host: 127.0.0.1", with: "Host: evil.example"), 403),
                (RawWebSocket.handshake(fields: ["Sec-WebSocket-Key: x"]), 426),
                (RawWebSocket.handshake().replacing("HTTP/1.1", with: "HTTP/1.0"), 426),
            ] {
                let connection = try await harness.tcp()
                try await connection.send(text)
                #expect(try await connection.reply().status == status)
                await connection.close()
            }
        }
    }

    @Test("frames that come with the handshake are read, and garbage behind it is a protocol error")
    func hasty() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            let call = RawWebSocket.bytes(1, Array(#"{"id":7,"method":"system.listNotifications"}"#.utf8))
            try await connection.send(Array(RawWebSocket.handshake().utf8) + call)
            #expect(try await connection.reply().status == 101)
            #expect(try await RawWebSocket(connection: connection).message()["id"] == 7)
            await connection.close()
            let confused = try await harness.tcp()
            try await confused.send(RawWebSocket.handshake() + "ion: 13\r\n\r\n")
            #expect(try await confused.reply().status == 101)
            try await confused.end()
        }
    }

    @Test("a connection that has carried a request becomes no WebSocket any more")
    func late() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            #expect(try await connection.request("GET", "/health").status == 200)
            try await connection.send(RawWebSocket.handshake())
            let reply = try await connection.reply()
            #expect(reply.status == 426)
            #expect(reply.field("Connection") == "close")
            try await connection.end()
        }
    }

    @Test("a silent socket is pinged, and closed without a pong")
    func halfOpen() async throws {
        try await ServerHarness.run {
            // Long enough for a busy machine to answer in.
            $0.limits.keepAlive = .seconds(2)
        } _: { harness in
            let socket = try await harness.socket()
            #expect(try await socket.frame().opcode == 9)
            try await socket.connection.end()
            let alive = try await harness.socket()
            for _ in 0..<2 {
                #expect(try await alive.frame().opcode == 9)
                try await alive.send(10, [])
            }
            await alive.connection.close()
        }
    }

    @Test("a socket that does not read costs a bounded amount and is closed")
    func slowReader() async throws {
        try await ServerHarness.run {
            $0.limits.events = 16
            $0.limits.stallTime = .milliseconds(200)
        } _: { harness in
            let socket = try await harness.socket("/jsonrpc?token=t0p-s3cret")
            #expect(try await socket.call("martlet.subscribe", [["progress": true]])["result"] == [:])
            try await socket.connection.stopReading()
            var record = TransferRecord(id: .random(), state: .active, urls: [], directory: "/", added: 0)
            record.urls = [String(repeating: "x", count: 1 << 20)]
            for _ in 0..<64 { harness.service.tell(.progress([record])) }
            #expect(await harness.eventually { harness.service.listenerCount == 0 })
            let other = try await harness.socket()
            #expect(try await other.call("system.listNotifications")["id"] == 1)
            await other.connection.close()
        }
    }
}
