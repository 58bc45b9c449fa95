// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferTesting

@testable import Daemon

@Suite("The server over HTTP", .timeLimit(.minutes(1)))
struct HTTPTests {
    static let call = #"{"id":1,"method":"aria2.tellWaiting","params":["token:t0p-s3cret",0,1]}"#
    static let open = #"{"id":1,"method":"aria2.tellWaiting","params":[0,1]}"#
    static let answer = #"{"id":1,"jsonrpc":"2.0","result":[]}"#

    @Test("a call over POST is answered, whatever its content type and query, one after the other on one connection")
    func post() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            for type in ["application/json", "application/x-www-form-urlencoded", "text/plain"] {
                let reply = try await connection.request(
                    "POST",
                    "/jsonrpc?tm=1",
                    ["Content-Type: \(type)"],
                    body: Self.call
                )
                #expect(reply.status == 200)
                #expect(reply.field("Content-Type") == "application/json-rpc")
                #expect(reply.body == Self.answer)
            }
            let broken = try await connection.request(body: "{broken")
            #expect(broken.status == 500)
            let unknown = try await connection.request(
                body: #"{"id":1,"method":"aria2.nope","params":["token:t0p-s3cret"]}"#
            )
            #expect(unknown.status == 400)
            await connection.close()
        }
    }

    @Test("two requests in one packet are answered in their order")
    func pipelined() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            let request = "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(Self.call.utf8.count)\r\n\r\n"
            try await connection.send(request + Self.call + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.reply().body == Self.answer)
            #expect(try await connection.reply().body == #"{"status":"ok","protocol":1}"#)
            await connection.close()
        }
    }

    @Test("a call over GET is answered, with a callback as a script")
    func get() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            // ["token:t0p-s3cret"]
            let query = "/jsonrpc?method=aria2.pauseAll&id=x&params=WyJ0b2tlbjp0MHAtczNjcmV0Il0%3D"
            let plain = try await connection.request("GET", query)
            #expect(plain.status == 200)
            #expect(plain.body == #"{"id":"x","jsonrpc":"2.0","result":"OK"}"#)
            let script = try await connection.request("GET", query + "&jsoncallback=cb")
            #expect(script.field("Content-Type") == "text/javascript")
            #expect(script.body == #"cb({"id":"x","jsonrpc":"2.0","result":"OK"})"#)
            let evil = try await connection.request("GET", query + "&jsoncallback=alert(1)//")
            #expect(evil.status == 400)
            #expect(!evil.body.contains("alert"))
            #expect(try await connection.request("GET", "/jsonrpc").status == 400)
            await connection.close()
        }
    }

    @Test(
        "the token may come in the call, as Bearer, as Basic's password, or in the query",
        arguments: [
            ("/jsonrpc", ["Authorization: Bearer t0p-s3cret"], 200),
            // any:t0p-s3cret
            ("/jsonrpc", ["Authorization: Basic YW55OnQwcC1zM2NyZXQ="], 200),
            ("/jsonrpc?token=t0p-s3cret", [], 200), ("/jsonrpc?token=t0p%2Ds3cret", [], 200), ("/jsonrpc", [], 400),
            ("/jsonrpc", ["Authorization: Bearer wrong"], 400), ("/jsonrpc", ["Authorization: Basic !"], 400),
            ("/jsonrpc", ["Authorization: Bearer"], 400), ("/jsonrpc?token=", [], 400),
        ]
    )
    func tokens(_ target: String, _ fields: [String], _ status: Int) async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            let reply = try await connection.request("POST", target, fields, body: Self.open)
            #expect(reply.status == status)
            if status == 400 {
                #expect(reply.body == #"{"id":1,"jsonrpc":"2.0","error":{"code":1,"message":"Unauthorized"}}"#)
            }
            let metrics = try await connection.request("GET", target.replacing("jsonrpc", with: "metrics"), fields)
            #expect(metrics.status == (status == 200 ? 200 : 401))
            await connection.close()
        }
    }

    @Test("over the Unix socket no token is needed, and a wrong one is not looked at")
    func local() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.local()
            #expect(try await connection.request(body: Self.open).body == Self.answer)
            #expect(try await connection.request(host: "anything", body: Self.call).body == Self.answer)
            #expect(try await connection.request("GET", "/metrics").status == 200)
            await connection.close()
        }
    }

    @Test(
        "Host must name this machine",
        arguments: [
            ("localhost", 200), ("localhost:80", 200), ("127.0.0.1", 200), ("127.0.0.1:6800", 200), ("[::1]:6800", 200),
            ("LOCALHOST", 200), ("nas.example:6800", 200), ("evil.example", 403), ("evil.example:6800", 403),
            ("10.0.0.1", 403), ("localhost.evil.example", 403), ("localhost:x", 403), ("[::1", 403),
            ("127.0.0.1\r\nHost: localhost", 403),
        ]
    )
    func hosts(_ host: String, _ status: Int) async throws {
        try await ServerHarness.run {
            $0.allowedHosts = ["nas.example"]
        } _: { harness in
            let connection = try await harness.tcp()
            #expect(try await connection.request("GET", "/health", host: host).status == status)
            if status == 403 { try await connection.end() } else { await connection.close() }
        }
    }

    @Test(
        "Origin must be our own or an allowed one",
        arguments: [
            ("http://127.0.0.1", true), ("https://127.0.0.1", true), ("http://ui.example", true),
            ("chrome-extension://abc", true), ("http://evil.example", false), ("null", false),
            ("http://127.0.0.1:81", false), ("http://ui.example.evil", false),
        ]
    )
    func origins(_ origin: String, _ isAllowed: Bool) async throws {
        try await ServerHarness.run {
            $0.allowedOrigins = ["http://ui.example", "chrome-extension://*"]
        } _: { harness in
            let connection = try await harness.tcp()
            let reply = try await connection.request("POST", "/jsonrpc", ["Origin: \(origin)"], body: Self.call)
            #expect(reply.status == (isAllowed ? 200 : 403))
            #expect(reply.field("Access-Control-Allow-Origin") == (isAllowed ? origin : nil))
            let second = try await harness.tcp()
            let preflight = try await second.request(
                "OPTIONS",
                "/jsonrpc",
                ["Origin: \(origin)", "Access-Control-Request-Method: POST"]
            )
            #expect(preflight.status == (isAllowed ? 204 : 403))
            #expect((preflight.field("Access-Control-Allow-Methods") != nil) == isAllowed)
            let socket = try await harness.tcp()
            try await socket.send(RawWebSocket.handshake(fields: ["Origin: \(origin)"]))
            #expect(try await socket.reply().status == (isAllowed ? 101 : 403))
            for connection in [connection, second, socket] { await connection.close() }
        }
    }

    @Test("a body that is too large is refused before and while it comes")
    func bodies() async throws {
        try await ServerHarness.run {
            $0.limits.body = 1_000
        } _: { harness in
            let declared = try await harness.tcp()
            try await declared.send("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n")
            #expect(try await declared.reply().status == 413)
            try await declared.end()
            let chunked = try await harness.tcp()
            try await chunked.send("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await chunked.send("3e8\r\n" + String(repeating: " ", count: 1_000) + "\r\n1\r\n \r\n")
            #expect(try await chunked.reply().status == 413)
            try await chunked.end()
            let fitting = try await harness.tcp()
            let padded = Self.call + String(repeating: " ", count: 1_000 - Self.call.utf8.count)
            #expect(try await fitting.request(body: padded).body == Self.answer)
            await fitting.close()
        }
    }

    @Test(
        "a refusal arrives, and all that its request still brings is taken",
        arguments: [
            ("POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n", 413),
            ("POST /jsonrpc HTTP/1.1\r\nHost: evil\r\nContent-Length: 4194304\r\n\r\n", 403),
            ("GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", 431),
        ]
    )
    func refusals(_ beginning: String, _ status: Int) async throws {
        try await ServerHarness.run {
            $0.limits.body = 1_000
        } _: { harness in
            let much = [UInt8](repeating: 0x78, count: 4 << 20)
            for _ in 0..<8 {
                let connection = try await RawConnection.connect(port: harness.port, keepsSending: true)
                // This fails where the connection is reset: then who sends does not look for an answer any more.
                try await connection.send(Array(beginning.utf8) + much)
                #expect(try await connection.reply().status == status)
                try await connection.end()
                await connection.close()
            }
        }
    }

    @Test("bodies together are limited")
    func bodiesTogether() async throws {
        try await ServerHarness.run {
            $0.limits.bodies = 1_000
        } _: { harness in
            let head =
                "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
            let most = Self.call + String(repeating: " ", count: 900 - Self.call.utf8.count)
            let both = [try await harness.tcp(), try await harness.tcp()]
            for connection in both {
                try await connection.send(head)
                try await connection.receive(through: "100 Continue\r\n\r\n")
            }
            for connection in both { try await connection.send(most) }
            // No body ends: the last counted one is refused, whichever it is.
            let refused = try await withThrowingTaskGroup(of: Int.self, returning: Int?.self) { group in
                for connection in both { group.addTask { try await connection.reply().status } }
                let status = try await group.next()
                for connection in both { await connection.close() }
                return status
            }
            #expect(refused == 503)
            // When the other one's bytes are given back is not seen from here: ask until it is so.
            let end = ContinuousClock.now + .seconds(20)
            var status = 0
            while status != 200, ContinuousClock.now < end {
                let third = try await harness.tcp()
                status = try await third.request(body: most).status
                await third.close()
            }
            #expect(status == 200)
        }
    }

    @Test("a head that is too large gets 431, what is no HTTP gets 400, and both a close")
    func heads() async throws {
        try await ServerHarness.run { harness in
            let large = "GET /health HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 70_000))\r\n\r\n"
            for (text, status) in [
                ("\u{1}\u{2}garbage\r\n\r\n", 400), ("GET\r\n\r\n", 400), (large, 431),
                ("GET / HTTP/1.1\r\nA b\r\n\r\n", 400),
            ] {
                let connection = try await harness.tcp()
                try await connection.send(text)
                #expect(try await connection.reply().status == status)
                try await connection.end()
            }
            let behind = try await harness.tcp()
            try await behind.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await behind.reply().status == 200)
            try await behind.send("\u{1}\u{2}garbage\r\n\r\n")
            #expect(try await behind.reply().status == 400)
            try await behind.end()
            let healthy = try await harness.tcp()
            #expect(try await healthy.request("GET", "/health").status == 200)
            await healthy.close()
        }
    }

    @Test("a connection that says nothing, or does not finish its request, is closed")
    func silence() async throws {
        try await ServerHarness.run {
            $0.limits.requestTime = .seconds(2)
        } _: { harness in
            for text in ["", "GET /hea", "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc"] {
                let connection = try await harness.tcp()
                // A client that was suspended for the two seconds finds its connection closed already.
                if !text.isEmpty { try? await connection.send(text) }
                try await connection.end()
            }
            var status = 0
            while status != 200 {
                let idle = try await harness.tcp()
                status = (try? await idle.request("GET", "/health").status) ?? 0
                if status == 200 { try await idle.end() }
            }
        }
    }

    @Test("an upgrade without a handler gets the response to a plain request")
    func upgrades() async throws {
        try await ServerHarness.run { harness in
            for fields in [
                ["Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQAAP__"],
                ["Upgrade: websocket", "Connection: Upgrade"], ["Upgrade: websocket, h2c", "Connection: Upgrade"],
                ["Upgrade: TLS/1.0", "Connection: Upgrade"],
            ] {
                let connection = try await harness.tcp()
                let reply = try await connection.request("GET", "/health", fields)
                #expect(reply.status == 200)
                #expect(reply.field("Connection") == "close")
                try await connection.end()
            }
        }
    }

    @Test("bytes after an upgrade without a handler are not kept")
    func behindUpgrades() async throws {
        try await ServerHarness.run { harness in
            for line in ["GET /events", "CONNECT localhost:1"] {
                let connection = try await harness.tcp()
                let fields = ["Upgrade: h2c", "Connection: Upgrade", ServerHarness.bearer]
                let parts = line.split(separator: " ").map(String.init)
                let reply = try await connection.request(parts[0], parts[1], fields)
                if parts[0] == "GET" {
                    #expect(reply.status == 200)
                    // More than a reader of the complete stream would keep; the stream continues meanwhile.
                    for _ in 0..<64 { try await connection.send([UInt8](repeating: 65, count: 1 << 20)) }
                    harness.service.tell(.drained)
                    try await connection.receive(through: "\"drained\"")
                    await connection.close()
                } else {
                    #expect(reply.status == 404 || reply.status == 400)
                    try await connection.end()
                }
            }
        }
    }

    @Test("what is nowhere is 404")
    func nowhere() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            for target in ["/x", "/jsonrpc/x", "/../etc/passwd", "/%00", "//", "/sessions", "*", "/health%2f"] {
                #expect(try await connection.request("GET", target).status == 404)
            }
            #expect(try await connection.request("PUT", "/jsonrpc").status == 404)
            await connection.close()
        }
    }

    @Test("beyond the limit of connections the oldest one without a token is closed")
    func connections() async throws {
        try await ServerHarness.run {
            $0.limits.connections = 2
        } _: { harness in
            let known = try await harness.tcp()
            #expect(try await known.request(body: Self.call).status == 200)
            let stranger = try await harness.tcp()
            #expect(try await stranger.request("GET", "/health").status == 200)
            let next = try await harness.tcp()
            #expect(try await next.request("GET", "/health").status == 200)
            try await stranger.end()
            #expect(try await known.request(body: Self.call).status == 200)
            // When all have presented the token, a new one is refused.
            #expect(try await next.request(body: Self.call).status == 200)
            #expect(try await harness.tcp().reply().status == 503)
            await known.close()
            await next.close()
        }
    }

    @Test("the metrics are text that Prometheus reads")
    func metrics() async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            _ = try await connection.request(body: Self.call)
            _ = try await connection.request(body: Self.open)
            let reply = try await connection.request("GET", "/metrics", [ServerHarness.bearer])
            #expect(reply.field("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            for line in [
                "# TYPE martlet_transfers gauge", "martlet_transfers{state=\"waiting\"} 0",
                "martlet_received_bytes_total 4711",
                "martlet_rpc_calls_total{method=\"aria2.tellWaiting\",result=\"done\"} 1",
                "martlet_rpc_calls_total{method=\"aria2.tellWaiting\",result=\"failed\"} 1",
                "martlet_server_authentication_failures_total 1", "martlet_server_connections 1",
            ] {
                #expect(reply.body.split(separator: "\n").contains { $0 == line }, "\(line)")
            }
            #expect(reply.body.contains("\nprocess_resident_memory_bytes "))
            #expect(reply.body.hasSuffix("\n"))
            await connection.close()
        }
    }

    @Test("a port in use is distinguished from other failures, and TCP needs a token")
    func binding() async throws {
        try await ServerHarness.run { harness in
            await #expect {
                try await ServerHarness.run {
                    $0.listen = .init(port: harness.port)
                } _: { _ in
                }
            } throws: {
                ($0 as? ServerError)?.code == .addressInUse
            }
            await #expect {
                try await ServerHarness.run {
                    $0.token = nil
                } _: { _ in
                }
            } throws: {
                ($0 as? ServerError)?.code == .tokenMissing
            }
            await #expect {
                try await ServerHarness.run {
                    $0.listen = nil
                    $0.socketPath = "/nonexistent/d.sock"
                } _: { _ in
                }
            } throws: {
                ($0 as? ServerError)?.code == .cannotMakeSocket
            }
        }
    }
}
