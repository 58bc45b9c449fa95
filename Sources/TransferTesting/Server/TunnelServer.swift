// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TransferCore

/// A proxy on this machine that opens tunnels: it responds to CONNECT, then forwards bytes in both directions.
public final class TunnelServer: Sendable {
    /// The reaction to one CONNECT.
    public enum Answer: Sendable {
        /// Opens the tunnel; sends this response head, followed by these bytes.
        case connect(head: String = "HTTP/1.1 200 Connection established\r\n\r\n", trailing: [UInt8] = [])
        /// Responds with a status.
        case refuse(Int)
        /// Sends a text and closes.
        case raw(String)
        /// Closes without a response.
        case close
        /// Does nothing.
        case stall
    }

    /// Decides how to respond to one CONNECT; called on an event loop of the server.
    public typealias Script = @Sendable (RecordedRequest) -> Answer

    /// The port on which it listens.
    public let port: Int

    private let channel: any Channel
    private let record: ServerRecord

    /// Starts a proxy on a free port of `127.0.0.1`.
    ///
    /// - Parameters:
    ///   - tls: The certificate for TLS; `nil` for plain TCP.
    ///   - credentials: The required value of `Proxy-Authorization`, without which the response is 407; `nil` for any.
    ///   - cutsTLS: Whether a client's connection is closed without a close_notify when the server closes its own.
    ///   - script: Decides how to respond to each CONNECT.
    /// - Returns: The listening proxy; it stops when it is released.
    /// - Throws: NIO's error if the address cannot be bound.
    public static func start(
        tls: TestCertificate? = nil,
        credentials: String? = nil,
        cutsTLS: Bool = false,
        script: @escaping Script = { _ in .connect() }
    ) async throws -> TunnelServer {
        let record = ServerRecord()
        let context = try tls.map { try $0.serverContext() }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                    let index = record.accept(channel)
                    try pipeline.addHandler(
                        TunnelConnection(
                            index: index,
                            record: record,
                            credentials: credentials,
                            cutsTLS: cutsTLS,
                            script: script
                        )
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = channel.localAddress?.port else {
            throw TestSupportError("the proxy's socket has no port; this is a bug in the test support")
        }
        return TunnelServer(channel: channel, record: record, port: port)
    }

    private init(channel: any Channel, record: ServerRecord, port: Int) {
        self.channel = channel
        self.record = record
        self.port = port
    }

    /// All requests for tunnels so far.
    public var requests: [RecordedRequest] { self.record.requests }

    /// The number of connections accepted so far.
    public var connectionCount: Int { self.record.connectionCount }

    /// Closes every open connection, and returns when they are closed; the proxy continues to listen.
    public func closeConnections() async {
        for channel in self.record.takeChannels() { try? await channel.close().get() }
    }

    /// Stops listening and closes every connection.
    public func stop() async {
        try? await self.channel.close().get()
        await self.closeConnections()
    }

    deinit {
        self.channel.close(promise: nil)
        for channel in self.record.takeChannels() { channel.close(promise: nil) }
    }
}

/// One client of a tunnel server: its CONNECT, then the bytes that it sends.
private final class TunnelConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let index: Int
    private let record: ServerRecord
    private let credentials: String?
    private let cutsTLS: Bool
    private let script: TunnelServer.Script
    private var parser = RecordedRequestParser()
    private var isAnswered = false
    /// The server's channel of the tunnel.
    private var partner: (any Channel)?

    init(
        index: Int,
        record: ServerRecord,
        credentials: String?,
        cutsTLS: Bool,
        script: @escaping TunnelServer.Script
    ) {
        self.index = index
        self.record = record
        self.credentials = credentials
        self.cutsTLS = cutsTLS
        self.script = script
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let partner = self.partner {
            partner.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
            return
        }
        guard !self.isAnswered else { return }
        self.parser.append(self.unwrapInboundIn(data).readableBytesView)
        guard let head = try? self.parser.next() else { return }
        self.isAnswered = true
        let request = self.record.received(head, connection: self.index)
        if let credentials = self.credentials, request["Proxy-Authorization"] != credentials {
            return self.send(407, [("Proxy-Authenticate", "Basic realm=\"test\"")], context)
        }
        switch request.method == "CONNECT" ? self.script(request) : .refuse(405) {
        case .connect(let head, let trailing): self.connect(to: request.target, Array(head.utf8) + trailing, context)
        case .refuse(let status): self.send(status, [], context)
        case .raw(let text): self.sendAndClose(Array(text.utf8), context)
        case .close: context.close(promise: nil)
        case .stall: break
        }
    }

    private func send(_ status: Int, _ fields: [(String, String)], _ context: ChannelHandlerContext) {
        self.sendAndClose(Reply.headBytes(status, fields + [("Content-Length", "0")]), context)
    }

    private func sendAndClose(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)))
            .whenComplete { _ in loopBound.value.close(promise: nil) }
    }

    private func connect(to target: String, _ answer: [UInt8], _ context: ChannelHandlerContext) {
        let colon = target.lastIndex(of: ":") ?? target.endIndex
        let host = target[..<colon].filter { $0 != "[" && $0 != "]" }
        let port = Int(target[colon...].dropFirst()) ?? 0
        let channel = context.channel
        let cutsTLS = self.cutsTLS
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        // On the same event loop, so that each side may access the other's channel.
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(FarEnd(partner: channel, cutsTLS: cutsTLS)) }
            .connect(host: host, port: port)
            .whenComplete { result in
                let (connection, context) = loopBound.value
                switch result {
                case .failure: connection.send(502, [], context)
                case .success(let far):
                    connection.partner = far
                    context.writeAndFlush(connection.wrapOutboundOut(ByteBuffer(bytes: answer)), promise: nil)
                }
            }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.record.ended(context.channel)
        self.partner?.close(promise: nil)
        self.partner = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
