// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import Synchronization
import Testing
import TransferCore
import TransferTesting

@Suite("A router", .timeLimit(.minutes(1)))
struct RouterTests {
    @Test("selects by method and path, and passes the parameters of the path")
    func selection() async throws {
        let bench = try await HTTPBench { router in
            router.get("/") { _ in .message(200, "root") }
            router.get("/users/:name/files/:file") { .message(200, "\($0["name"]) \($0["file"])\($0["other"])") }
            router.get("/users/all/files/x") { _ in .message(200, "never: an earlier route matches") }
            router.on("DELETE", "/x") { _ in Response(204) }
        }
        let client = try await bench.client()
        #expect(try await client.request("GET", "/?a=b").body == "root\n")
        #expect(try await client.request("GET", "/users/a%20b/files/c").body == "a%20b c\n")
        #expect(try await client.request("GET", "/users/all/files/x").body == "all x\n")
        #expect(try await client.request("DELETE", "/x").status == 204)
        let head = try await client.request("HEAD", "/")
        #expect(head.status == 200 && head.field("Content-Length") == "5")
        for (method, path) in [
            ("POST", "/"), ("GET", "/x"), ("GET", "//"), ("GET", "/users//files/c"), ("GET", "/users/a/files"),
            ("GET", "/users/a/files/c/"), ("GET", "/%2F"), ("GET", "*"), ("get", "/"),
        ] {
            #expect(try await client.request(method, path).status == 404, "\(method) \(path)")
        }
        await bench.stop()
    }

    @Test("receives content within its limits, however it is framed, and discards that of other routes")
    func content() async throws {
        let bench = try await HTTPBench(contentLimit: 10, budget: 15) { router in
            router.post("/length") { request in
                switch request.content {
                case .success(let bytes): .message(200, "\(bytes.count)")
                case .failure(.tooLarge(let limit)): .message(413, "at most \(limit)")
                case .failure(.unauthenticated(let limit)): .message(413, "unknown after \(limit)")
                case .failure(.busy): .message(503, "busy")
                }
            }
            router.get("/") { .message(200, "\($0.content)") }
        }
        let client = try await bench.client()
        let (ten, eleven) = (String(repeating: "a", count: 10), String(repeating: "a", count: 11))
        #expect(try await client.request("POST", "/length").body == "0\n")
        #expect(try await client.request("POST", "/length", body: ten).body == "10\n")
        // The budget is released after each request.
        #expect(try await client.request("POST", "/length", body: ten).body == "10\n")
        #expect(try await client.request("POST", "/length", body: eleven).body == "at most 10\n")
        #expect(try await client.request("GET", "/", body: ten).body == "success([])\n")
        let head = "POST /length HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await client.send(head + "6\r\nabcdef\r\n4\r\nghij\r\n0\r\nTrailer: x\r\n\r\n")
        #expect(try await client.reply().body == "10\n")
        try await client.send(head + "6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n")
        #expect(try await client.reply().body == "at most 10\n")
        await client.close()
        let other = try await bench.client()
        try await other.send(
            "POST /length HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(try await other.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        try await other.send("ab")
        #expect(try await other.reply().body == "2\n")
        await bench.stop()
    }

    @Test("performs a request although its client disconnects")
    func disconnect() async throws {
        let (started, startedContinuation) = AsyncStream.makeStream(of: Void.self)
        let (released, releasedContinuation) = AsyncStream.makeStream(of: Void.self)
        let (ended, endedContinuation) = AsyncStream.makeStream(of: Bool.self)
        let bench = try await HTTPBench { router in
            router.get("/") { _ in
                startedContinuation.finish()
                for await _ in released {}
                endedContinuation.yield(Task.isCancelled)
                endedContinuation.finish()
                return Response(204)
            }
        }
        let client = try await bench.client()
        try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for await _ in started {}
        try await client.reset()
        while !bench.listener.hasNoConnection { await Task.yield() }
        releasedContinuation.finish()
        for await isCancelled in ended { #expect(!isCancelled) }
        await bench.stop()
    }

    @Test("when its listener stops, running handlers respond, and streams of events end properly")
    func stop() async throws {
        let (started, startedContinuation) = AsyncStream.makeStream(of: Void.self)
        let (released, releasedContinuation) = AsyncStream.makeStream(of: Void.self)
        let bench = try await HTTPBench { router in
            router.get("/slow") { _ in
                startedContinuation.finish()
                for await _ in released {}
                return .message(200, "done")
            }
            router.get("/events") { _ in
                .events(commentsEvery: .seconds(20)) { writer in
                    try? await writer.write(Array("data: 1\n\n".utf8))
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                }
            }
        }
        let (slow, events) = (try await bench.client(), try await bench.client())
        try await events.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await events.receive(through: "9\r\ndata: 1\n\n\r\n")
        try await slow.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for await _ in started {}
        async let stopped: Void = bench.stop()
        #expect(try await events.end() == "0\r\n\r\n")
        releasedContinuation.finish()
        #expect(try await slow.reply().body == "done\n")
        #expect(try await slow.end().isEmpty)
        await stopped
    }

    @Test("makes pages that other origins cannot embed")
    func page() async throws {
        let bench = try await HTTPBench { $0.get("/page") { _ in .page("<p>Hello") } }
        let client = try await bench.client()
        let response = try await client.request("GET", "/page")
        #expect(response.field("Content-Type") == "text/html; charset=utf-8")
        #expect(response.field("Content-Security-Policy")?.contains("frame-ancestors 'none'") == true)
        #expect(response.body == "<p>Hello")
        await bench.stop()
    }
}
