// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletFoundation
import MartletURLSession
import Synchronization
import Testing
import TransferTesting

@Suite("Sessions and tasks of MartletURLSession", .timeLimit(.minutes(2)))
struct SessionTests {
    private static func url(_ server: ScriptedServer, _ path: String) throws -> URL {
        try #require(URL(string: server.text(path)))
    }

    /// Waits until a condition holds; the suite's time limit ends it.
    private static func until(_ holds: @Sendable () -> Bool) async {
        while !holds() { await Task.yield() }
    }

    @Test("a session and its delegate are released after the last task, without an invalidation")
    func release() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        final class Delegate: NSObject, URLSessionDataDelegate {}
        struct Weak: Sendable {
            weak let session: URLSession?
            weak let delegate: Delegate?
        }
        func use() async throws -> Weak {
            let delegate = Delegate()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            _ = try await session.data(from: Self.url(server, "a"))
            let task = session.dataTask(with: try Self.url(server, "never"))
            task.taskDescription = "never resumed"
            return Weak(session: session, delegate: delegate)
        }
        let left = try await use()
        await Self.until { left.session == nil && left.delegate == nil }
    }

    @Test("the lines of a body arrive as it is received, and cancelling ends the sequence with an error")
    func lines() async throws {
        let server = try await ScriptedServer.start { request in
            let text = "one\r\ntwo\n\nfour"
            guard request.path == "/endless" else { return .response(200, text: text) }
            return Reply([
                .head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes(Array("a\nb\n".utf8)), .stall,
            ])
        }
        let session = URLSession(configuration: .ephemeral)
        var lines: [String] = []
        for try await line in try await session.bytes(from: Self.url(server, "text")).0.lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "four"])
        let (bytes, _) = try await session.bytes(from: Self.url(server, "endless"))
        lines = []
        let error = await #expect(throws: URLError.self) {
            for try await line in bytes.lines {
                lines.append(line)
                if line == "b" { bytes.task.cancel() }
            }
        }
        #expect(lines == ["a", "b"] && error?.code == .cancelled)
    }

    @Test("a configuration that cannot be used is the error of each task")
    func unusable() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Bad": "a\r\nb"]
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        await #expect(throws: (any Error).self) { try await session.data(from: url) }
        struct Refused: Error {}
        configuration.httpAdditionalHeaders = nil
        configuration.adjust = { _ in throw Refused() }
        await #expect(throws: Refused.self) { try await URLSession(configuration: configuration).data(from: url) }
    }

    @Test("a data task of a background session runs in the program, without the daemon")
    func backgroundData() async throws {
        let server = try await ScriptedServer.start { request in .response(200, text: request.path) }
        let directory = try TemporaryDirectory()
        let configuration = URLSessionConfiguration.background(withIdentifier: "org.example.list")
        let isFirst = Mutex(true)
        configuration.adjust = { made in
            // The first is that of the background session: its daemon is not needed, and does not exist.
            let isBackground = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isBackground else { return }
            made = .background(identifier: "org.example.list", stateDirectory: directory.path("state"))
            made.daemonPath = "/nonexistent/martletd"
        }
        let session = URLSession(configuration: configuration)
        let (data, response) = try await session.data(from: Self.url(server, "picture"))
        #expect(String(decoding: data, as: UTF8.self) == "/picture")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("not more tasks of one host run at once than the configuration says")
    func limit() async throws {
        let silent = try await ScriptedServer.start { _ in Reply([.stall]) }
        let other = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 2
        let session = URLSession(configuration: configuration)
        for number in 0..<6 { session.dataTask(with: try Self.url(silent, "\(number)")).resume() }
        await silent.waitForRequests(2)
        // Another host is not held up, and its tasks take longer than a request that was not held would.
        for number in 0..<20 { _ = try await session.data(from: Self.url(other, "\(number)")) }
        #expect(silent.requests.count == 2)
        session.invalidateAndCancel()
    }

    @Test("suspensions of several threads that are all undone leave the task running")
    func threads() async throws {
        let file = ServedFile(length: 200_000)
        let server = try await ScriptedServer.start { .file(file, $0) }
        let session = URLSession(configuration: .ephemeral)
        let ended = Mutex(0)
        for number in 0..<20 {
            let task = session.dataTask(with: try Self.url(server, "\(number)")) { data, _, _ in
                ended.withLock { $0 += data?.count == 200_000 ? 1 : 1000 }
            }
            DispatchQueue.concurrentPerform(iterations: 8) { index in
                if index == 0 { task.resume() }
                task.suspend()
                task.resume()
            }
        }
        await Self.until { ended.withLock { $0 >= 20 } }
        #expect(ended.withLock { $0 } == 20)
    }

    @Test("whatever is called, and in whatever order, each handler is called once", arguments: 0..<8 as Range<UInt64>)
    func commands(_ seed: UInt64) async throws {
        let file = ServedFile(length: 400_000)
        let server = try await ScriptedServer.start { request in
            switch request.path.suffix(1) {
            case "0": .file(file, request)
            case "1": .redirect(to: "/file0")
            case "2": .response(404, text: "missing")
            case "3": Reply([.stall])
            default: .response(200, text: "fine")
            }
        }
        let session = URLSession(configuration: .ephemeral)
        let ends = Mutex([Int](repeating: 0, count: 24))
        let bad = Mutex<[String]>([])
        var generator = SeededGenerator(seed: seed)
        var tasks: [URLSessionTask] = []
        for number in 0..<24 {
            let url = try Self.url(server, "file\(number % 5)")
            let length = number % 5 < 2 ? 400_000 : -1
            let note: @Sendable (Int?, (any Error)?) -> Void = { count, error in
                ends.withLock { $0[number] += 1 }
                if let count, length >= 0, error == nil, count != length { bad.withLock { $0.append("\(count)") } }
            }
            if Bool.random(using: &generator) {
                tasks.append(session.dataTask(with: url) { data, _, error in note(data?.count, error) })
            } else {
                tasks.append(
                    session.downloadTask(with: url) { file, _, error in
                        note(file.flatMap { try? Data(contentsOf: $0).count }, error)
                    }
                )
            }
        }
        for _ in 0..<300 {
            guard let task = tasks.randomElement(using: &generator) else { continue }
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: task.cancel()
            case 1...7: task.suspend()
            case 8: await Task.yield()
            default: task.resume()
            }
        }
        for (number, task) in tasks.enumerated() {
            // Every suspension is undone; what waits for ever is cancelled.
            while task.state == .suspended { task.resume() }
            if number % 5 == 3 { task.cancel() }
        }
        await Self.until { ends.withLock { $0.allSatisfy { $0 > 0 } } }
        #expect(ends.withLock { $0 } == [Int](repeating: 1, count: 24))
        #expect(bad.withLock { $0 } == [])
        #expect(tasks.allSatisfy { $0.state == .completed })
        #expect(await session.allTasks.isEmpty)
    }
}
