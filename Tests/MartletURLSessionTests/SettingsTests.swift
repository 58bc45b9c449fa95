// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletURLSession
import Synchronization
import Testing
import TransferTesting

/// What a program sets takes effect, or is refused with an error.
@Suite("Settings of requests and sessions of MartletURLSession", .timeLimit(.minutes(1)))
struct SettingsTests {
    /// "a text that was compressed".
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4B, 0x54, 0x28, 0x49, 0xAD, 0x28,
        0x51, 0x28, 0xC9, 0x48, 0x2C, 0x51, 0x28, 0x4F, 0x2C, 0x56, 0x48, 0xCE, 0xCF, 0x2D, 0x28, 0x4A,
        0x2D, 0x2E, 0x4E, 0x4D, 0x01, 0x00, 0xB9, 0xBB, 0xA4, 0x78, 0x1A, 0x00, 0x00, 0x00,
    ]

    private static func url(_ server: ScriptedServer, _ path: String) throws -> URL {
        try #require(URL(string: server.text(path)))
    }

    private static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    @Test("a compressed body that was read as a sequence is stored as it was read")
    func cachedSequence() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(200, [("Content-Encoding", "gzip"), ("Cache-Control", "max-age=60")], body: Self.gzip)
        }
        let session = URLSession(configuration: .ephemeral)
        let url = try Self.url(server, "list")
        var read = Data()
        for try await piece in try await session.bytes(from: url).0.chunks { read.append(piece) }
        #expect(Self.text(read) == "a text that was compressed")
        // The response is stored right after the last byte was delivered.
        var stored: Data?
        while stored == nil {
            await Task.yield()
            stored = session.configuration.urlCache?.cachedResponse(for: URLRequest(url: url))?.data
        }
        #expect(stored.map(Self.text) == "a text that was compressed")
        #expect(try await Self.text(session.data(from: url).0) == "a text that was compressed")
        #expect(server.requests.count == 1)
    }

    @Test("the response to a streamed body is a sequence of bytes, too")
    func streamedSequence() async throws {
        let server = try await ScriptedServer.start { .response(200, body: $0.body + Array("\nfine".utf8)) }
        var request = URLRequest(url: try Self.url(server, "echo"))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("sent".utf8))
        let (bytes, _) = try await URLSession(configuration: .ephemeral).bytes(for: request)
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["sent", "fine"])
    }

    @Test("a session's fields take precedence over the fields that a request gets by default")
    func additionalFields() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Content-Type": "application/json", "Accept-Encoding": "identity"]
        let session = URLSession(configuration: configuration)
        var request = URLRequest(url: try Self.url(server, "a"))
        request.httpMethod = "POST"
        request.httpBody = Data("{}".utf8)
        _ = try await session.data(for: request)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        _ = try await session.data(for: request)
        #expect(server.requests.map { $0.values("Content-Type") } == [["application/json"], ["text/plain"]])
        #expect(server.requests.map { $0.values("Accept-Encoding") } == [["identity"], ["identity"]])
    }

    @Test("a cookie that another host sets after a redirect is stored, unless the main document is elsewhere")
    func cookiesOfAnotherHost() async throws {
        let server = try await ScriptedServer.start { request in
            guard request.path == "/login" else {
                return .response(200, [("Set-Cookie", "session=1; Path=/")], text: "welcome")
            }
            let port = request["Host"]?.split(separator: ":").last ?? ""
            return .redirect(to: "http://localhost:\(port)/welcome")
        }
        for isElsewhere in [false, true] {
            let session = URLSession(configuration: .ephemeral)
            var request = URLRequest(url: try Self.url(server, "login"))
            if isElsewhere { request.mainDocumentURL = request.url }
            _ = try await session.data(for: request)
            let cookies = session.configuration.httpCookieStorage?.cookies ?? []
            #expect(cookies.map(\.name) == (isElsewhere ? [] : ["session"]))
        }
    }

    @Test("the conditions of a cached response are not taken for those of a redirect's target")
    func conditionsOfRedirect() async throws {
        let server = try await ScriptedServer.start { request in
            if request.path == "/b" {
                return request["If-None-Match"] == nil ? .response(200, text: "b") : .response(304, [("ETag", "\"1\"")])
            }
            return request.targetIndex == 0
                ? .response(200, [("ETag", "\"1\""), ("Cache-Control", "max-age=0")], text: "a") : .redirect(to: "/b")
        }
        let session = URLSession(configuration: .ephemeral)
        #expect(try await Self.text(session.data(from: Self.url(server, "a")).0) == "a")
        #expect(try await Self.text(session.data(from: Self.url(server, "a")).0) == "b")
    }

    @Test("a 304 that confirms another response than the stored one is not asked for again and again")
    func confirmationOfAnother() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.requestIndex {
            case 0: .response(200, [("ETag", "\"1\""), ("Cache-Control", "max-age=0")], text: "old")
            case 1: .response(304, [("ETag", "\"2\"")])
            default: .response(200, [("ETag", "\"2\"")], text: "new")
            }
        }
        let session = URLSession(configuration: .ephemeral)
        let url = try Self.url(server, "a")
        #expect(try await Self.text(session.data(from: url).0) == "old")
        #expect(try await Self.text(session.data(from: url).0) == "new")
        #expect(server.requests.map { $0["If-None-Match"] } == [nil, "\"1\"", nil])
    }

    @Test("credentials of a challenge are forgotten by a reset")
    func reset() async throws {
        final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
            let asked = Mutex(0)

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                self.asked.withLock { $0 += 1 }
                let credential = URLCredential(user: "user", password: "password", persistence: .forSession)
                completionHandler(.useCredential, credential)
            }
        }
        let server = try await ScriptedServer.start { request in
            request["Authorization"] == nil
                ? .response(401, [("WWW-Authenticate", "Basic realm=\"a\"")]) : .response(200, text: "fine")
        }
        let delegate = Delegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        for asked in [1, 1, 2] {
            if asked == 2 { await withCheckedContinuation { done in session.reset { done.resume() } } }
            #expect(try await Self.text(session.data(from: Self.url(server, "a")).0) == "fine")
            #expect(delegate.asked.withLock { $0 } == asked)
        }
    }

    @Test("a download by the policy of the cache alone makes no request")
    func downloadFromCache() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        var request = URLRequest(url: try Self.url(server, "a"))
        request.cachePolicy = .returnCacheDataDontLoad
        let session = URLSession(configuration: .ephemeral)
        let error = await #expect(throws: URLError.self) { try await session.download(for: request) }
        #expect(error?.code == .resourceUnavailable && server.requests.isEmpty)
    }

    @Test("a request that allows no cellular network runs beside the others of its session")
    func cellular() async throws {
        let server = try await ScriptedServer.start { request in .response(200, text: request.path) }
        let networks = Mutex<[Bool]>([])
        let configuration = URLSessionConfiguration.ephemeral
        configuration.adjust = { made in networks.withLock { $0.append(made.allowsExpensiveNetwork) } }
        let session = URLSession(configuration: configuration)
        var request = URLRequest(url: try Self.url(server, "a"))
        _ = try await session.data(for: request)
        request.allowsCellularAccess = false
        for _ in 0..<2 { #expect(try await Self.text(session.data(for: request).0) == "/a") }
        #expect(networks.withLock { $0 } == [true, false])
    }

    @Test("a file that is missing fails an upload that Foundation makes")
    func missingFile() async throws {
        final class Stub: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
            override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
            override func startLoading() { self.client?.urlProtocolDidFinishLoading(self) }
            override func stopLoading() {}
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Stub.self]
        let session = URLSession(configuration: configuration)
        var request = URLRequest(url: try #require(URL(string: "http://stub.example/")))
        request.httpMethod = "PUT"
        let missing = URL(fileURLWithPath: "/nonexistent/file")
        let error = await #expect(throws: URLError.self) { try await session.upload(for: request, fromFile: missing) }
        #expect(error?.code == .cannotOpenFile)
    }

    @Test("the response to an upload that is to become a download is an error")
    func uploadBecomesDownload() async throws {
        final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
            let ended = AsyncStream<(any Error)?>.makeStream()

            func urlSession(
                _ session: URLSession,
                dataTask: URLSessionDataTask,
                didReceive response: URLResponse,
                completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
            ) { completionHandler(.becomeDownload) }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                self.ended.continuation.yield(error)
            }
        }
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let delegate = Delegate()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        var request = URLRequest(url: try Self.url(server, "a"))
        request.httpMethod = "PUT"
        session.uploadTask(with: request, from: Data("content".utf8)).resume()
        for await error in delegate.ended.stream {
            #expect((error as? URLError)?.code == .unsupportedURL)
            break
        }
    }

    @Test("the delegate of a task is the one that learns of its creation, before the task can be resumed")
    func creation() async throws {
        final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
            let created = Mutex<[Int]>([])

            func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
                task.taskDescription = "known"
                self.created.withLock { $0.append(task.taskIdentifier) }
            }
        }
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let (delegate, own) = (Delegate(), Delegate())
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        let url = try Self.url(server, "a")
        let task = session.dataTask(with: url)
        #expect(task.taskDescription == "known")
        _ = try await session.data(from: url, delegate: own)
        _ = try await session.bytes(from: url, delegate: own)
        #expect(delegate.created.withLock { $0 } == [task.taskIdentifier])
        #expect(own.created.withLock { $0.count } == 2)
        task.cancel()
    }

    @Test("a task that is suspended before Foundation makes its request does not start until it is resumed")
    func suspendedFallback() async throws {
        final class Stub: URLProtocol {
            static let isAllowed = Mutex(false)
            static let early = Mutex(0)

            override class func canInit(with request: URLRequest) -> Bool { true }
            override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
            override func startLoading() {
                if !Self.isAllowed.withLock({ $0 }) { Self.early.withLock { $0 += 1 } }
                guard let url = self.request.url,
                    let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
                else { return }
                self.client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed)
                self.client?.urlProtocolDidFinishLoading(self)
            }
            override func stopLoading() {}
        }
        final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
            let began = AsyncStream<Void>.makeStream()
            let ended = AsyncStream<(any Error)?>.makeStream()

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                willBeginDelayedRequest request: URLRequest,
                completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
            ) {
                task.suspend()
                completionHandler(.continueLoading, nil)
                self.began.continuation.yield()
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                self.ended.continuation.yield(error)
            }
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Stub.self]
        let delegate = Delegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.dataTask(with: try #require(URL(string: "http://stub.example/")))
        task.earliestBeginDate = Date(timeIntervalSinceNow: 0.05)
        task.resume()
        for await _ in delegate.began.stream { break }
        #expect(task.state == .suspended)
        Stub.isAllowed.withLock { $0 = true }
        task.resume()
        for await error in delegate.ended.stream {
            #expect(error == nil)
            break
        }
        #expect(Stub.early.withLock { $0 } == 0)
    }
}
