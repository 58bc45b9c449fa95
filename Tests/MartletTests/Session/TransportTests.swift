// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

/// A session without a network, as a program's tests have it: of the public interface only.
@Suite("A replaced transport", .timeLimit(.minutes(1)))
struct TransportTests {
    private func session(
        _ network: ScriptedResponses,
        change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> TransferSession {
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = network.transport
        configuration.retries = .none
        change(&configuration)
        return try TransferSession(configuration: configuration)
    }

    @Test("A data task receives the script's response; method, URL, fields and content are recorded")
    func data() async throws {
        let network = ScriptedResponses { request in
            .response(200, ["ETag": "\"1\"", "Content-Type": "text/plain"], text: "\(request.method) \(request.text)")
        }
        var request = try TransferRequest("https://shop.test/orders?page=2")
        request.method = "POST"
        request.headers = ["X-Own": "1"]
        request.body = Array("two swifts".utf8)
        let answer = try await self.session(network).data(from: request)
        #expect(answer.text == "POST two swifts" && answer.response.entityTag == "\"1\"")
        let sent = try #require(network.requests.first)
        #expect(network.requests.count == 1 && sent.method == "POST" && sent["X-Own"] == "1")
        #expect(sent.url.description == "https://shop.test/orders?page=2" && sent.text == "two swifts")
    }

    @Test("A download is resumed with a range after the connection broke")
    func download() async throws {
        let bytes = TestPattern().bytes(0..<600_000)
        let network = ScriptedResponses { request in
            let whole = ScriptedResponse.file(bytes, for: request)
            return request.index == 0 ? whole.failing(after: 400_000) : whole
        }
        let directory = try TemporaryDirectory()
        let session = try self.session(network) {
            $0.retries.attempts = 2
            $0.connectionsPerDownload = 1
        }
        let file = try await session.download(from: "https://files.test/a.bin", to: .file(directory.path("a.bin")))
        #expect(file.size == 600_000)
        #expect(try directory.read("a.bin") == bytes)
        #expect(network.requests.count == 2)
        #expect(network.requests.last?["Range"]?.hasPrefix("bytes=") == true)
    }

    @Test("An upload's content is recorded, from memory, a file and a stream", arguments: ["bytes", "file", "stream"])
    func upload(source: String) async throws {
        let bytes = TestPattern().bytes(0..<300_000)
        let network = ScriptedResponses { _ in .response(201, text: "stored") }
        let directory = try TemporaryDirectory()
        try directory.write(bytes, to: "a.bin")
        let pieces = AsyncStream<[UInt8]> { stream in
            for start in stride(from: 0, to: 300_000, by: 50_000) {
                stream.yield(Array(bytes[start..<(start + 50_000)]))
            }
            stream.finish()
        }
        let body: UploadBody =
            switch source {
            case "file": .file(directory.path("a.bin"))
            case "stream": .stream(pieces)
            default: .bytes(bytes)
            }
        var request = try TransferRequest("https://files.test/in/a.bin")
        request.method = "PUT"
        let answer = try await self.session(network).upload(body, to: request, resumption: .none)
        #expect(answer.status == 201 && answer.text == "stored")
        #expect(network.requests.map(\.method) == ["PUT"] && network.requests.first?.body == bytes)
    }

    @Test("A queue runs its items over it")
    func queue() async throws {
        let network = ScriptedResponses { request in .response(request.url.description.hasSuffix("3") ? 404 : 200) }
        var configuration = TransferQueue.defaultConfiguration
        configuration.transport = network.transport
        let queue = try TransferQueue(concurrentTransfers: 2, configuration: configuration)
        for number in 0..<5 { try queue.add("https://pictures.test/\(number)") }
        queue.start()
        queue.finishQueuing()
        try await queue.waitUntilFinished()
        #expect(queue.finishedCount == 5 && network.requests.count == 5)
    }

    @Test("Failures of the network have the codes of real ones")
    func failures() async throws {
        let expected: [(ScriptedFailure, TransferError.Code)] = [
            (.unknownHost, .nameResolution), (.connectTimeout, .timeout), (.connectionReset, .network),
            (.connectionClosed, .network), (.certificateExpired, .certificate), (.certificateWrongHost, .certificate),
            (.certificateUnknownAuthority, .certificate), (.malformedResponse, .badResponse),
        ]
        for (failure, code) in expected {
            let session = try self.session(ScriptedResponses { _ in .failure(failure) })
            let error = await #expect(throws: TransferError.self) { try await session.data(from: "https://a.test/") }
            #expect(error?.code == code, "\(failure)")
        }
    }

    @Test("A refused connection, no response and a delay end with the session's timeouts")
    func timeouts() async throws {
        for response in [
            ScriptedResponse.silence, .failure(.connectionRefused), .response(200).delayed(by: .seconds(30)),
        ] {
            let session = try self.session(ScriptedResponses { _ in response }) {
                $0.requestTimeout = .milliseconds(200)
                $0.resourceTimeout = .milliseconds(400)
            }
            let error = await #expect(throws: TransferError.self) { try await session.data(from: "https://a.test/") }
            #expect(error?.code == .timeout || error?.networkFailure == .connectionRefused)
        }
    }

    @Test("Redirects, cookies and credentials are the session's, as over a real connection")
    func policy() async throws {
        let network = ScriptedResponses { request in
            switch request.url.description {
            case "https://a.test/old": return .redirect(to: "/new")
            default:
                guard request["Authorization"] != nil else {
                    return .response(401, ["WWW-Authenticate": "Basic realm=\"a\"", "Set-Cookie": "session=7"])
                }
                return .response(200, text: request["Cookie"] ?? "")
            }
        }
        let place = try HTTPURL("https://a.test/")
        let session = try self.session(network) {
            $0.credentials.set(.password(user: "anna", password: "p"), for: place)
        }
        #expect(try await session.data(from: "https://a.test/old").text == "session=7")
        #expect(network.requests(for: "https://a.test/new").count == 2)
    }

    @Test("A body arrives in pieces, whole and in order, also if the task pauses")
    func pieces() async throws {
        let bytes = TestPattern().bytes(0..<3_000_000)
        let network = ScriptedResponses { _ in .response(200, body: bytes).inPieces(of: 10_000) }
        let task = try self.session(network).dataTask(for: "https://a.test/")
        var received: [UInt8] = []
        let events = task.events
        task.resume()
        for await event in events {
            if case .data(let piece) = event { received += piece }
            await Task.yield()
        }
        #expect(received == bytes)
    }

    @Test("Cancelling a task that waits for its response ends it")
    func cancelling() async throws {
        let network = ScriptedResponses { _ in .silence }
        let task = try self.session(network).dataTask(for: "https://a.test/")
        task.resume()
        await network.waitForRequests(1)
        task.cancel()
        let error = await #expect(throws: TransferError.self) { try await task.value }
        #expect(error?.code == .cancelled)
    }

    @Test("HEAD has the length without the body; a body shorter than its declared length is incomplete")
    func lengths() async throws {
        let network = ScriptedResponses { request in
            request.method == "HEAD"
                ? .response(200, text: "12345") : .response(200, ["Content-Length": "9"], text: "1")
        }
        let session = try self.session(network)
        var request = try TransferRequest("https://a.test/")
        request.method = "HEAD"
        let answer = try await session.data(from: request)
        #expect(answer.body.isEmpty && answer.response.expectedLength == 5)
        await #expect(throws: TransferError.self) { try await session.data(from: "https://a.test/") }
    }

    @Test("A blocking call uses it, and a background session refuses it")
    func kinds() async throws {
        let network = ScriptedResponses { _ in .response(200, text: "hello") }
        let session = try self.session(network)
        #expect(try await onThread { try session.dataBlocking(from: "https://a.test/") }.text == "hello")
        var configuration = SessionConfiguration.background(identifier: "test.transport")
        configuration.transport = network.transport
        let error = #expect(throws: TransferError.self) { try TransferSession(configuration: configuration) }
        #expect(error?.code == .badConfiguration)
    }
}
