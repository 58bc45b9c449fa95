// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore
import TransferEngine
import Testing
import TransferTesting

@testable import Daemon

/// The behaviour of downloads and of the session's file that aria2's clients expect.
@Suite(.timeLimit(.minutes(1)))
struct CoreAria2Tests {
    /// Adds a download as `aria2.addUri` does.
    private static func add(_ harness: CoreHarness, _ url: String, _ options: JSON = [:]) async throws -> GID {
        let dispatcher = RPCDispatcher(
            service: harness.core,
            configuration: ServerConfiguration(directory: harness.directory.path("files")),
            access: nil,
            metrics: ServerMetrics()
        )
        let call: JSON = ["id": 1, "method": "aria2.addUri", "params": [[.string(url)], options]]
        let answer = await dispatcher.answer(RPCEnvelope(call), from: RPCBench.local)
        let json = try JSON(parsing: answer.bytes)
        return try #require(json["result"]?.string.flatMap { GID($0) }, "\(json.text)")
    }

    @Test("A dry run requests HEAD only, and is complete without a file, or fails")
    func dryRun() async throws {
        let server = try await ScriptedServer.start { request in
            if request.target == "/gone" { return .response(404) }
            if request.target == "/moved" { return .redirect(to: "/file") }
            return .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"a\"\r\n\r\n")
        }
        let harness = try await CoreHarness()
        let digest = "sha-256=" + String(repeating: "00", count: 32)
        let found = try await Self.add(harness, server.text("file"), ["dry-run": "true", "checksum": .string(digest)])
        let moved = try await Self.add(harness, server.text("moved"), ["dry-run": "true", "out": "x"])
        let gone = try await Self.add(harness, server.text("gone"), ["dry-run": "true"])
        for id in [found, moved] { try await harness.events.wait("finished \(id)") }
        try await harness.events.wait("failed \(gone)")
        #expect(try await harness.core.record(gone).failure?.code == 3)
        let record = try await harness.core.record(found)
        #expect(record.path == nil && record.total == 4 && record.bytes == 4)
        #expect(server.requests.allSatisfy { $0.method == "HEAD" } && server.requests.count == 4)
        #expect(TemporaryDirectory.entries(of: harness.directory.path("files")).isEmpty)
        await harness.stop()
    }

    @Test(
        "A download through aria2's methods is named as by aria2: by the last URL, or index.html",
        arguments: [
            ("a.bin", "a.bin"), ("", "index.html"), ("dir/", "index.html"), ("moved", "target.bin"),
            ("slashed", "index.html"), ("named", "proposed.txt"), ("hidden", "hidden.txt"), ("r%20x%2Fy", "r x%2Fy"),
            ("q?a=b/c", "q"),
        ]
    )
    func names(_ path: String, _ name: String) async throws {
        let server = try await ScriptedServer.start { request in
            switch request.target {
            case "/moved": .redirect(to: "/dir/target.bin?x=1")
            case "/slashed": .redirect(to: "/dir/")
            case "/hidden": .redirect(to: "/%2e%2e%5c.hidden.txt")
            case "/named": .response(200, [("Content-Disposition", "attachment; filename=proposed.txt")], text: "x")
            default: .response(200, text: "x")
            }
        }
        let harness = try await CoreHarness()
        let id = try await Self.add(harness, server.text(path))
        try await harness.events.wait("finished \(id)")
        #expect(try await harness.core.record(id).path == harness.path(name))
        await harness.stop()
    }

    @Test("A partial file named by a redirect is continued by the next daemon")
    func namedPartial() async throws {
        let length: Int64 = 3 << 20
        var broken = ServedFile(length: length)
        broken.interruption = .stallAfter(1_500_000)
        let (first, whole) = (broken, ServedFile(length: length))
        let isFirst = Gate()
        let server = try await ScriptedServer.start { request in
            if request.target == "/moved" { return .redirect(to: "/target.bin") }
            return isFirst.isOpen ? .file(whole, request) : .file(first, request)
        }
        let directory = try TemporaryDirectory()
        let harness = try await CoreHarness(directory)
        let id = try await Self.add(harness, server.text("moved"), ["split": "1"])
        try await harness.events.wait(for: 1_000_000, of: id)
        await harness.stop()
        isFirst.open()
        let second = try await CoreHarness(directory)
        try await second.events.wait("finished \(id)")
        #expect(try await second.core.record(id).path == second.path("target.bin"))
        #expect(whole.pattern.difference(fromFileAt: second.path("target.bin"), length: length) == nil)
        #expect(TemporaryDirectory.entries(of: directory.path("files")) == ["target.bin"])
        #expect(server.bodyBytesSent(for: "/target.bin") < 2 * length - 1_000_000)
        await second.stop()
    }

    @Test("The options of a proxy's user and password replace those in its URL")
    func proxies() throws {
        func proxy(_ options: [String: String], _ scheme: String = "http") throws -> ProxyServer? {
            try CoreValueTests.plan(options.mapValues { [$0] }).proxy?.proxy(for: try HTTPURL("\(scheme)://h/"))
        }
        let basic = "Basic " + Base64.encode(Array("u:p w".utf8))
        let options = ["all-proxy": "http://x:y@p:8080", "all-proxy-user": "u", "all-proxy-passwd": "p w"]
        #expect(try proxy(options)?.authorization == basic)
        #expect(try proxy(options, "https")?.authorization == basic)
        #expect(
            try proxy(["all-proxy": "p:8080", "all-proxy-user": "u", "all-proxy-passwd": "p w"])?.authorization == basic
        )
        let https = options.merging(["https-proxy": "http://q:1", "https-proxy-user": "v"]) { $1 }
        #expect(try proxy(https)?.authorization == basic)
        #expect(try proxy(https, "https")?.authorization == "Basic " + Base64.encode(Array("v:".utf8)))
        #expect(
            try proxy(["all-proxy": "http://x:y@p", "all-proxy-passwd": "z"])?.authorization?.hasSuffix("eDp5") == true
        )
        #expect(throws: ControlError.self) { try proxy(["all-proxy": "p", "all-proxy-user": "a:b"]) }
        let shown = try #require(OptionName(rawValue: "all-proxy-passwd"))
        #expect(shown.isSecret)
    }

    @Test("The referer * is the URI itself without its user, and http-no-cache is sent as fields")
    func fields() throws {
        var plan = try CoreValueTests.plan(["referer": ["*"], "http-no-cache": ["true"]])
        #expect(plan.request.fields.contains { $0 == ("Referer", "http://localhost/a") })
        #expect(plan.request.fields.contains { $0 == ("Cache-Control", "no-cache") })
        plan = try RequestPlan(
            urls: ["http://user:secret@localhost/a?b#c"],
            options: TransferOptions(["referer": ["*"]]),
            directory: "/d",
            base: .init(),
            baseFields: []
        )
        #expect(plan.request.fields.contains { $0 == ("Referer", "http://localhost/a?b") })
        #expect(try CoreValueTests.plan(["referer": ["http://r/"]]).request.fields.contains { $0.1 == "http://r/" })
    }

    @Test("save-session writes what is not finished as aria2's input file, when asked and when the daemon stops")
    func session() async throws {
        let server = try await ScriptedServer.start { .response($0.target == "/gone" ? 404 : 200, text: "x") }
        let directory = try TemporaryDirectory()
        let path = directory.path("session")
        let harness = try await CoreHarness(directory) { $0.options[.saveSession] = path }
        let done = try await Self.add(harness, server.text("done"))
        let gone = try await Self.add(harness, server.text("gone"))
        try await harness.events.wait("finished \(done)")
        try await harness.events.wait("failed \(gone)")
        _ = try await Self.add(
            harness,
            "http://localhost/a",
            [
                "gid": "00000000000000ab", "pause": "true", "out": "a b", "split": "3", "header": ["A: b", "C: d"],
                "http-passwd": "p", "dir": "/tmp/x", "outage-timeout": "5",
            ]
        )
        var upload = NewTransfer(urls: ["http://localhost/up"], isPaused: true)
        upload.upload = UploadSource([.bytes([1])])
        _ = try await harness.core.add([upload], at: nil)
        try await harness.core.save()
        let files = harness.directory.path("files")
        let entry = """
            http://localhost/a
             gid=00000000000000ab
             pause=true
             dir=/tmp/x
             header=A: b
             header=C: d
             http-passwd=p
             out=a b
             split=3

            """
        let failed = "\(server.text("gone"))\n gid=\(gone)\n dir=\(files)\n"
        #expect(String(decoding: try directory.read("session"), as: UTF8.self) == entry + failed)
        #expect(TemporaryDirectory.permissions(of: path) == 0o600)
        try await harness.core.perform(.forget, on: .ids([gone]))
        await harness.stop()
        #expect(String(decoding: try directory.read("session"), as: UTF8.self) == entry)
    }

    @Test("The file of save-session can be changed until the daemon stops; then that of the command line counts again")
    func sessionFile() async throws {
        let directory = try TemporaryDirectory()
        func harness() async throws -> CoreHarness {
            try await CoreHarness(directory) { $0.options[.saveSession] = directory.path("one") }
        }
        let first = try await harness()
        try await first.core.changeGlobalOptions(TransferOptions(["save-session": [directory.path("two")]]))
        try await first.core.changeGlobalOptions(TransferOptions(["split": ["3"]]))
        #expect(first.core.globalOptions[.saveSession] == directory.path("two"))
        await first.stop()
        #expect(directory.contains("two") && !directory.contains("one"))
        let second = try await harness()
        #expect(second.core.globalOptions[.saveSession] == directory.path("one"))
        #expect(second.core.globalOptions[.split] == "3")
        try await second.core.changeGlobalOptions(TransferOptions(["save-session": [""]]))
        await second.stop()
        #expect(!directory.contains("one"))
    }

    @Test("A session that cannot be saved is an error that says so")
    func badSession() async throws {
        let harness = try await CoreHarness { $0.options[.saveSession] = "/nowhere/session" }
        #expect(await controlCode { () throws in try await harness.core.save() } == .storage)
        await harness.stop()
    }
}
