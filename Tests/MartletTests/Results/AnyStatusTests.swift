// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Requests that accept any status", .timeLimit(.minutes(1)))
struct AnyStatusTests {
    /// Longer than the part of a body that a failure has.
    private static let page = String(repeating: "the form has a mistake\n", count: 2000)

    private func server() async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            switch request.path {
            case "/form": .response(422, text: Self.page)
            case "/busy": .response(503, [("Retry-After", "1")], text: "busy")
            case "/range": .response(416, [("Content-Range", "bytes */7")], text: "no such range")
            case "/same": .response(304)
            case "/moved": .redirect(to: "/form")
            case "/lost": .response(302, text: "nowhere")
            case "/secret": .response(401, [("WWW-Authenticate", "Basic realm=\"vault\"")], text: "who are you?")
            default: .response(200, text: "fine")
            }
        }
    }

    @Test(
        "have the whole body of a refusal, and do not repeat the request",
        arguments: [
            ("form", 422, Self.page), ("moved", 422, Self.page), ("busy", 503, "busy"), ("range", 416, "no such range"),
            ("same", 304, ""), ("lost", 302, "nowhere"), ("secret", 401, "who are you?"), ("fine", 200, "fine"),
        ]
    )
    func data(_ path: String, _ status: Int, _ text: String) async throws {
        let server = try await self.server()
        let harness = try Harness { $0.retries = SessionConfiguration.RetryPolicy(attempts: 3) }
        for isUpload in [false, true] where !(isUpload && path == "same") {
            var request = try TransferRequest(server.text("\(path)?\(isUpload)"))
            request.acceptsAnyStatus = true
            let result: DataResponse
            if isUpload {
                request.method = "POST"
                result = try await harness.session.upload(.bytes([1, 2, 3]), to: request)
            } else {
                if path == "range" { request.headers = ["Range": "bytes=9-"] }
                result = try await harness.session.data(from: request)
            }
            #expect(result.status == status && result.text == text, "\(isUpload)")
            let asked = server.requests.count { $0.path == "/\(path)" && $0.target.hasSuffix("\(isUpload)") }
            #expect(asked == 1, "\(isUpload)")
        }
    }

    @Test("ask for credentials first, and have the refusal if there are none")
    func challenges() async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { script in
            script.challenge = { challenge, decide in
                decide(challenge.refusals == 0 ? .use(.password(user: "me", password: "x")) : .useDefault)
            }
        }
        var request = try TransferRequest(server.text("secret"))
        request.acceptsAnyStatus = true
        let task = try harness.session.dataTask(for: request)
        task.addDelegate(observer)
        task.resume()
        let result = try await task.value
        #expect(result.status == 401 && result.text == "who are you?")
        #expect(server.requests.count == 2)
    }

    @Test("have the redirect that a delegate refused", arguments: [false, true])
    func redirects(_ isUpload: Bool) async throws {
        let server = try await self.server()
        let harness = try Harness()
        let observer = Observer { $0.redirect = { $1(.refuse) } }
        harness.session.addDelegate(observer)
        var request = try TransferRequest(server.text("moved"))
        request.acceptsAnyStatus = true
        request.method = "PUT"
        let result =
            isUpload
            ? try await harness.session.upload(.bytes([1]), to: request)
            : try await harness.session.data(from: request)
        #expect((300..<400).contains(result.status))
    }

    @Test("still write no refusal to a file")
    func files() async throws {
        let server = try await self.server()
        let harness = try Harness()
        var request = try TransferRequest(server.text("form"))
        request.acceptsAnyStatus = true
        let path = harness.path("file")
        let error = try await failure { try await harness.session.download(from: request, to: .file(path)) }
        #expect(error.code == .httpStatus && error.status == 422)
        #expect(!Files.exists(path))
    }

    @Test("repeat an attempt that a refusal interrupts", arguments: [false, true])
    func interrupted(_ isInterruptedAgain: Bool) async throws {
        let file = ServedFile(length: 300_000)
        var cut = file
        cut.interruption = .closeAfter(100_000)
        let server = try await ScriptedServer.start { [cut] request in
            switch request.targetIndex {
            case 0: .file(cut, request)
            case 1: .response(503, text: "busy")
            case 2 where isInterruptedAgain: .response(404, text: "gone")
            default: .file(file, request)
            }
        }
        let harness = try Harness { $0.retries = SessionConfiguration.RetryPolicy(attempts: 3) }
        var request = try TransferRequest(server.text("file"))
        request.acceptsAnyStatus = true
        if isInterruptedAgain {
            let error = try await failure { try await harness.session.data(from: request) }
            #expect(error.code == .httpStatus && error.status == 404)
        } else {
            #expect(try await harness.session.data(from: request).body == file.pattern.bytes(0..<file.length))
        }
    }

    @Test("become files that a later refusal does not change")
    func becomesDownload() async throws {
        let file = ServedFile(length: 3 << 20)
        var cut = file
        cut.interruption = .closeAfter(1 << 20)
        let server = try await ScriptedServer.start { [cut] request in
            switch request.targetIndex {
            case 0: .file(cut, request)
            case 1: .response(503, text: "busy")
            default: .file(file, request)
            }
        }
        let harness = try Harness { $0.retries = SessionConfiguration.RetryPolicy(attempts: 3) }
        let observer = Observer { $0.response = { $1(.becomeDownload(to: .file(harness.path("file")))) } }
        harness.session.addDelegate(observer)
        var request = try TransferRequest(server.text("file"))
        request.acceptsAnyStatus = true
        let task = try harness.session.dataTask(for: request)
        task.resume()
        await observer.waitForEnds()
        #expect(try harness.directory.read("file") == file.pattern.bytes(0..<file.length))
        #expect(server.requests.count == 3)
    }
}
