// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Testing
import TransferTesting

@Suite("The limit of connections", .timeLimit(.minutes(1)))
struct ConnectionLimitTests {
    @Test("closes the connection that has been idle for the longest time, never one with a request")
    func idle() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let bench = try await HTTPBench(connections: 2) { router in
            router.get("/") { _ in .message(200, "here") }
            router.get("/slow") { _ in
                for await _ in gate {}
                return .message(200, "late")
            }
        }
        let idle = try await bench.client()
        #expect(try await idle.request("GET", "/").status == 200)
        let busy = try await bench.client()
        try await busy.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let head = try await bench.client()
        try await idle.end()
        try await head.send("GET / HTTP/1.1\r\nHo")
        let second = try await bench.client()
        try await head.end()
        try await second.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        // Whether the second request has arrived is not visible from here: until then a new client takes its place.
        var status = 0
        while status != 503 {
            let more = try await bench.client()
            try? await more.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            status = (try? await more.reply().status) ?? 0
            await more.close()
            guard status == 200 else { continue }
            try? await second.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        }
        opener.finish()
        #expect(try await busy.reply().body == "late\n")
        await busy.close()
        await second.close()
        await bench.stop()
    }

    @Test("closes the oldest connection without an authenticated client, whatever it does")
    func unauthenticated() async throws {
        let bench = try await HTTPBench(connections: 4, excess: .closeUnauthenticated(reserve: 2)) { router in
            router.get("/enter") { request in
                request.request.connection.authenticated()
                return .message(200, "welcome")
            }
            router.post("/") { _ in .message(200, "received") }
        }
        let known = try await bench.client()
        #expect(try await known.request("GET", "/enter").status == 200)
        var strangers: [RawConnection] = []
        for _ in 0..<20 {
            let stranger = try await bench.client()
            try await stranger.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab")
            strangers.append(stranger)
        }
        for stranger in strangers.dropLast(2) { try await stranger.end() }
        for stranger in strangers.suffix(2) {
            try await stranger.send("cde")
            #expect(try await stranger.reply().body == "received\n")
        }
        #expect(try await known.request("GET", "/enter").status == 200)
        for connection in strangers + [known] { await connection.close() }
        await bench.stop()
    }
}
