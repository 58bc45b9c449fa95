// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HTTPTransport
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Gives pieces of a pattern as a transport pulls them, some at once and some later.
private final class PatternContent: RequestContent {
    enum Ending: Sendable {
        case whole
        case failing
    }

    let length: Int64?
    private let count: Int64
    private let piece: Int64
    private let ending: Ending
    /// Whether the last piece waits until all earlier ones were sent.
    private let holdsBack: Bool
    private let transport: HTTPTransport
    private let state = Mutex((given: Int64(0), sent: Int64(0), calls: 0, unsentBeforeLast: Int64?.none))

    init(
        _ transport: HTTPTransport,
        _ count: Int64,
        piece: Int64,
        hasLength: Bool = true,
        ending: Ending = .whole,
        holdsBack: Bool = false
    ) {
        self.transport = transport
        self.count = count
        self.piece = piece
        self.length = hasLength ? count : nil
        self.ending = ending
        self.holdsBack = holdsBack
    }

    var given: Int64 { self.state.withLock { $0.given } }
    var sent: Int64 { self.state.withLock { $0.sent } }
    /// The bytes that were under way when the last piece was pulled; `nil` before it was held back.
    var unsentBeforeLast: Int64? { self.state.withLock { $0.unsentBeforeLast } }

    func sent(_ count: Int) { self.state.withLock { $0.sent += Int64(count) } }

    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece? {
        let (piece, calls): (ContentPiece, Int) = self.state.withLock { state in
            state.calls += 1
            let end = min(state.given + self.piece, self.count)
            guard end > state.given else {
                return (self.length == nil ? .end : .failed, state.calls)
            }
            if case .failing = self.ending, end > self.count / 2 { return (.failed, state.calls) }
            if self.holdsBack, end == self.count {
                let isFirst = state.unsentBeforeLast == nil
                state.unsentBeforeLast = state.given - state.sent
                if isFirst { return (.afterwards, state.calls) }
            }
            defer { state.given = end }
            return (.bytes(TestPattern(seed: 5).bytes(state.given..<end)), state.calls)
        }
        guard calls % 3 == 0 else { return piece }
        // As a source that has to wait gives it: from another place, after this call.
        Task { later(piece) }
        return nil
    }
}

/// Gives the first piece at once, and the next ones when the server has refused it and gone.
private final class LateContent: RequestContent {
    let length: Int64? = 8_000_000
    private let server: UploadServer
    private let requests: Int
    private let calls = Mutex(0)

    /// Creates content of the request of this number.
    init(_ server: UploadServer, request: Int) {
        self.server = server
        self.requests = request
    }

    func sent(_ count: Int) {}

    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece? {
        let calls = self.calls.withLock { calls in
            calls += 1
            return calls
        }
        if calls == 2 {
            // The connection's own thread waits: nothing is read before the next piece is written.
            let gone = DispatchSemaphore(value: 0)
            let (server, requests) = (self.server, self.requests)
            Task {
                await server.waitForRequests(requests)
                await server.waitForClose()
                gone.signal()
            }
            guard gone.wait(timeout: .now() + 20) == .success else { return .failed }
        }
        return .bytes([UInt8](repeating: 7, count: 1_000_000))
    }
}

@Suite("Content that is pulled", .timeLimit(.minutes(1)))
struct ContentTests {
    private func send(
        _ transport: HTTPTransport,
        _ server: UploadServer,
        _ content: any RequestContent,
        asking: Int64? = nil,
        to path: String = "/f"
    ) async throws -> ExchangeRecorder.Record {
        let receiver = ExchangeRecorder()
        var request = ExchangeRequest(
            method: "PUT",
            url: try server.url(path),
            fields: [:],
            connectTimeout: 30_000_000_000
        )
        request.content = content
        request.continueTimeout = asking
        let asked = request
        transport.execute(onLane: 0) { _ = transport.start(asked, onLane: 0, receiver: receiver) }
        return await receiver.whole()
    }

    @Test(
        "pieces of any size arrive in order, with a length or in chunks",
        arguments: [7, 1000, 300_000],
        [true, false]
    )
    func order(piece: Int64, hasLength: Bool) async throws {
        let server = try await UploadServer.start()
        try await HTTPTransport.with { (transport) async throws in
            let count = min(piece * 300, 2_000_000)
            let content = PatternContent(transport, count, piece: piece, hasLength: hasLength)
            let record = try await self.send(transport, server, content)
            #expect(record.head?.status == 201 && record.violations.isEmpty && content.sent == count)
            let bytes = try #require(server.only?.bytes)
            #expect(
                bytes.count == count && bytes.withUnsafeBytes { TestPattern(seed: 5).firstDifference(in: $0) } == nil
            )
        }
    }

    @Test("a piece that waits for the earlier ones is pulled once they were sent")
    func holdsBack() async throws {
        let server = try await UploadServer.start { $0.rate = 40_000_000 }
        try await HTTPTransport.with { (transport) async throws in
            let content = PatternContent(transport, 12_000_000, piece: 500_000, holdsBack: true)
            let record = try await self.send(transport, server, content)
            #expect(record.head?.status == 201 && content.sent == 12_000_000 && content.unsentBeforeLast == 0)
            #expect(server.only?.bytes.count == 12_000_000)
        }
    }

    @Test("one connection carries one upload after the other")
    func reuse() async throws {
        let server = try await UploadServer.start()
        try await HTTPTransport.with { (transport) async throws in
            for number in 0..<5 {
                let content = PatternContent(transport, 100_000, piece: 30_000, hasLength: number % 2 == 0)
                #expect(try await self.send(transport, server, content).head?.status == 201)
            }
        }
        #expect(server.connectionCount == 1)
    }

    @Test("a slow server is not run ahead of: little more is pulled than it takes")
    func backPressure() async throws {
        let server = try await UploadServer.start { $0.rate = 1_000_000 }
        try await HTTPTransport.with { (transport) async throws in
            let content = PatternContent(transport, 1 << 30, piece: 65_536)
            let receiver = ExchangeRecorder()
            var request = ExchangeRequest(
                method: "PUT",
                url: try server.url("/f"),
                fields: [:],
                connectTimeout: 30_000_000_000
            )
            request.content = content
            let asked = request
            let exchange = await withCheckedContinuation { continuation in
                transport.execute(onLane: 0) {
                    continuation.resume(returning: transport.start(asked, onLane: 0, receiver: receiver))
                }
            }
            await server.waitForBytes(1_000_000)
            // What is not with the kernel is at most the window; the kernel's own buffers are some megabytes.
            #expect(content.given - content.sent <= (2 << 20) + 65_536)
            #expect(content.given < 64 << 20)
            exchange.cancel()
        }
    }

    @Test("a source that fails ends the exchange with its own code, and nothing more is sent")
    func failure() async throws {
        let server = try await UploadServer.start()
        try await HTTPTransport.with { (transport) async throws in
            let content = PatternContent(transport, 1_000_000, piece: 50_000, ending: .failing)
            let record = try await self.send(transport, server, content)
            #expect(record.error?.code == .content && record.head == nil)
        }
        await server.waitForRequests(1)
        await server.waitForClose()
        #expect(server.only?.isWhole == false)
    }

    @Test("asked first, a server that refuses is sent nothing, and its connection carries nothing more")
    func refused() async throws {
        let server = try await UploadServer.start { $0.refusals["PUT"] = .init(403) }
        try await HTTPTransport.with { (transport) async throws in
            let content = PatternContent(transport, 1_000_000, piece: 50_000)
            let record = try await self.send(transport, server, content, asking: 60_000_000_000)
            #expect(record.head?.status == 403 && content.given == 0)
            server.change { $0.refusals = [:] }
            let second = PatternContent(transport, 1000, piece: 1000)
            #expect(try await self.send(transport, server, second).head?.status == 201)
        }
        #expect(server.connectionCount == 2 && server.received == 1000)
    }

    @Test(
        "a refusal is received also if the next write finds the connection closed",
        arguments: [(true, false), (true, true), (false, true)]
    )
    func refusedBeforeTheRest(asks: Bool, isReused: Bool) async throws {
        let server = try await UploadServer.start { behaviour in
            behaviour.cuts = [1000]
            behaviour.farewell = .init(403)
        }
        try await HTTPTransport.with { (transport) async throws in
            if isReused { #expect(await transport.get(try server.url("/g")).head?.status == 200) }
            let content = LateContent(server, request: isReused ? 2 : 1)
            let record = try await self.send(transport, server, content, asking: asks ? 60_000_000_000 : nil)
            #expect(record.head?.status == 403 && record.violations.isEmpty)
        }
    }

    @Test("content is released with its connection, however that ends")
    func lettingGo() async throws {
        let server = try await UploadServer.start { behaviour in
            behaviour.refusals["PUT"] = .init(403, closes: true)
            behaviour.cuts = [10_000]
        }
        weak var refused: PatternContent?
        weak var cut: PatternContent?
        try await HTTPTransport.with { (transport) async throws in
            let first = PatternContent(transport, 1_000_000, piece: 50_000)
            refused = first
            #expect(try await self.send(transport, server, first).head?.status == 403)
            server.change { $0.refusals = [:] }
            let second = PatternContent(transport, 1_000_000, piece: 50_000)
            cut = second
            #expect(try await self.send(transport, server, second).error != nil)
        }
        // A piece that was promised for later holds it until it is given, which may be after the exchange's end.
        let latest = ContinuousClock.now + .seconds(20)
        while refused != nil || cut != nil, ContinuousClock.now < latest { await Task.yield() }
        #expect(refused == nil && cut == nil)
    }
}
