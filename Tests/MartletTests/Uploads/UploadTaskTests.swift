// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Upload tasks", .timeLimit(.minutes(1)))
struct UploadTaskTests {
    private let pattern = TestPattern(seed: 9)

    private func file(_ harness: Harness, _ size: Int64) throws -> String {
        try harness.directory.write(self.pattern.bytes(0..<size), to: "up.bin")
        return harness.path("up.bin")
    }

    private func holds(_ bytes: [UInt8]?, _ count: Int64) -> Bool {
        bytes?.count == Int(count) && bytes?.withUnsafeBytes { self.pattern.firstDifference(in: $0) } == nil
    }

    @Test("a file, bytes, a sequence and a form arrive, and the response is returned")
    func bodies() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start()
        let path = try self.file(harness, 3_000_000)
        let answer = try await harness.session.upload(.file(path), to: server.text("/f"))
        #expect(answer.status == 201 && answer.text == "stored\n")
        #expect(self.holds(server.uploads["/f"]?.bytes, 3_000_000))
        _ = try await harness.session.upload(.bytes([1, 2, 3]), to: server.text("/b"))
        #expect(server.uploads["/b"]?.bytes == [1, 2, 3])
        let (sequence, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for number in 0..<100 { continuation.yield(Array(repeating: UInt8(number), count: 1000)) }
        continuation.finish()
        _ = try await harness.session.upload(.stream(sequence), to: server.text("/s"))
        #expect(server.uploads["/s"]?.bytes.count == 100_000)
        #expect(server.requests.last?["Transfer-Encoding"] == "chunked")
        let form = UploadBody.form([.field("a", "1"), .file("f", path), .bytes("g", [7], fileName: "x.bin")])
        _ = try await harness.session.upload(form, to: server.text("/form"))
        let request = try #require(server.requests.last)
        #expect(request.method == "POST")
        #expect(request["Content-Type"]?.hasPrefix("multipart/form-data; boundary=martlet-") == true)
        let sent = try #require(server.uploads["/form"]?.bytes)
        #expect(Int64(sent.count) == request["Content-Length"].flatMap { Int64($0) })
    }

    @Test(
        "a sequence that is longer or shorter than declared fails, and the server has no complete request",
        arguments: [[0, 1], [3, 3, 1], [6, 1], [7], [100_000, 1], [2, 3]] as [[Int]]
    )
    func lyingSequence(_ sizes: [Int]) async throws {
        let harness = try Harness()
        let server = try await UploadServer.start()
        let declared: Int64 = sizes.contains(100_000) ? 100_000 : sizes == [0, 1] ? 0 : 6
        let (sequence, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for size in sizes { continuation.yield([UInt8](repeating: 7, count: size)) }
        continuation.finish()
        let error = try await failure {
            try await harness.session.upload(.stream(sequence, length: declared), to: server.text("/f"))
        }
        #expect(error.code == .file && error.message.contains("declared"), "\(error)")
        #expect(server.uploads["/f"]?.isWhole != true)
    }

    @Test("a sequence of the declared length arrives whole, also an empty one", arguments: [0, 1, 100_000] as [Int64])
    func honestSequence(_ count: Int64) async throws {
        let harness = try Harness()
        let server = try await UploadServer.start()
        let (sequence, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        if count > 0 { continuation.yield(self.pattern.bytes(0..<count)) }
        continuation.finish()
        _ = try await harness.session.upload(.stream(sequence, length: count), to: server.text("/f"))
        #expect(server.requests.last?["Content-Length"] == "\(count)")
        #expect(server.uploads["/f"]?.isWhole == true && self.holds(server.uploads["/f"]?.bytes ?? [], count))
    }

    @Test("method, headers, referer and cookies go along")
    func facts() async throws {
        let jar = CookieStorage()
        let harness = try Harness { $0.cookies = jar }
        let server = try await UploadServer.start()
        try jar.set(Cookie(name: "session", value: "s3cret", domain: "127.0.0.1", path: "/", created: 0))
        var request = try TransferRequest(server.text("/f"))
        request.method = "POST"
        request.headers = ["Content-Type": "text/plain", "X-Key": "1"]
        request.referer = try HTTPURL("http://host/page")
        _ = try await harness.session.upload(.bytes([1]), to: request)
        let sent = try #require(server.requests.first)
        #expect(sent.method == "POST" && sent.fields.values("Content-Type") == ["text/plain"])
        #expect(sent["X-Key"] == "1" && sent["Referer"] == "http://host/page" && sent["Cookie"] == "session=s3cret")
    }

    @Test("a POST to a folder is the same request at 5 KB and at 8 MB, also to a server that speaks tus")
    func posts() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start { $0.speaksTus = true }
        var request = try TransferRequest(server.text("/in/"))
        request.method = "POST"
        request.headers = ["Content-Type": "image/png"]
        for size in [5_000, 8_000_000] as [Int64] {
            let count = server.requests.count
            _ = try await harness.session.upload(.file(self.file(harness, size)), to: request)
            let sent = server.requests.dropFirst(count)
            #expect(sent.map(\.method) == ["POST"] && sent.first?.target == "/in/")
            #expect(sent.first?["Content-Type"] == "image/png" && sent.first?["Tus-Resumable"] == nil)
            #expect(sent.first?["Content-Length"] == "\(size)")
        }
        // A PUT may be sent by tus.
        _ = try await harness.session.upload(.file(self.file(harness, 8_000_000)), to: server.text("/in/"))
        #expect(server.requests.contains { $0["Tus-Resumable"] != nil })
    }

    @Test("a delegate gets the bytes sent, the response, and one end")
    func delegate() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start { $0.rate = 4_000_000 }
        let watcher = Watcher()
        harness.session.addDelegate(watcher)
        let task = try harness.session.uploadTask(
            for: server.text("/f"),
            from: .file(self.file(harness, 3_000_000)),
            resumption: .none
        )
        task.resume()
        _ = try await task.value
        await watcher.ended.wait()
        let story = watcher.story.withLock { $0 }
        #expect(story.last == "end 201" && story.filter { $0.hasPrefix("end") }.count == 1, "\(story)")
        #expect(story.contains("response 201") && story.contains("sent 3000000 of 3000000"), "\(story)")
        #expect(watcher.sum.withLock { $0 } == 3_000_000)
        #expect(task.bytesSent == 3_000_000 && task.bytesExpectedToSend == 3_000_000 && task.state == .ended)
    }

    @Test("a sequence of events delivers the same")
    func events() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start()
        let task = try harness.session.uploadTask(for: server.text("/f"), from: .bytes([1, 2]))
        let events = task.events
        task.resume()
        var words: [String] = []
        for await event in events {
            switch event {
            case .sent(let progress): words.append("sent \(progress.bytesSent)")
            case .response(let response): words.append("response \(response.status)")
            case .finished(.data(let answer)): words.append("finished \(answer.text)")
            default: words.append("other")
            }
        }
        #expect(words.last == "finished stored\n" && words.contains("sent 2") && words.contains("response 201"))
    }

    @Test("an error status is an error, with the server's words")
    func refused() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start { $0.refusals["PUT"] = .init(403, body: "no entry") }
        let error = try await failure { try await harness.session.upload(.bytes([1]), to: server.text("/f")) }
        #expect(error.code == .httpStatus && error.status == 403 && error.bodyText == "no entry")
    }

    @Test("from a thread that may wait, it waits")
    func blocking() async throws {
        let harness = try Harness()
        let server = try await UploadServer.start()
        let url = server.text("/f")
        let session = harness.session
        let answer = try await onThread { try session.uploadBlocking(.bytes([5]), to: url, headers: ["X-A": "b"]) }
        #expect(answer.status == 201 && server.requests.first?["X-A"] == "b")
    }

    @Test("cut off, it resumes automatically; its resume data resumes it in another session")
    func resuming() async throws {
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.cuts = [1_000_000]
            behaviour.holdsAt = 2_500_000
        }
        let first = try Harness()
        let path = try self.file(first, 5_000_000)
        let task = try first.session.uploadTask(for: server.text("/in/"), from: .file(path))
        let events = task.events
        task.resume()
        for await event in events {
            if case .sent(let progress) = event, progress.bytesSent > 2_000_000 { break }
        }
        let data = try #require(await task.cancelKeepingUpload())
        #expect(server.requests.allSatisfy { $0.method != "DELETE" })
        let copy = try UploadResumeData(data.bytes)
        #expect(copy == data && copy.path == path)
        server.change { $0.holdsAt = nil }
        let second = try Harness()
        let other = try second.session.uploadTask(resuming: copy, for: server.text("/in/"))
        other.resume()
        _ = try await other.value
        // What the first task had sent may be the rest of it: that is there a moment before it counts as whole.
        while server.only?.isWhole != true, !Task.isCancelled { await Task.yield() }
        #expect(self.holds(server.only?.bytes, 5_000_000) && server.only?.isWhole == true)
        #expect(server.received == 5_000_000)
        #expect(other.resumeData == nil)
        #expect(throws: TransferError.self) { try UploadResumeData(Array(data.bytes.dropLast())) }
    }

    @Test("cancelled, it is deleted at the server (termination)")
    func cancelling() async throws {
        let server = try await UploadServer.start { behaviour in
            behaviour.speaksTus = true
            behaviour.holdsAt = 1_000_000
        }
        let harness = try Harness()
        let task = try harness.session.uploadTask(for: server.text("/in/"), from: .file(self.file(harness, 5_000_000)))
        task.resume()
        await server.waitForRequests(3)
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        await server.waitForRequests(4)
        #expect(server.requests.last?.method == "DELETE")
    }

    @Test("a background session refuses uploads, and a request with its own body is refused")
    func refusals() async throws {
        let harness = try Harness()
        var request = try TransferRequest("http://127.0.0.1:1/f")
        request.body = [1]
        let asked = request
        #expect(await code { try harness.session.uploadTask(for: asked, from: .bytes([1])) } == .badRequest)
    }
}

/// Records its calls.
private final class Watcher: TransferDelegate {
    let story = Mutex<[String]>([])
    let sum = Mutex<Int64>(0)
    let ended = Gate()

    func task(_ task: UploadTask, didSend progress: UploadProgress) {
        self.sum.withLock { $0 += progress.bytesSinceLast }
        self.story.withLock { $0.append("sent \(progress.bytesSent) of \(progress.bytesExpected ?? -1)") }
    }

    func task(
        _ task: TransferTask,
        didReceive response: TransferResponse,
        decide: @escaping @Sendable (TransferResponse.Decision) -> Void
    ) {
        self.story.withLock { $0.append("response \(response.status)") }
        decide(.allow)
    }

    func task(_ task: UploadTask, didEndWith result: Result<DataResponse, TransferError>) {
        let word =
            switch result {
            case .success(let answer): "\(answer.status)"
            case .failure(let error): "\(error)"
            }
        self.story.withLock { $0.append("end \(word)") }
        self.ended.open()
    }
}
