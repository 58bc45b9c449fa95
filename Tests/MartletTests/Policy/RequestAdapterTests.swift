// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Request adapters", .timeLimit(.minutes(1)))
struct RequestAdapterTests {
    @Test("Each attempt and each redirect is adapted, and a field replaces the request's")
    func requests() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.requestIndex {
            case 0: .response(503, [("Retry-After", "0")])
            case 1: .redirect(to: "/b")
            default: .response(200, text: "fine")
            }
        }
        let adapter = ClosureAdapter { request, number in ["X-Number": "\(number)", "X-Path": request.url.path] }
        let harness = try Harness { $0.adapter = adapter }
        var request = try TransferRequest(server.text("a"))
        request.headers = ["X-Number": "own", "X-Other": "kept"]
        #expect(try await harness.session.data(from: request).text == "fine")
        #expect(server.requests.map { $0.values("X-Number") } == [["1"], ["2"], ["3"]])
        #expect(server.requests.map { $0["X-Path"] } == ["/a", "/a", "/b"])
        #expect(server.requests[1]["X-Other"] == "kept")
        #expect(adapter.requests[0].method == "GET" && adapter.requests[0].headers["X-Other"] == "kept")
    }

    @Test("The ranges of a resumed download keep their fields")
    func ranges() async throws {
        let file = ServedFile(length: 300_000)
        var cut = file
        cut.interruption = .closeAfter(100_000)
        let server = try await ScriptedServer.start { [cut] request in
            request.targetIndex == 0 ? .file(cut, request) : .file(file, request)
        }
        let harness = try Harness { $0.adapter = ClosureAdapter { _, number in ["X-Number": "\(number)"] } }
        let result = try await harness.session.download(from: server.text("file"), to: .file(harness.path("file")))
        #expect(result.size == 300_000 && server.requests.map { $0["X-Number"] } == ["1", "2"])
        #expect(server.requests[1]["Range"]?.hasPrefix("bytes=") == true)
        #expect(try harness.directory.read("file") == file.pattern.bytes(0..<file.length))
    }

    @Test("A refused request is sent again once, with its content and new fields", arguments: [1, 2])
    func refused(_ refusals: Int) async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex < refusals ? .response(401, text: "who are you?") : .response(200, text: "fine")
        }
        let adapter = ClosureAdapter { _, number in ["Authorization": "Token \(number)"] }
        let harness = try Harness { $0.adapter = adapter }
        var request = try TransferRequest(server.text("a"))
        request.method = "POST"
        if refusals == 1 {
            #expect(try await harness.session.upload(.bytes([1, 2, 3]), to: request).text == "fine")
        } else {
            let error = try await failure { try await harness.session.upload(.bytes([1, 2, 3]), to: request) }
            #expect(error.status == 401 && error.bodyText == "who are you?")
        }
        #expect(server.requests.map { $0["Authorization"] } == ["Token 1", "Token 2"])
        #expect(server.requests.allSatisfy { $0.body == [1, 2, 3] })
        #expect(adapter.refusals.first?.headers["Authorization"] == "Token 1" && adapter.refusals.count == refusals)
    }

    @Test("An error of the adapter, or an invalid field, fails the task before a request", arguments: [false, true])
    func failing(_ isField: Bool) async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        let adapter = ClosureAdapter { _, _ in
            guard isField else { throw TestSupportError("no token today") }
            return ["Authorization": "a\r\nb"]
        }
        let harness = try Harness { $0.adapter = adapter }
        let error = try await failure { try await harness.session.data(from: server.text("a?secret")) }
        #expect(error.code == .badRequest && error.message.contains("/a: the request adapter failed: "))
        #expect(error.message.contains(isField ? "line break" : "no token today"))
        #expect(server.requests.isEmpty && adapter.requests.count == 1)
    }

    @Test("Cancelling a task cancels the adapter's call")
    func cancelled() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        let (entered, left) = (Gate(), Gate())
        // Its iteration ends when the task is cancelled.
        let (never, source) = AsyncStream<Never>.makeStream()
        defer { source.finish() }
        let adapter = ClosureAdapter { _, _ in
            entered.open()
            defer { left.open() }
            for await _ in never {}
            return [:]
        }
        let harness = try Harness { $0.adapter = adapter }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await entered.wait()
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
        await left.wait()
        #expect(server.requests.isEmpty)
    }

    @Test("A cache has the responses of one token for that token only")
    func cache() async throws {
        let server = try await ScriptedServer.start { request in
            .response(200, [("Cache-Control", "max-age=60"), ("Vary", "X-Token")], text: request["X-Token"] ?? "")
        }
        let cache = ResponseCache(memoryLimit: 1 << 20)
        for token in ["a", "b", "a"] {
            let harness = try Harness {
                $0.cache = cache
                $0.adapter = ClosureAdapter { _, _ in ["X-Token": token] }
            }
            #expect(try await harness.session.data(from: server.text("a")).text == token)
        }
    }

    @Test("A background session does not accept one")
    func background() async throws {
        var configuration = SessionConfiguration.background(identifier: "a")
        configuration.adapter = ClosureAdapter { _, _ in [:] }
        let error = #expect(throws: TransferError.self) { try TransferSession(configuration: configuration) }
        #expect(error?.code == .badConfiguration && error?.message.contains("adapter") == true)
    }
}

/// An adapter of a closure, which gets the number of the call.
private final class ClosureAdapter: RequestAdapter {
    private struct Calls {
        var requests: [AdaptedRequest] = []
        var refusals: [AdaptedRequest] = []
    }

    private let calls = Mutex(Calls())
    private let closure: @Sendable (AdaptedRequest, Int) async throws -> HeaderFields

    init(_ closure: @escaping @Sendable (AdaptedRequest, Int) async throws -> HeaderFields) { self.closure = closure }

    var requests: [AdaptedRequest] { self.calls.withLock { $0.requests } }
    var refusals: [AdaptedRequest] { self.calls.withLock { $0.refusals } }

    func fields(for request: AdaptedRequest) async throws -> HeaderFields {
        let number = self.calls.withLock { calls in
            calls.requests.append(request)
            return calls.requests.count
        }
        return try await self.closure(request, number)
    }

    func wasRefused(_ request: AdaptedRequest, with response: TransferResponse) {
        self.calls.withLock { $0.refusals.append(request) }
    }
}
