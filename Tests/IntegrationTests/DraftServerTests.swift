// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// A foreign server of the IETF's draft, with connections that end after a number of bytes.
private final class DraftServer: Sendable {
    struct State {
        var cuts: [Int]
        var bytes: [UInt8] = []
        var wholes = 0
        var connections = 0
    }

    let state: Mutex<State>
    private let channel: any Channel

    private init(_ channel: any Channel, _ cuts: [Int]) {
        self.channel = channel
        self.state = Mutex(State(cuts: cuts))
    }

    deinit { self.channel.close(promise: nil) }

    var url: String { "http://127.0.0.1:\(self.channel.localAddress?.port ?? 0)/in" }

    static func start(cuts: [Int]) async throws -> DraftServer {
        let holder = Holder()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (server, context) = holder.state.withLock { ($0.server, $0.context) }
                    guard let server, let context else { return }
                    let cut = server.state.withLock { state in
                        state.connections += 1
                        return state.cuts.isEmpty ? nil : state.cuts.removeFirst()
                    }
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(Cutter(after: cut))
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    try pipeline.addHandler(HTTPResumableUploadHandler(context: context, handlers: [Taker(server)]))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let server = DraftServer(channel, cuts)
        holder.state.withLock { state in
            state.server = server
            state.context = HTTPResumableUploadContext(
                origin: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
            )
        }
        return server
    }

    private final class Holder: Sendable {
        struct State: Sendable {
            weak var server: DraftServer?
            var context: HTTPResumableUploadContext?
        }

        let state = Mutex(State())
    }
}

/// Ends a connection after so many bytes of requests.
private final class Cutter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var left: Int?

    init(after count: Int?) { self.left = count }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let left = self.left else { return context.fireChannelRead(data) }
        var buffer = self.unwrapInboundIn(data)
        if let part = buffer.readSlice(length: min(left, buffer.readableBytes)) {
            self.left = left - part.readableBytes
            context.fireChannelRead(self.wrapInboundOut(part))
        }
        if self.left == 0 { context.close(promise: nil) }
    }
}

/// Accepts the content of an upload, in any number of requests.
private final class Taker: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let server: DraftServer

    init(_ server: DraftServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head: self.server.state.withLock { $0.bytes = [] }
        case .body(let buffer): self.server.state.withLock { $0.bytes += buffer.readableBytesView }
        case .end:
            self.server.state.withLock { $0.wholes += 1 }
            let response = HTTPResponse(status: .ok, headerFields: [.contentLength: "0"])
            context.write(self.wrapOutboundOut(.head(response)), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}

@Suite("The IETF's resumable uploads to swift-nio-extras' server", .timeLimit(.minutes(5)))
struct DraftServerTests {
    @Test(
        "whole, and cut off again and again, the file arrives as it is",
        arguments: [ResumableProtocol.ietf3, .ietf5, .ietf6],
        [[], [700_000, 1_000_000, 65_536]]
    )
    func uploads(speaks: ResumableProtocol, cuts: [Int]) async throws {
        let harness = try UploadHarness()
        let server = try await DraftServer.start(cuts: cuts)
        let size: Int64 = 3_000_001
        let outcome = try await harness.send(.file(harness.file(size)), to: server.url) { request in
            request.method = "POST"
            request.way = .by(speaks)
            request.asksFrom = nil
            request.options.retries = 5
        }
        #expect(outcome.completion != nil, "\(outcome.story)")
        let (bytes, wholes) = server.state.withLock { ($0.bytes, $0.wholes) }
        #expect(wholes == 1 && harness.pattern.holds(bytes, size))
    }
}
