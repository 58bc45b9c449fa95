// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("A response is reported once", .timeLimit(.minutes(1)))
struct ResponseOnceTests {
    private static let file = ServedFile(length: 3 << 20)

    /// A server that misbehaves by the path.
    private func server() async throws -> ScriptedServer {
        var broken = Self.file
        broken.interruption = .closeAfter(1 << 20)
        return try await ScriptedServer.start { [broken] request in
            switch request.path {
            case "/redirect": .redirect(to: "/plain")
            case "/loop": .redirect(to: "/loop")
            case "/busy": request.targetIndex < 2 ? .response(503) : .file(Self.file, request)
            case "/broken": request.targetIndex < 2 ? .file(broken, request) : .file(Self.file, request)
            case "/gone": request.targetIndex == 0 ? .file(broken, request) : .response(404, text: "gone")
            case "/missing": .response(404, text: "missing")
            case "/same": .response(304)
            case "/secret":
                request["Authorization"] == nil
                    ? .response(401, [("WWW-Authenticate", "Basic realm=\"vault\"")]) : .file(Self.file, request)
            default: .file(Self.file, request)
            }
        }
    }

    @Test(
        "to delegates and sequences, whatever happens on the way",
        arguments: [
            "plain", "redirect", "loop", "busy", "broken", "gone", "missing", "same", "secret", "head", "headMissing",
            "refused", "cancelled", "file",
        ]
    )
    func once(_ path: String) async throws {
        let server = try await self.server()
        let harness = try Harness { configuration in
            configuration.connectionsPerDownload = 4
            configuration.retries = SessionConfiguration.RetryPolicy(attempts: 3)
        }
        for isDownload in [false, true] {
            let observer = Observer { script in
                script.challenge = { $1(.use(.password(user: "me", password: "x"), remember: .task)) }
                if path == "refused" { script.redirect = { $1(.refuse) } }
                if path == "cancelled" { script.response = { $1(.cancel) } }
                if path == "file" { script.response = { $1(.becomeDownload(to: .temporary)) } }
            }
            let isHead = path.hasPrefix("head")
            let target = path == "refused" ? "redirect" : path == "headMissing" ? "missing" : path
            var request = try TransferRequest(server.text("\(target)?\(isDownload)"))
            if isHead { request.method = "HEAD" }
            let task: TransferTask =
                isDownload
                ? try harness.session.downloadTask(for: request) : try harness.session.dataTask(for: request)
            task.addDelegate(observer)
            let events = task.events
            task.resume()
            var responses = 0
            for await event in events { if case .response = event { responses += 1 } }
            await observer.waitForEnds()
            #expect(observer.log.entries.count { $0.hasPrefix("response") } == 1, "\(isDownload) \(observer.story)")
            #expect(responses == 1, "\(isDownload)")
        }
    }

    @Test(
        "when its task is suspended before the delegate has decided, and resumed",
        arguments: [false, true],
        [false, true]
    )
    func suspended(_ isDownload: Bool, _ turns: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let decisions = Log<@Sendable (TransferResponse.Decision) -> Void>()
        let observer = Observer { $0.response = { decisions.add($1) } }
        let request = try TransferRequest(server.text("plain"))
        let task: TransferTask =
            isDownload ? try harness.session.downloadTask(for: request) : try harness.session.dataTask(for: request)
        task.addDelegate(observer)
        task.resume()
        await decisions.wait(for: 1)
        task.suspend()
        await server.waitForOpenConnections(0)
        task.resume()
        await server.waitForRequests(2)
        while task.state != .running { await Task.yield() }
        decisions.entries[0](turns ? .becomeDownload(to: .file(harness.path("turned"))) : .allow)
        await observer.waitForEnds()
        let responses = observer.log.entries.count { $0.hasPrefix("response") }
        #expect(responses == 1 && observer.story.last == "end", "\(observer.story)")
        if turns, !isDownload {
            #expect(Self.file.pattern.difference(fromFileAt: harness.path("turned"), length: 3 << 20) == nil)
        }
    }

    @Test("to a delegate of both the session and the task")
    func sameDelegate() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer()
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("missing"))
        task.addDelegate(observer)
        task.resume()
        _ = try? await task.value
        await observer.waitForEnds()
        #expect(observer.log.entries == ["response 404", "failed httpStatus"])
    }

    @Test("a failure without a body has its response, too", arguments: ["HEAD", "GET"])
    func withoutBody(_ method: String) async throws {
        let server = try await ScriptedServer.start { _ in .response(404, [("X-Why", "gone")]) }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.method = method
        let asked = request
        let error = try await failure { try await harness.session.data(from: asked) }
        #expect(error.code == .httpStatus && error.response?.headers["X-Why"] == "gone" && error.body.isEmpty)
    }
}
