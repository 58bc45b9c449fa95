// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import MartletSystemTransport

@Suite("A transport on URLSession", .timeLimit(.minutes(2)))
struct TransportTests {
    private static let pattern = TestPattern(seed: 51)

    private static func serve(_ handler: @escaping ScriptedServer.Script) async throws -> ScriptedServer {
        try await ScriptedServer.start(handler: handler)
    }

    private static func with(
        _ handler: @escaping ScriptedServer.Script,
        options: SystemTransportOptions = SystemTransportOptions(),
        _ body: (SystemTransport, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer.start(handler: handler)
        let transport = SystemTransport(options)
        try await body(transport, server)
        await transport.shutdown()
    }

    private static func with(
        _ file: ServedFile,
        options: SystemTransportOptions = SystemTransportOptions(),
        _ body: (SystemTransport, ScriptedServer) async throws -> Void
    ) async throws {
        let handler: ScriptedServer.Script = { file.reply(to: $0) }
        try await Self.with(handler, options: options, body)
    }

    private static let silent: ScriptedServer.Script = { _ in Reply([.stall]) }

    @Test("a response is delivered with its head and its bytes, on the lane") func plain() async throws {
        let file = ServedFile(Self.pattern, length: 700_000)
        try await Self.with(file) { transport, server in
            let record = await transport.get(try server.url("a")) { $0.readQuantum = 10_000 }
            #expect(record.head?.status == 200 && record.head?.framing == .length(700_000))
            #expect(record.head?.fields["ETag"] == "\"v1\"" && record.isClean == true)
            #expect(record.body == Self.pattern.bytes(0..<700_000) && record.largestPart <= 10_000)
            let request = try #require(server.requests.first)
            #expect(request["Accept-Encoding"] == "identity" && request["Cookie"] == nil)
        }
    }

    @Test("the lane runs work immediately if the caller is on it, and one piece at a time otherwise") func lane() async
    {
        let transport = SystemTransport(SystemTransportOptions())
        let order = Mutex<[Int]>([])
        await withCheckedContinuation { continuation in
            transport.execute(onLane: 0) {
                transport.execute(onLane: 0) { order.withLock { $0.append(1) } }
                order.withLock { $0.append(2) }
                continuation.resume()
            }
        }
        #expect(order.withLock { $0 } == [1, 2] && transport.laneCount == 1)
    }

    @Test("a redirect, a refusal and an empty response are responses") func statuses() async throws {
        let handler: ScriptedServer.Script = { request in
            switch request.path {
            case "/moved": .redirect(to: "/there")
            case "/401": .response(401, [("WWW-Authenticate", "Basic realm=\"a\"")], text: "no")
            case "/chunked401":
                .response(
                    401,
                    [("WWW-Authenticate", "Basic realm=\"a\""), ("Transfer-Encoding", "chunked")],
                    text: "2\r\nno\r\n0\r\n\r\n"
                )
            case "/204": .response(204)
            case "/304": .response(304, [("ETag", "\"1\"")])
            default: .response(404, text: "not here")
            }
        }
        try await Self.with(handler) { transport, server in
            let moved = await transport.get(try server.url("moved"))
            #expect(moved.head?.status == 302 && moved.head?.fields["Location"] == "/there" && moved.error == nil)
            let refused = await transport.get(try server.url("401"))
            #expect(refused.head?.fields["WWW-Authenticate"] != nil && refused.body == Array("no".utf8))
            #expect(refused.error == nil)
            let unknown = await transport.get(try server.url("chunked401"))
            #expect(unknown.head?.status == 401 && unknown.body == Array("no".utf8) && unknown.error == nil)
            let missing = await transport.get(try server.url("gone"))
            #expect(missing.head?.status == 404 && missing.body == Array("not here".utf8))
            for status in [204, 304] {
                let empty = await transport.get(try server.url("\(status)"))
                #expect(
                    empty.head?.status == status && empty.head?.framing == BodyFraming.none && empty.isClean == true
                )
            }
            #expect(server.requests(for: "/there").isEmpty)
        }
    }

    @Test("a HEAD has no content, whatever length it declares") func headRequest() async throws {
        let file = ServedFile(Self.pattern, length: 5000)
        try await Self.with(file) { transport, server in
            let record = await transport.get(try server.url("a"), method: "HEAD")
            #expect(record.head?.fields["Content-Length"] == "5000" && record.body.isEmpty && record.isClean == true)
        }
    }

    @Test("a body that is cut fails as truncated, with the bytes so far") func cut() async throws {
        var file = ServedFile(Self.pattern, length: 300_000)
        file.interruption = .closeAfter(100_000)
        try await Self.with(file) { transport, server in
            let record = await transport.get(try server.url("a"))
            #expect(record.error?.code == .truncated && record.head?.framing == .length(300_000))
            #expect(record.body == Self.pattern.bytes(0..<Int64(record.body.count)) && record.body.count <= 100_000)
        }
    }

    @Test("a chunked body ends, but not cleanly, and a cut one fails") func chunked() async throws {
        var file = ServedFile(Self.pattern, length: 50_000)
        file.framing = .chunked
        var broken = file
        broken.interruption = .closeAfter(20_000)
        let handler: ScriptedServer.Script = { [file, broken] in ($0.path == "/cut" ? broken : file).reply(to: $0) }
        try await Self.with(handler) { transport, server in
            let whole = await transport.get(try server.url("a"))
            #expect(whole.body == Self.pattern.bytes(0..<50_000) && whole.isClean == false)
            // What Apple's systems report then is not known.
            #if canImport(FoundationNetworking)
            let cut = await transport.get(try server.url("cut"))
            #expect(cut.error?.code == .truncated)
            #endif
        }
    }

    /// `hello world ` ten times, compressed.
    private static let gzip: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0x28, 0xCF,
        0x2F, 0xCA, 0x49, 0x51, 0xC8, 0xA0, 0x23, 0x1B, 0x00, 0x2C, 0xBC, 0x94, 0x01, 0x78, 0x00, 0x00, 0x00,
    ]

    @Test("coded content that was not requested fails; requested, it is delivered decoded") func gzip() async throws {
        let handler: ScriptedServer.Script = { _ in
            .response(200, [("Content-Encoding", "gzip"), ("ETag", "\"1\"")], body: Self.gzip)
        }
        try await Self.with(handler) { transport, server in
            let file = await transport.get(try server.url("a"))
            #expect(file.error?.code == .malformed && file.body.isEmpty && file.head == nil)
            let page = await transport.get(try server.url("a"), fields: ["Accept-Encoding": "gzip"])
            #expect(page.body == Array(String(repeating: "hello world ", count: 10).utf8) && page.isClean == false)
            #expect(page.head?.fields["Content-Encoding"] == nil && page.head?.fields["ETag"] == nil)
        }
    }

    @Test("content is sent from memory, empty, and from a file that is removed later") func content() async throws {
        let handler: ScriptedServer.Script = { request in
            .response(200, text: "\(request.method) \(request.body.count) \(request["Content-Length"] ?? "-")")
        }
        try await Self.with(handler) { transport, server in
            let small = await transport.get(try server.url("a"), method: "POST") { $0.body = Array("hello".utf8) }
            #expect(small.body == Array("POST 5 5".utf8) && server.requests.first?["Content-Type"] == nil)
            let empty = await transport.get(try server.url("a"), method: "PUT") { $0.body = [] }
            #expect(empty.body == Array("PUT 0 0".utf8))
            let content = PulledContent(Self.pattern, length: 3_000_000, later: true)
            let large = await transport.get(try server.url("a"), method: "PUT") { $0.content = content }
            #expect(large.body == Array("PUT 3000000 3000000".utf8) && content.sentBytes == 3_000_000)
            #expect(server.requests.last?.body == Self.pattern.bytes(0..<3_000_000))
            let broken = PulledContent(Self.pattern, length: 100_000, later: false, failsAt: 50_000)
            let failed = await transport.get(try server.url("a"), method: "PUT") { $0.content = broken }
            #expect(failed.error?.code == .content && failed.connected == 0)
        }
    }

    @Test("a paused receiver gets nothing more until it reads on, and then every byte once") func pausing() async throws
    {
        let file = ServedFile(Self.pattern, length: 2_000_000)
        try await Self.with(file) { transport, server in
            let calls = Mutex((parts: 0, resumes: 0))
            let receiver = ExchangeLog { _ in
                calls.withLock { calls in
                    calls.parts += 1
                    #expect(calls.parts <= calls.resumes + 1, "a part arrived without a request to read")
                }
                return .pause
            }
            let exchange = await transport.begin(try server.url("a"), receiver)
            var seen = 0
            while !receiver.ended.isOpen {
                let parts = calls.withLock { $0.parts }
                if parts > seen {
                    seen = parts
                    calls.withLock { $0.resumes += 1 }
                    exchange.resumeReading()
                }
                await Task.yield()
            }
            #expect(receiver.now.body == Self.pattern.bytes(0..<2_000_000) && receiver.now.isClean == true)
        }
    }

    #if canImport(FoundationNetworking)
    // Apple's systems suspend the task instead.
    @Test("what a paused receiver does not read is bounded: the response is cut, and its bytes are the first ones")
    func bounded() async throws {
        var options = SystemTransportOptions()
        options.bufferedBytes = 200_000
        let file = ServedFile(Self.pattern, length: 50_000_000)
        try await Self.with(file, options: options) { transport, server in
            let receiver = ExchangeLog { _ in .pause }
            let exchange = await transport.begin(try server.url("a"), receiver)
            await receiver.hasBody.wait()
            // The connection ends without a byte being read.
            await server.waitForOpenConnections(0)
            while !receiver.ended.isOpen {
                exchange.resumeReading()
                await Task.yield()
            }
            let record = receiver.now
            #expect(record.error?.code == .truncated && record.body.count < 5_000_000)
            #expect(record.body == Self.pattern.bytes(0..<Int64(record.body.count)))
        }
    }
    #endif

    @Test("a cancelled exchange is not called again, and its connection ends") func cancel() async throws {
        let handler: ScriptedServer.Script = { _ in
            Reply([.head(Reply.headBytes(200, [("Content-Length", "100")])), .bytes([1, 2, 3]), .stall])
        }
        try await Self.with(handler) { transport, server in
            let receiver = ExchangeLog()
            let exchange = await transport.begin(try server.url("a"), receiver)
            await receiver.hasBody.wait()
            exchange.cancel()
            await server.waitForOpenConnections(0)
            #expect(!receiver.now.isOver && receiver.now.body == [1, 2, 3])
        }
    }

    @Test("failures to connect have their causes") func refused() async throws {
        let port = try RefusingPort()
        let transport = SystemTransport(SystemTransportOptions())
        let refused = await transport.get(try HTTPURL("http://127.0.0.1:\(port.port)/"))
        #expect(refused.error?.code == .refused && refused.connected == 0 && refused.error?.peer?.port == port.port)
        await transport.shutdown()
    }

    @Test("a server that says nothing is given up after the time for a response") func silence() async throws {
        var options = SystemTransportOptions()
        options.responseTimeout = .milliseconds(50)
        try await Self.with(Self.silent, options: options) { transport, server in
            let record = await transport.get(try server.url("a"))
            #expect(record.error?.code == .connectTimeout && record.connected == 0)
        }
    }

    @Test("many exchanges at once are not mixed up") func many() async throws {
        let handler: ScriptedServer.Script = { request in
            let seed = UInt64(request.path.dropFirst()) ?? 0
            return ServedFile(TestPattern(seed: seed), length: 40_000).reply(to: request)
        }
        try await Self.with(handler) { transport, server in
            await withTaskGroup(of: Bool.self) { group in
                for seed in 0..<60 as Range<UInt64> {
                    group.addTask {
                        guard let url = try? server.url("\(seed)") else { return false }
                        return await transport.get(url).body == TestPattern(seed: seed).bytes(0..<40_000)
                    }
                }
                for await isEqual in group { #expect(isEqual) }
            }
        }
    }

    @Test("a shutdown fails what runs as cancelled, and what starts later") func shutdown() async throws {
        try await Self.with(Self.silent) { transport, server in
            let receiver = ExchangeLog()
            _ = await transport.begin(try server.url("a"), receiver)
            await server.waitForRequests(1)
            await transport.shutdown()
            #expect(await receiver.whole().error?.code == .cancelled)
            #expect(await transport.get(try server.url("b")).error?.code == .cancelled)
            await server.waitForOpenConnections(0)
        }
    }

    @Test("a released transport ends its session when its exchanges have ended") func release() async throws {
        let gate = Gate()
        let server = try await Self.serve { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "done").steps)
        }
        let receiver = ExchangeLog()
        weak var released: SystemSession?
        do {
            let transport = SystemTransport(SystemTransportOptions())
            released = transport.session
            _ = await transport.begin(try server.url("a"), receiver)
        }
        await server.waitForRequests(1)
        gate.open()
        #expect(await receiver.whole().body == Array("done".utf8))
        while released != nil { await Task.yield() }
    }
}

/// Content of a request, pulled in pieces of 64 KiB.
final class PulledContent: RequestContent {
    let length: Int64?
    private let pattern: TestPattern
    private let size: Int64
    private let isLater: Bool
    private let failsAt: Int64?
    private let state = Mutex((offset: Int64(0), sent: 0))

    init(_ pattern: TestPattern, length: Int64, later: Bool, failsAt: Int64? = nil) {
        self.pattern = pattern
        self.length = length
        self.size = length
        self.isLater = later
        self.failsAt = failsAt
    }

    var sentBytes: Int { self.state.withLock { $0.sent } }

    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece? {
        let piece = self.state.withLock { state -> ContentPiece in
            if let failsAt, state.offset >= failsAt { return .failed }
            guard state.offset < self.size else { return .end }
            let end = min(state.offset + 65_536, self.size)
            defer { state.offset = end }
            return .bytes(self.pattern.bytes(state.offset..<end))
        }
        guard self.isLater else { return piece }
        Task { later(piece) }
        return nil
    }

    func sent(_ count: Int) { self.state.withLock { $0.sent += count } }
}
