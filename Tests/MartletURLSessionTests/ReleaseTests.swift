// SPDX-License-Identifier: Apache-2.0
import Foundation
import MartletURLSession
import Synchronization
import Testing
import TransferTesting

@Suite("Release of sessions, tasks and delegates of MartletURLSession", .timeLimit(.minutes(2)))
struct ReleaseTests {
    /// Objects that must be released.
    private final class Watched: Sendable {
        private struct Reference: Sendable {
            weak let object: (any AnyObject & Sendable)?
            let name: String
        }

        private let references = Mutex<[Reference]>([])

        @discardableResult
        func watch<Object: AnyObject & Sendable>(_ object: Object, _ name: String) -> Object {
            self.references.withLock { $0.append(Reference(object: object, name: name)) }
            return object
        }

        /// The names of the objects that were not released.
        var left: [String] { self.references.withLock { $0.filter { $0.object != nil }.map(\.name) } }

        /// Waits until every object is released; the suite's time limit ends it.
        func released() async { while !self.left.isEmpty { await Task.yield() } }
    }

    private final class Delegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
        let ended = Mutex(0)
        let invalid: Mutex<(@Sendable () -> Void)?>

        init(invalid: (@Sendable () -> Void)? = nil) { self.invalid = Mutex(invalid) }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            self.ended.withLock { $0 += 1 }
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            self.invalid.withLock { $0 }?()
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {}
    }

    private enum Ending: CaseIterable { case dropped, finishing, cancelling }

    private static func serve() async throws -> ScriptedServer {
        let file = ServedFile(length: 100_000)
        return try await ScriptedServer.start { request in
            switch request.path {
            case "/file": .file(file, request)
            case "/redirect": .redirect(to: "/file")
            case "/stall": Reply([.head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes([1]), .stall])
            case "/missing": .response(404, text: "missing")
            default: .response(200, text: "fine")
            }
        }
    }

    private static func use(_ server: ScriptedServer, _ ending: Ending, _ watched: Watched) async throws {
        let delegate = watched.watch(Delegate(), "delegate")
        let session = watched.watch(
            URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil),
            "session, \(ending)"
        )
        func url(_ path: String) throws -> URL { try #require(URL(string: server.text(path))) }
        var started = 0
        for path in ["file", "redirect", "missing", "stall"] {
            var put = URLRequest(url: try url(path))
            put.httpMethod = "PUT"
            let tasks: [(String, URLSessionTask)] = [
                ("data", session.dataTask(with: try url(path))),
                ("data with a handler", session.dataTask(with: try url(path)) { _, _, _ in }),
                ("download", session.downloadTask(with: try url(path))),
                ("download with a handler", session.downloadTask(with: try url(path)) { _, _, _ in }),
                ("upload", session.uploadTask(with: put, from: Data(count: 1000))),
            ]
            for (name, task) in tasks {
                watched.watch(task, "\(name) of \(path), \(ending)")
                task.delegate = watched.watch(Delegate(), "delegate of \(name) of \(path)")
                task.resume()
                started += 1
                if path == "stall" { task.cancel() }
            }
        }
        watched.watch(session.dataTask(with: try url("file")), "never resumed").taskDescription = "never resumed"
        let early = watched.watch(session.dataTask(with: try url("file")), "cancelled before it was resumed")
        early.cancel()
        let later = watched.watch(session.dataTask(with: try url("file")), "cancelled before its date")
        later.earliestBeginDate = Date(timeIntervalSinceNow: 3600)
        later.resume()
        later.cancel()
        for try await _ in try await session.bytes(from: try url("stall")).0 { break }
        _ = try? await session.data(from: try url("missing"))
        let downloaded = try await session.download(from: try url("file")).0
        try FileManager.default.removeItem(at: downloaded)
        switch ending {
        case .dropped: break
        case .finishing: session.finishTasksAndInvalidate()
        case .cancelling: session.invalidateAndCancel()
        }
    }

    @Test("everything is released after its end, however tasks and their session end", arguments: Ending.allCases)
    private func release(_ ending: Ending) async throws {
        let server = try await Self.serve()
        let watched = Watched()
        for _ in 0..<3 { try await Self.use(server, ending, watched) }
        await watched.released()
    }

    @Test("a session that the program has released notifies its delegate when it is invalid", arguments: [0, 1])
    func invalidation(tasks: Int) async throws {
        let server = try await Self.serve()
        let watched = Watched()
        let (reports, reported) = AsyncStream.makeStream(of: Void.self)
        func use() throws {
            let delegate = watched.watch(Delegate { reported.finish() }, "delegate")
            let session = watched.watch(
                URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil),
                "session"
            )
            for _ in 0..<tasks { session.dataTask(with: try #require(URL(string: server.text("file")))).resume() }
            session.finishTasksAndInvalidate()
        }
        try use()
        for await _ in reports {}
        await watched.released()
    }
}
