// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Timeouts", .timeLimit(.minutes(1)))
struct TimeoutTests {
    @Test("Without bytes for the request timeout an attempt fails with timeout", arguments: [false, true])
    func request(_ hasHead: Bool) async throws {
        let head = Reply.headBytes(200, [("Content-Length", "10")])
        let server = try await ScriptedServer.start { _ in
            Reply(hasHead ? [.head(head), .bytes([1]), .stall] : [.stall])
        }
        let harness = try Harness {
            $0.requestTimeout = .milliseconds(300)
            $0.retries = .none
        }
        let error = try await failure { try await harness.session.data(from: server.text("a")) }
        #expect(error.code == .timeout && error.isRetryable)
        await server.waitForOpenConnections(0)
    }

    @Test("The resource timeout is over the whole transfer, though bytes keep coming")
    func resource() async throws {
        let head = Reply.headBytes(200, [("Content-Length", "100000")])
        let server = try await ScriptedServer.start { _ in
            Reply([.head(head), .drip([UInt8](repeating: 1, count: 100_000), every: .milliseconds(20))])
        }
        let harness = try Harness { $0.resourceTimeout = .seconds(6) }
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .timeout)
        #expect(server.requests.count == 1)
    }

    @Test("A request's own timeouts take the place of the configuration's; zero is none", arguments: [true, false])
    func own(_ isZero: Bool) async throws {
        let server = try await ScriptedServer.start { request in
            // The second request never gets a response, so nothing can precede its timeout.
            request.targetIndex == 0
                ? Reply([.delay(.milliseconds(900))] + Reply.response(200, text: "x").steps) : Reply([.stall])
        }
        let harness = try Harness {
            $0.requestTimeout = isZero ? .milliseconds(300) : .zero
            $0.resourceTimeout = isZero ? .milliseconds(300) : .zero
            $0.retries = .none
        }
        var request = try TransferRequest(server.text("a"))
        request.requestTimeout = isZero ? .zero : nil
        request.resourceTimeout = isZero ? .zero : nil
        #expect(try await harness.session.data(from: request).text == "x")
        request.requestTimeout = .milliseconds(200)
        #expect(await code { try await harness.session.data(from: request) } == .timeout)
    }

    @Test("Of 100 tasks, 5 at a time, the last does not time out by queueing")
    func queueing() async throws {
        let server = try await ScriptedServer.start { _ in
            Reply([.delay(.milliseconds(550))] + Reply.response(200, text: "x").steps)
        }
        // All of them take 100 / 5 * 0.55 = 11 seconds and more; any one may take 10, also on a busy machine.
        let harness = try Harness {
            $0.concurrentTransfers = 5
            $0.requestTimeout = .seconds(10)
            $0.resourceTimeout = .seconds(10)
            $0.connectTimeout = .seconds(10)
            $0.retries = .none
        }
        let start = ContinuousClock.now
        let tasks = try (0..<100).map { try harness.session.dataTask(for: server.text("\($0)")) }
        for task in tasks { task.resume() }
        for task in tasks { #expect(try await task.value.text == "x") }
        #expect(ContinuousClock.now - start > .seconds(10))
        // Five at once; each of two event loops keeps its own connections for the next.
        #expect(server.connectionCount <= 10)
    }

    @Test("Time that a task is suspended does not count")
    func suspended() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/wait"
                ? Reply([.delay(.milliseconds(19_500))] + Reply.response(200).steps)
                : request.targetIndex == 0 ? Reply([.stall]) : .response(200, text: "x")
        }
        let harness = try Harness { $0.resourceTimeout = .seconds(19) }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await server.waitForRequests(1)
        task.suspend()
        var long = try TransferRequest(server.text("wait"))
        long.resourceTimeout = .zero
        _ = try await harness.session.data(from: long)
        task.resume()
        #expect(try await task.value.text == "x")
    }

    @Test("A retryable status is asked for again, as often as the policy says")
    func retries() async throws {
        let server = try await ScriptedServer.start { request in
            request.targetIndex < 2
                ? .response(503, [("Retry-After", "0")], text: "not now") : .response(200, text: "x")
        }
        let harness = try Harness { $0.retries = SessionConfiguration.RetryPolicy(attempts: 2) }
        let observer = Observer()
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("a")).text == "x")
        #expect(server.requests.count == 3)
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "data", "end"])
        let none = try Harness { $0.retries = .none }
        let error = try await failure { try await none.session.data(from: server.text("b")) }
        #expect(error.code == .httpStatus && error.status == 503 && error.bodyText == "not now" && error.isRetryable)
        #expect(server.requests.count == 4)
    }

    @Test("What is not idempotent is never repeated; what is, is", arguments: ["POST", "PATCH", "PUT", "DELETE"])
    func idempotent(_ method: String) async throws {
        let server = try await ScriptedServer.start { request in
            request.targetIndex == 0 ? Reply([.close]) : .response(200, text: "x")
        }
        let harness = try Harness()
        for path in ["broken", "status"] {
            var request = try TransferRequest(server.text(path))
            request.method = method
            request.body = [UInt8]("content")
            let ended = await code { try await harness.session.data(from: request) }
            let isRepeated = method == "PUT" || method == "DELETE"
            #expect(ended == (isRepeated ? nil : .network))
            #expect(server.requests(for: "/" + path).count == (isRepeated ? 2 : 1))
        }
    }

    @Test("A POST that gets a retryable status is not repeated")
    func postStatus() async throws {
        let server = try await ScriptedServer.start { _ in .response(503, [("Retry-After", "0")]) }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.method = "POST"
        request.body = [UInt8]("content")
        #expect(await code { try await harness.session.data(from: request) } == .httpStatus)
        #expect(server.requests.count == 1)
    }
}
