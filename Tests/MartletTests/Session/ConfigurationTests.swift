// SPDX-License-Identifier: Apache-2.0
import Martlet
import Testing
import TransferTesting

@Suite("Configuration", .timeLimit(.minutes(1)))
struct ConfigurationTests {
    @Test("The configuration is a value: a change after the session was made does not reach it")
    func value() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let directory = try TemporaryDirectory()
        var configuration = Harness.configuration(directory)
        configuration.headers = ["X-Kind": "first"]
        let session = try TransferSession(configuration: configuration)
        configuration.headers = ["X-Kind": "second"]
        _ = try await session.data(from: server.text("a"))
        #expect(server.requests[0]["X-Kind"] == "first")
        #expect(session.configuration.headers["X-Kind"] == "first")
    }

    @Test("The configuration's headers go with every request, and the request's own replace those of their name")
    func headers() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness {
            $0.headers = ["X-One": "configured", "X-Two": "configured", "User-Agent": "test/1"]
        }
        var request = try TransferRequest(server.text("a"))
        request.headers = ["x-two": "own", "X-Three": "own"]
        _ = try await harness.session.data(from: request)
        _ = try await harness.session.download(from: server.text("b"))
        let (first, second) = (server.requests[0], server.requests[1])
        #expect(first.fields.values("X-One") == ["configured"])
        #expect(first.fields.values("X-Two") == ["own"])
        #expect(first.fields.values("X-Three") == ["own"])
        #expect(first.fields.values("User-Agent") == ["test/1"])
        #expect(second.fields.values("X-Two") == ["configured"])
    }

    @Test("Without a User-Agent in the configuration Martlet names itself")
    func userAgent() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        _ = try await harness.session.data(from: server.text("a"))
        #expect(server.requests[0]["User-Agent"]?.hasPrefix("martlet/") == true)
    }

    @Test("The referer is sent without its user information")
    func referer() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness { $0.headers = ["Referer": "http://configured.test/"] }
        var request = try TransferRequest(server.text("a"))
        request.referer = try HTTPURL("http://user:secret@page.test/index")
        _ = try await harness.session.data(from: request)
        #expect(server.requests[0].fields.values("Referer") == ["http://page.test/index"])
    }

    @Test(
        "A header field that holds a line break, or has an invalid name, is refused before anything is sent",
        arguments: [
            ("X-A", "a\r\nX-B: b"), ("X-A", "a\nb"), ("X\r\nY", "b"), ("X-A", "a\0b"), ("", "b"), ("X A", "b"),
            ("X:", "b"), ("Käse", "b"), ("(X)", "b"), (" X", "b"), ("X\u{7F}", "b"),
        ]
    )
    func injection(_ name: String, _ value: String) async throws {
        let harness = try Harness()
        var request = try TransferRequest("http://127.0.0.1:9/")
        request.headers.append(name, value)
        #expect(await code { try harness.session.dataTask(for: request) } == .badRequest)
        let asked = request
        #expect(await code { try harness.session.downloadTask(for: asked) } == .badRequest)
        let error = try await failure { try harness.session.uploadTask(for: asked, from: .bytes([1])) }
        #expect(error.code == .badRequest)
        #expect(error.message.contains(name.debugDescription), "\(error)")
        let queue = try TransferQueue()
        #expect(await code { try queue.add(asked) } == .badRequest)
    }

    @Test("Names of any token are sent, and a condition that breaks lines is refused")
    func validFields() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.headers = ["X!#$%&'*+-.^_`|~9z": "tab\tand ümlaut"]
        _ = try await harness.session.data(from: request)
        #expect(server.requests[0]["X!#$%&'*+-.^_`|~9z"] == "tab\tand ümlaut")
        let bad = request.ifNoneMatch("\"a\"\r\nX-B: b")
        let error = try await failure { try harness.session.dataTask(for: bad) }
        #expect(error.code == .badRequest && error.message.contains("If-None-Match"))
    }

    @Test("The shared session cannot be invalidated")
    func shared() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let gone = Observer()
        TransferSession.shared.addDelegate(gone)
        TransferSession.shared.finishTasksAndInvalidate()
        TransferSession.shared.invalidateAndCancel()
        #expect(try await TransferSession.shared.data(from: server.text("a")).text == "x")
        await gone.waitForEnds()
        #expect(!gone.story.contains("invalid"))
        TransferSession.shared.removeDelegate(gone)
    }

    @Test("A response to HEAD has the length that its body would have")
    func head() async throws {
        let file = ServedFile(length: 3 << 20)
        let server = try await ScriptedServer.start { request in
            request.path == "/none" ? .response(200, [("Transfer-Encoding", "chunked")]) : .file(file, request)
        }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.method = "HEAD"
        let response = try await harness.session.data(from: request)
        #expect(response.response.expectedLength == 3 << 20 && response.body.isEmpty)
        #expect(response.response.headers["Content-Length"] == "\(3 << 20)")
    }

    @Test("A header value in ISO 8859-1 is read as such, also in the name that a response proposes")
    func latin1() async throws {
        let head = Array("HTTP/1.1 200 OK\r\nX-A: caf".utf8) + [0xE9]
        let rest = Array("\r\nContent-Disposition: attachment; filename=\"na".utf8) + [0xEF] + Array("ve.txt\"".utf8)
        let bytes = head + rest + Array("\r\nContent-Length: 1\r\n\r\nx".utf8)
        let server = try await ScriptedServer.start { _ in Reply([.bytes(bytes)]) }
        let harness = try Harness()
        let response = try await harness.session.data(from: server.text("a")).response
        #expect(response.headers["X-A"] == "café" && response.suggestedFileName == "naïve.txt")
    }

    @Test(
        "A header field that breaks lines is refused in the configuration, too",
        arguments: [("X-A", "a\r\nX-B: b"), ("X\nY", "b"), ("X Y", "b")]
    )
    func configuredInjection(_ name: String, _ value: String) async throws {
        #expect(await code { try Harness { $0.headers.append(name, value) } } == .badConfiguration)
    }

    @Test("A method other than a token is refused", arguments: ["", "G ET", "GET\r\n", "GÉT"])
    func method(_ method: String) async throws {
        let harness = try Harness()
        var request = try TransferRequest("http://127.0.0.1:9/")
        request.method = method
        #expect(await code { try harness.session.dataTask(for: request) } == .badRequest)
    }

    @Test("A URL that cannot be asked is refused with badURL", arguments: ["", "ftp://host/", "no url", "http://"])
    func badURL(_ url: String) async throws {
        let harness = try Harness()
        #expect(await code { try harness.session.dataTask(for: url) } == .badURL)
        #expect(await code { try await harness.session.download(from: url) } == .badURL)
    }

    @Test("No more tasks run at once than the configuration permits, until the session gets another number")
    func concurrentTransfers() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness { $0.concurrentTransfers = 2 }
        let tasks = try (0..<6).map { try harness.session.dataTask(for: server.text("\($0)")) }
        for task in tasks { task.resume() }
        await server.waitForRequests(2)
        #expect(tasks.map(\.state) == [.running, .running, .waiting, .waiting, .waiting, .waiting])
        #expect(server.requests.count == 2)
        #expect(harness.session.concurrentTransfers == 2)
        harness.session.concurrentTransfers = 4
        #expect(harness.session.concurrentTransfers == 4)
        await server.waitForRequests(4)
        #expect(tasks.count { $0.state == .running } == 4)
        // Running tasks are not interrupted.
        harness.session.concurrentTransfers = 0
        #expect(harness.session.concurrentTransfers == 1 && tasks.count { $0.state == .running } == 4)
        gate.open()
        for task in tasks { #expect(try await task.value.text == "x") }
    }

    @Test("Limits have the configuration's values, and values out of range are the nearest one, or no limit")
    func limits() throws {
        let session = try Harness { $0.concurrentTransfers = 0 }.session
        #expect(session.concurrentTransfers == 1 && session.connectionsPerHost == 4 && session.rateLimit == nil)
        session.connectionsPerHost = -1
        session.rateLimit = 1000
        #expect(session.connectionsPerHost == 1 && session.rateLimit == 1000)
        session.rateLimit = 0
        #expect(session.rateLimit == nil)
        #expect(session.configuration.connectionsPerHost == nil)
        #expect(try TransferQueue(concurrentTransfers: -3).concurrentTransfers == 1)
    }

    @Test("A host gets no more connections than the configuration says")
    func connectionsPerHost() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let other = try await ScriptedServer.start { _ in .response(200, text: "y") }
        let harness = try Harness {
            $0.concurrentTransfers = 8
            $0.connectionsPerHost = 2
        }
        let tasks = try (0..<5).map { try harness.session.dataTask(for: server.text("\($0)")) }
        for task in tasks { task.resume() }
        await server.waitForRequests(2)
        // Another host's task passes those that wait.
        #expect(try await harness.session.data(from: other.text("a")).text == "y")
        #expect(server.connectionCount == 2 && server.requests.count == 2)
        gate.open()
        for task in tasks { _ = try await task.value }
        #expect(server.connectionCount == 2)
    }

    @Test("The number of connections to a host can be changed while tasks run")
    func changedConnectionsPerHost() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try Harness {
            $0.concurrentTransfers = 8
            $0.connectionsPerHost = 1
        }
        let tasks = try (0..<6).map { try harness.session.dataTask(for: server.text("\($0)")) }
        for task in tasks { task.resume() }
        await server.waitForRequests(1)
        #expect(server.connectionCount == 1)
        harness.session.connectionsPerHost = 3
        await server.waitForRequests(3)
        #expect(server.connectionCount == 3)
        gate.open()
        for task in tasks { _ = try await task.value }
        // Each of two event loops keeps its own connections: a free one of the other loop is not used.
        #expect(server.connectionCount <= 6)
    }

    @Test("The most redirects that are followed are the configuration's")
    func redirects() async throws {
        let server = try await ScriptedServer.start { .redirect(to: $0.path + "a") }
        let harness = try Harness { $0.maximumRedirects = 3 }
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .redirect)
        #expect(server.requests.count == 4)
    }

    @Test("The directory for temporary files is made for its owner alone, when it is first needed")
    func directory() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        _ = try await harness.session.data(from: server.text("a"))
        #expect(harness.directory.entries() == [])
        _ = try await harness.session.download(from: server.text("a"))
        #expect(Files.isPrivateDirectory(harness.path("place")))
    }

    @Test("An ephemeral session leaves nothing on disk but the files that were requested")
    func ephemeral() async throws {
        let server = try await ScriptedServer.start { _ in
            .response(200, [("Set-Cookie", "a=b; Max-Age=9999"), ("Cache-Control", "max-age=9999")], text: "x")
        }
        let harness = try Harness()
        _ = try await harness.session.data(from: server.text("a"))
        _ = try await harness.session.upload(.bytes([1, 2, 3]), to: server.text("a"))
        _ = try await harness.session.download(from: server.text("a"), to: .file(harness.path("wanted")))
        #expect(harness.directory.entries() == ["wanted"])
        // A file without a destination is temporary, and released at once.
        _ = try await harness.session.download(from: server.text("a"))
        #expect(harness.temporaryFiles.isEmpty)
    }

    @Test("A directory for temporary files that is a link is refused")
    func linkedDirectory() async throws {
        let harness = try Harness()
        try harness.directory.link("place", to: harness.path("elsewhere"))
        #expect(await code { try harness.session.downloadTask(for: "http://127.0.0.1:9/") } == .file)
    }

    @Test("The default configurations: cookies shared in one, private in the other")
    func defaults() {
        #expect(SessionConfiguration.default.cookies === CookieStorage.shared)
        #expect(SessionConfiguration.ephemeral.cookies !== SessionConfiguration.ephemeral.cookies)
        #expect(SessionConfiguration.default.resourceTimeout == .zero)
        #expect(TransferQueue.defaultConfiguration.requestTimeout == .seconds(10))
        #expect(TransferSession.shared === TransferSession.shared)
    }
}
