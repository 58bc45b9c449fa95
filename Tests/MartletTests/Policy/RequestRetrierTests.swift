// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Retriers", .timeLimit(.minutes(1)))
struct RequestRetrierTests {
    @Test("A retrier chooses the delay, beyond the retries of the configuration and whatever the server asks for")
    func delay() async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex < 4 ? .response(503, [("Retry-After", "3600")]) : .response(200, text: "fine")
        }
        let retrier = ClosureRetrier { .retry(after: .milliseconds($0.number)) }
        let harness = try Harness {
            $0.retries = .none
            $0.retrier = retrier
        }
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        #expect(try await task.value.text == "fine")
        #expect(retrier.attempts.map(\.number) == [1, 2, 3, 4])
        #expect(retrier.attempts.allSatisfy { $0.error.status == 503 && $0.error.isRetryable && $0.task === task })
        #expect(server.requests.count == 5)
    }

    @Test("A retrier ends a task before its retries are used up")
    func fail() async throws {
        let server = try await ScriptedServer.start { _ in .response(503) }
        let retrier = ClosureRetrier { $0.number < 2 ? .retry(after: .zero) : .fail }
        let harness = try Harness { $0.retrier = retrier }
        let error = try await failure { try await harness.session.data(from: server.text("a")) }
        #expect(error.status == 503 && error.code == .httpStatus && server.requests.count == 2)
    }

    @Test("Without a decision, the configuration's retries and the server's delay apply")
    func automatic() async throws {
        let server = try await ScriptedServer.start { _ in .response(503, [("Retry-After", "0")]) }
        let retrier = ClosureRetrier { _ in .automatic }
        let harness = try Harness {
            $0.retries = SessionConfiguration.RetryPolicy(attempts: 2)
            $0.retrier = retrier
        }
        let error = try await failure { try await harness.session.data(from: server.text("a")) }
        #expect(error.status == 503 && server.requests.count == 3 && retrier.attempts.map(\.number) == [1, 2, 3])
    }

    @Test("A status that is added to the configuration's is repeated as the retrier says")
    func status() async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex == 0 ? .response(404) : .response(200, text: "x")
        }
        let harness = try Harness {
            $0.retries.statuses.insert(404)
            $0.retrier = ClosureRetrier { _ in .retry(after: .zero) }
        }
        #expect(try await harness.session.data(from: server.text("a")).text == "x")
    }

    @Test("What must not be repeated, and what succeeds, is not asked about")
    func unasked() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/cut" ? Reply([.close]) : .response(request.path == "/a" ? 200 : 404)
        }
        let retrier = ClosureRetrier { _ in .retry(after: .zero) }
        let harness = try Harness { $0.retrier = retrier }
        _ = try await harness.session.data(from: server.text("a"))
        #expect(try await failure { try await harness.session.data(from: server.text("gone")) }.status == 404)
        var request = try TransferRequest(server.text("cut"))
        request.method = "POST"
        _ = try await failure { try await harness.session.upload(.bytes([1]), to: request) }
        #expect(retrier.attempts.isEmpty && server.requests.count == 3)
    }

    @Test("A download continues after the delay of the retrier, with the bytes it has", arguments: [nil, 60.0])
    func resumes(_ patience: Double?) async throws {
        let file = ServedFile(length: 300_000)
        var cut = file
        cut.interruption = .closeAfter(100_000)
        let server = try await ScriptedServer.start { [cut] request in
            request.targetIndex < 2 ? .file(cut, request) : .file(file, request)
        }
        let retrier = ClosureRetrier { _ in .retry(after: .milliseconds(1)) }
        let harness = try Harness {
            $0.retrier = retrier
            $0.outageTimeout = patience.map { .seconds($0) }
        }
        let result = try await harness.session.download(from: server.text("file"), to: .file(harness.path("file")))
        #expect(result.size == 300_000 && !retrier.attempts.isEmpty)
        #expect(server.requests.last?["Range"]?.hasPrefix("bytes=") == true)
        #expect(try harness.directory.read("file") == file.pattern.bytes(0..<file.length))
    }

    @Test("An upload is repeated with its content")
    func upload() async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex == 0 ? .response(503, [("Retry-After", "60")]) : .response(200, text: "taken")
        }
        let harness = try Harness {
            $0.retries = .none
            $0.retrier = ClosureRetrier { _ in .retry(after: .zero) }
        }
        var request = try TransferRequest(server.text("a"))
        request.method = "PUT"
        #expect(try await harness.session.upload(.bytes([1, 2, 3]), to: request).text == "taken")
        #expect(server.requests.allSatisfy { $0.body == [1, 2, 3] } && server.requests.count == 2)
    }

    @Test("The resource timeout counts the delay, and a cancelled task does not wait for its end")
    func limits() async throws {
        let server = try await ScriptedServer.start { _ in .response(500) }
        let retrier = ClosureRetrier { _ in .retry(after: .seconds(3600)) }
        let harness = try Harness { $0.retrier = retrier }
        var request = try TransferRequest(server.text("a"))
        request.resourceTimeout = .seconds(60)
        let error = try await failure { try await harness.session.data(from: request) }
        #expect(error.code == .timeout && error.message.contains("1m"))
        let task = try harness.session.dataTask(for: server.text("b"))
        let events = task.events
        task.resume()
        for await event in events {
            guard case .waiting(let reason) = event else { continue }
            #expect(reason.kind == .retry)
            break
        }
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
    }

    @Test("A background session refuses a retrier")
    func background() throws {
        let directory = try TemporaryDirectory()
        var configuration = SessionConfiguration.background(identifier: "r", stateDirectory: directory.path)
        configuration.retrier = ClosureRetrier { _ in .automatic }
        let error = #expect(throws: TransferError.self) { try TransferSession(configuration: configuration) }
        #expect(error?.code == .badConfiguration && error?.message.contains("retrier") == true)
    }
}

private final class ClosureRetrier: RequestRetrier {
    private let made = Mutex<[FailedAttempt]>([])
    private let closure: @Sendable (FailedAttempt) -> FailedAttempt.Decision

    init(_ closure: @escaping @Sendable (FailedAttempt) -> FailedAttempt.Decision) { self.closure = closure }

    var attempts: [FailedAttempt] { self.made.withLock { $0 } }

    func decision(after attempt: FailedAttempt) -> FailedAttempt.Decision {
        self.made.withLock { $0.append(attempt) }
        return self.closure(attempt)
    }
}
