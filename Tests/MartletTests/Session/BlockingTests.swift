// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Blocking calls", .timeLimit(.minutes(1)))
struct BlockingTests {
    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            switch request.path {
            case "/missing": .response(404, text: "no such page\n")
            case "/range": .file(ServedFile(length: 10), request)
            default: .response(200, text: "hello")
            }
        }
    }

    @Test("From a thread: a body, and a file, with referer and headers")
    func thread() async throws {
        let (server, harness) = (try await self.server(), try Harness())
        let (session, url, path) = (harness.session, server.text("a"), harness.path("file"))
        let referer = try HTTPURL("http://page.test/")
        let data = try await onThread { try session.dataBlocking(from: url, referer: referer, headers: ["X-Own": "1"]) }
        #expect(data.text == "hello" && data.status == 200)
        let file = try await onThread {
            try session.downloadBlocking(from: url, to: .file(path), referer: referer, headers: ["X-Own": "2"])
        }
        #expect(file.size == 5 && file.path == path)
        #expect(server.requests.map { $0["Referer"] } == ["http://page.test/", "http://page.test/"])
        #expect(server.requests.map { $0["X-Own"] } == ["1", "2"])
    }

    @Test("A temporary file is the caller's until the caller releases it")
    func temporary() async throws {
        let (server, harness) = (try await self.server(), try Harness())
        let (session, url) = (harness.session, server.text("a"))
        let isThere = try await onThread {
            let file = try session.downloadBlocking(from: url)
            return withExtendedLifetime(file) { file.isTemporary && Files.exists(file.path) }
        }
        #expect(isThere)
    }

    @Test("206 is success, 404 carries status, reason phrase and the body's first bytes")
    func statuses() async throws {
        let (server, harness) = (try await self.server(), try Harness())
        let (session, range, missing) = (harness.session, server.text("range"), server.text("missing"))
        let part = try await onThread { try session.dataBlocking(from: range, headers: ["Range": "bytes=0-3"]) }
        #expect(part.status == 206 && part.body.count == 4)
        for isDownload in [false, true] {
            let error = try await failure {
                try await onThread {
                    if isDownload {
                        _ = try session.downloadBlocking(from: missing)
                    } else {
                        _ = try session.dataBlocking(from: missing)
                    }
                }
            }
            #expect(error.code == .httpStatus && error.status == 404 && error.reasonPhrase == "Not Found")
            #expect(error.bodyText == "no such page\n")
        }
    }

    @Test("From inside a delegate's call, on that delegate's own queue")
    func delegate() async throws {
        let (server, harness) = (try await self.server(), try Harness { $0.concurrentTransfers = 1 })
        let (session, url, results) = (harness.session, server.text("b"), Log<String>())
        let observer = Observer { script in
            script.dataEnd = { _, _ in results.add((try? session.dataBlocking(from: url).text) ?? "failed") }
            script.response = { _, decide in decide(.allow) }
        }
        session.addDelegate(observer, on: .queue(DispatchQueue(label: "delegate")))
        try session.dataTask(for: server.text("a")).resume()
        await results.wait(for: 1)
        #expect(results.entries == ["hello"])
        await observer.waitForEnds()
        // The blocking call is not reported.
        #expect(observer.story == ["response 200", "data", "end"])
    }

    @Test("From inside a completion handler, and from a dispatch queue")
    func handler() async throws {
        let (server, harness) = (
            try await self.server(), try Harness { $0.callbackContext = .queue(.init(label: "calls")) }
        )
        let (session, url, results) = (harness.session, server.text("b"), Log<String>())
        try session.data(from: url) { _ in results.add((try? session.dataBlocking(from: url).text) ?? "failed") }
        DispatchQueue.global().async { results.add((try? session.dataBlocking(from: url).text) ?? "failed") }
        await results.wait(for: 2)
        #expect(results.entries == ["hello", "hello"])
    }

    @Test("Limits that were changed before the first blocking call apply to it")
    func limits() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "hello").steps)
        }
        let harness = try Harness { $0.concurrentTransfers = 1 }
        let (session, results) = (harness.session, Log<String>())
        session.concurrentTransfers = 2
        for index in 0..<2 {
            let url = server.text("\(index)")
            Threads.start { results.add((try? session.dataBlocking(from: url).text) ?? "failed") }
        }
        await server.waitForRequests(2)
        gate.open()
        await results.wait(for: 2)
        #expect(results.entries == ["hello", "hello"])
    }

    @Test("On the main thread, with a delegate that is to be called there")
    @MainActor func main() async throws {
        let (server, harness) = (try await self.server(), try Harness())
        let observer = Observer()
        harness.session.addDelegate(observer, on: .main)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        let session = harness.session
        let url = server.text("b")
        func call() throws -> String { try session.dataBlocking(from: url).text }
        #expect(try call() == "hello")
        #expect(try await task.value.text == "hello")
        await observer.waitForEnds()
    }

    @Test("In asynchronous code off the main thread they throw instead of waiting")
    func asynchronous() async throws {
        let (server, harness) = (try await self.server(), try Harness())
        let (session, url) = (harness.session, server.text("a"))
        func data() throws { _ = try session.dataBlocking(from: url) }
        func file() throws { _ = try session.downloadBlocking(from: url) }
        #expect(await code { try data() } == .wouldDeadlock)
        #expect(await code { try file() } == .wouldDeadlock)
        #expect(server.requests.isEmpty)
    }

    @Test("Configured credentials answer challenges, and the request's errors are thrown")
    func credentials() async throws {
        let server = try await ScriptedServer.start { request in
            request["Authorization"] == nil
                ? .response(401, [("WWW-Authenticate", "Basic realm=\"x\"")]) : .response(200, text: "inside")
        }
        let url = try server.url("a")
        let harness = try Harness { $0.credentials.set(.password(user: "me", password: "secret"), for: url) }
        let session = harness.session
        #expect(try await onThread { try session.dataBlocking(from: url).text } == "inside")
        #expect(await code { try await onThread { try session.dataBlocking(from: "no url") } } == .badURL)
        session.finishTasksAndInvalidate()
        #expect(await code { try await onThread { try session.dataBlocking(from: url) } } == .invalidated)
    }
}
