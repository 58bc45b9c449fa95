// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import MartletSystemTransport
import Synchronization
import Testing
import TransferTesting

@Suite("Sessions, queues and lists on URLSession", .timeLimit(.minutes(2)))
struct SystemSessionTests {
    private static let pattern = TestPattern(seed: 53)

    private static func configuration() -> SessionConfiguration {
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = .urlSession()
        return configuration
    }

    @Test("a download that is cut continues by a range with its validator") func resume() async throws {
        var file = ServedFile(Self.pattern, length: 3_000_000)
        file.interruption = .closeAfter(1_000_000)
        file.interruptedResponses = 1
        let server = try await ScriptedServer.start { [file] in file.reply(to: $0) }
        let directory = try TemporaryDirectory()
        let session = try TransferSession(configuration: Self.configuration())
        let result = try await session.download(from: server.text("a.bin"), to: .file(directory.path("a.bin")))
        #expect(result.size == 3_000_000)
        #expect(try directory.read("a.bin") == Self.pattern.bytes(0..<3_000_000))
        let ranges = server.requests.compactMap { $0["Range"] }
        #expect(ranges.contains { $0 != "bytes=0-" } && server.requests.contains { $0["If-Range"] == "\"v1\"" })
    }

    @Test("settings that the system's session cannot have are refused") func settings() throws {
        var configuration = SessionConfiguration.ephemeral
        configuration.transport = .urlSession()
        _ = try TransferSession(configuration: configuration)
        var pinned = configuration
        pinned.tls.roots = .pem([])
        var proxied = configuration
        proxied.proxy = .none
        for (refused, word) in [(pinned, "TLS options"), (proxied, "the proxy")] {
            let error = #expect(throws: TransferError.self) { try TransferSession(configuration: refused) }
            #expect(error?.code == .badConfiguration && error?.message.contains(word) == true)
            #expect(error?.remedy.isEmpty == false)
        }
    }

    @Test("a changed file is not continued") func changed() async throws {
        var file = ServedFile(Self.pattern, length: 600_000)
        file.interruption = .closeAfter(200_000)
        file.interruptedResponses = 1
        file.change = .after(1, TestPattern(seed: 54), length: 600_000, entityTag: "\"v2\"")
        let server = try await ScriptedServer.start { [file] in file.reply(to: $0) }
        let directory = try TemporaryDirectory()
        let session = try TransferSession(configuration: Self.configuration())
        _ = try await session.download(from: server.text("a.bin"), to: .file(directory.path("a.bin")))
        #expect(try directory.read("a.bin") == TestPattern(seed: 54).bytes(0..<600_000))
    }

    @Test("redirects, cookies and credentials are the session's, and statuses its errors") func policies() async throws
    {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/start":
                return .response(
                    302,
                    [
                        ("Location", "/page"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; Path=/"),
                    ]
                )
            case "/page" where request["Authorization"] == nil:
                return .response(401, [("WWW-Authenticate", "Basic realm=\"x\"")], text: "no")
            case "/page": return .response(200, text: request["Cookie"] ?? "none")
            default: return .response(404, text: "gone")
            }
        }
        var configuration = Self.configuration()
        configuration.retries = .none
        configuration.credentials.set(.password(user: "me", password: "secret"), for: try server.url(""))
        let session = try TransferSession(configuration: configuration)
        #expect(try await session.data(from: server.text("start")).text == "a=1; b=2")
        let error = await #expect(throws: TransferError.self) { try await session.data(from: server.text("gone")) }
        #expect(error?.code == .httpStatus && server.requests(for: "/start").count == 1)
    }

    @Test("a queue receives its items, and a file is uploaded") func queue() async throws {
        let server = try await ScriptedServer.start { request in
            .response(200, text: "\(request.method) \(request.path) \(request.body.count)")
        }
        let queue = try TransferQueue(concurrentTransfers: 4, configuration: Self.configuration())
        final class Items: TransferQueueDelegate {
            let texts = Mutex<[String]>([])
            func queue(_ queue: TransferQueue, item: TransferQueue.Item, didFinishWith data: DataResponse) {
                self.texts.withLock { $0.append(data.text) }
            }
        }
        let items = Items()
        queue.addDelegate(items)
        for number in 0..<20 { try queue.add(server.text("\(number)")) }
        queue.start()
        queue.finishQueuing()
        try await queue.waitUntilFinished()
        #expect(Set(items.texts.withLock { $0 }) == Set((0..<20).map { "GET /\($0) 0" }))
        let directory = try TemporaryDirectory()
        try Data(Self.pattern.bytes(0..<2_500_000)).write(to: URL(fileURLWithPath: directory.path("up")))
        let session = try TransferSession(configuration: Self.configuration())
        let sent = try await session.upload(.file(directory.path("up")), to: server.text("up"))
        #expect(sent.text.hasSuffix("/up 2500000"))
    }

    #if canImport(FoundationNetworking)
    // A background session of Apple's systems belongs to an app.
    @Test("a list of downloads runs in the background session, one request for each") func list() async throws {
        let server = try await ScriptedServer.start { request in
            ServedFile(TestPattern(seed: UInt64(request.path.count)), length: 900_000).reply(to: request)
        }
        let directory = try TemporaryDirectory()
        let background = SystemBackground(
            identifier: "test.list.\(server.port)",
            directory: URL(fileURLWithPath: directory.path("shelf"))
        )
        final class Observer: OfflineDownloads.Observer {
            let finished = Mutex(0)
            let all = Gate()
            func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {
                if self.finished.withLock({ count in
                    count += 1
                    return count == 3
                }) {
                    self.all.open()
                }
            }
        }
        let observer = Observer()
        let list = try OfflineDownloads(
            list: directory.path("list"),
            directory: directory.path("files"),
            configuration: .systemBackground(background),
            observer: observer
        )
        try list.add(contentsOf: ["a.bin", "bb.bin", "ccc.bin"].map { server.text($0) })
        await observer.all.wait()
        for (index, name) in ["a.bin", "bb.bin", "ccc.bin"].enumerated() {
            let expected = TestPattern(seed: UInt64(index + 6)).bytes(0..<900_000)
            #expect(try directory.read("files/\(name)") == expected)
        }
        #expect(server.requests.count == 3)
        await list.close()
    }
    #endif
}
