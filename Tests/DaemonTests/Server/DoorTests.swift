// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("Clients without the token", .timeLimit(.minutes(2)))
struct DoorTests {
    private static let strong = "f3b1a0c2d4e5968778695a4b3c2d1e0f"

    private static func call(_ token: String) -> String {
        #"{"id":1,"method":"aria2.tellWaiting","params":["token:\#(token)",0,1]}"#
    }

    @Test("hundreds of slow connections do not keep out a client with the token, nor one of the Unix socket")
    func slow() async throws {
        try await ServerHarness.run {
            $0.limits.connections = 40
            $0.limits.requestTime = .seconds(600)
            $0.limits.unauthenticatedTime = .seconds(600)
        } _: { harness in
            let early = try await harness.tcp()
            #expect(try await early.request(body: HTTPTests.call).status == 200)
            var slow: [RawConnection] = []
            let beginnings = [
                "", "GET /hea", "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
                "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", RawWebSocket.handshake(),
            ]
            for index in 0..<300 {
                let connection = try await harness.tcp()
                // A connection that was closed for another one already takes no bytes.
                try? await connection.send(beginnings[index % beginnings.count])
                slow.append(connection)
            }
            let late = try await harness.tcp()
            #expect(try await late.request(body: HTTPTests.call).status == 200)
            #expect(try await early.request(body: HTTPTests.call).status == 200)
            let local = try await harness.local()
            #expect(try await local.request(body: HTTPTests.open).status == 200)
            for connection in slow + [early, late, local] { await connection.close() }
        }
    }

    @Test("a client that guesses a weak token is refused with 429, in a batch too; a strong one is never refused")
    func guesses() async throws {
        for token in ["weak", Self.strong] {
            try await ServerHarness.run {
                $0.token = token
            } _: { harness in
                let known = try await harness.tcp()
                #expect(try await known.request(body: Self.call(token)).status == 200)
                let guesser = try await harness.tcp()
                let batch = (0..<200).map { Self.call("guess \($0)") } + [Self.call(token)]
                let reply = try await guesser.request(body: "[\(batch.joined(separator: ","))]")
                #expect(reply.status == 200)
                #expect(reply.body.contains(#""result":[]"#) == (token == Self.strong))
                let other = try await harness.tcp()
                let next = try await other.request(body: Self.call(token))
                if token == Self.strong {
                    #expect(next.status == 200)
                } else if next.status != 200 {
                    // The refusal is short: a slow machine may be late for it.
                    #expect(next.status == 429)
                    #expect(next.field("Retry-After") == "1")
                    #expect(next.body.contains("Too many wrong tokens from this address"))
                }
                #expect(try await known.request(body: Self.call(token)).status == 200)
                for connection in [known, guesser, other] { await connection.close() }
            }
        }
    }

    @Test(
        "connections cannot take the descriptors of transfers",
        arguments: [(24, 8, 8, 1), (1024, 256, 128, 144), (20_000, 4096, 1024, 3704)]
    )
    func descriptors(_ limit: Int, _ connections: Int, _ local: Int, _ transfers: Int) {
        let shares = DescriptorShares(limit: limit)
        #expect(shares.connections == connections)
        #expect(shares.localConnections == local)
        #expect(shares.transfers == transfers)
        #expect(DescriptorShares(limit: nil).connections == ServerLimits().connections)
    }

    private static let xml =
        "<methodCall><methodName>aria2.tellWaiting</methodName><params>"
        + "<param><value>token:t0p-s3cret</value></param><param><value><int>0</int></value></param>"
        + "<param><value><int>1</int></value></param></params></methodCall>"

    @Test("a body larger than the limit is received if the token is within it, or in the head")
    func largeBodies() async throws {
        try await ServerHarness.run {
            $0.limits.unauthenticatedBody = 500
        } _: { harness in
            let spaces = String(repeating: " ", count: 2000)
            for (body, path, fields, status) in [
                (HTTPTests.call + spaces, "/jsonrpc", [], 200), (spaces + HTTPTests.call, "/jsonrpc", [], 413),
                (spaces + HTTPTests.call, "/jsonrpc", [ServerHarness.bearer], 200),
                (spaces + HTTPTests.call, "/jsonrpc", ["Authorization: Bearer wrong"], 413),
                (spaces + HTTPTests.call, "/jsonrpc?token=t0p-s3cret", [], 200), (HTTPTests.open, "/jsonrpc", [], 400),
                (HTTPTests.open + spaces, "/jsonrpc", [], 413), (Self.xml + spaces, "/rpc", [], 200),
                (spaces + Self.xml, "/rpc", [], 413), (#"{"token":"t0p-s3cret"}"# + spaces, "/page/session", [], 401),
            ] as [(String, String, [String], Int)] {
                let connection = try await harness.tcp()
                let origin = ["Origin: http://127.0.0.1"]
                let reply = try await connection.request("POST", path, fields + origin, body: body)
                #expect(reply.status == status, "\(body.prefix(20)) \(path) \(fields)")
                if status == 413 {
                    #expect(reply.body.contains("The token is not within the first 500 bytes of the body"))
                }
                await connection.close()
            }
            let local = try await harness.local()
            #expect(try await local.request(body: spaces + HTTPTests.open).status == 200)
            await local.close()
        }
    }

    @Test("bodies without a token have a limit together; for one too much the oldest is refused")
    func manyBodies() async throws {
        try await ServerHarness.run {
            $0.limits.unauthenticatedBody = 1000
            $0.limits.unauthenticatedBodies = 3000
        } _: { harness in
            var slow: [RawConnection] = []
            let head =
                "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 901\r\n\r\n"
            for _ in 0..<10 {
                let connection = try await harness.tcp()
                try await connection.send(head)
                try await connection.receive(through: "100 Continue\r\n\r\n")
                try await connection.send(String(repeating: " ", count: 900))
                slow.append(connection)
            }
            for connection in slow.prefix(7) {
                let reply = try await connection.reply()
                #expect(reply.status == 503)
                #expect(reply.body.contains("Too much is being sent at once"))
            }
            let known = try await harness.tcp()
            let padded = HTTPTests.call + String(repeating: " ", count: 100_000)
            #expect(try await known.request(body: padded).status == 200)
            // A body whose bytes all have arrived is answered: with an error, because it is not JSON.
            for connection in slow.suffix(3) {
                try await connection.send(" ")
                #expect(try await connection.reply().status == 500)
            }
            for connection in slow + [known] { await connection.close() }
        }
    }

    @Test("a WebSocket message larger than the limit needs the token within it, until one had it")
    func largeMessages() async throws {
        try await ServerHarness.run {
            $0.limits.unauthenticatedBody = 500
            $0.limits.unauthenticatedBodies = 3000
        } _: { harness in
            let spaces = [UInt8](repeating: 0x20, count: 2000)
            let call = Array(HTTPTests.call.utf8)
            let answer = try JSON(parsing: HTTPTests.answer)
            let socket = try await harness.socket()
            try await socket.send(1, call + spaces)
            #expect(try await socket.message() == answer)
            try await socket.send(1, spaces + call)
            #expect(try await socket.message() == answer)
            await socket.connection.close()
            // In pieces, each within the limit; and a token in the first piece admits a large second one.
            let pieces = try await harness.socket()
            try await pieces.send(1, call, isFinal: false)
            try await pieces.send(0, spaces)
            #expect(try await pieces.message() == answer)
            await pieces.connection.close()
            let known = try await harness.socket("/jsonrpc?token=t0p-s3cret")
            try await known.send(1, spaces + call)
            #expect(try await known.message() == answer)
            await known.connection.close()
            let small = try await harness.socket()
            for _ in 0..<100 {
                try await small.send(9, [1])
                #expect(try await small.frame().opcode == 10)
                try await small.send(1, Array(#"{"id":1,"method":"system.listMethods"}"#.utf8))
                #expect(try await small.message()["result"] != nil)
            }
            await small.connection.close()
            for frames in [
                RawWebSocket.bytes(1, spaces + call),
                RawWebSocket.bytes(1, Array(spaces.prefix(300)), isFinal: false)
                    + RawWebSocket.bytes(0, Array(spaces.prefix(300))),
                // Only the beginning of a message that is too large.
                Array(RawWebSocket.bytes(1, spaces).prefix(600)),
            ] {
                let stranger = try await harness.socket()
                try await stranger.connection.send(frames)
                let close = try await stranger.frame()
                #expect(close.opcode == 8 && close.code == 1009)
                try await stranger.connection.end()
            }
        }
    }

    @Test("messages of WebSockets without a token count toward the same limit")
    func manyMessages() async throws {
        try await ServerHarness.run {
            $0.limits.unauthenticatedBody = 1000
            $0.limits.unauthenticatedBodies = 3000
        } _: { harness in
            var slow: [RawWebSocket] = []
            for _ in 0..<10 {
                let socket = try await harness.socket()
                try await socket.send(1, [UInt8](repeating: 0x20, count: 900), isFinal: false)
                // The frame has been received when the pong arrives.
                try await socket.send(9, [1])
                #expect(try await socket.frame().opcode == 10)
                slow.append(socket)
            }
            for socket in slow.prefix(7) { try await socket.connection.end() }
            for socket in slow.suffix(3) {
                try await socket.send(0, Array(" 1".utf8))
                #expect(try await socket.message()["error"] != nil)
            }
            for socket in slow { await socket.connection.close() }
        }
    }
}
