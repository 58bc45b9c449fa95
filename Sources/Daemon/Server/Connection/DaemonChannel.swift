internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import NIOWebSocket

/// One connection, whose first request makes it HTTP or a WebSocket.
struct DaemonConnection: ServerChildChannelValue {
    let channel: any Channel
    let protocolFuture: EventLoopFuture<ConnectionProtocol>
}

/// The protocol of a connection.
enum ConnectionProtocol: Sendable {
    case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    case webSocket(NIOAsyncChannel<WebSocketFrame, WebSocketFrame>, WebSocketOpening)
}

/// Sets up connections for HTTP/1.1, with WebSockets on `/jsonrpc`.
struct DaemonChannel: HTTPChannelHandler {
    let responder: Responder
    let isLocal: Bool
    let server: ServerParts

    private typealias Upgrader = NIOTypedHTTPServerUpgradeHandler<ConnectionProtocol>

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<DaemonConnection> {
        channel.eventLoop.makeCompletedFuture {
            if self.isLocal { try PeerUser.check(channel) }
            let limits = self.server.configuration.limits
            let pipeline = channel.pipeline.syncOperations
            let front = ConnectionFront(limit: limits.stallTime)
            try pipeline.addHandler(front)
            var configuration = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [self.webSocketUpgrader()],
                    notUpgradingCompletionHandler: { channel in self.becomeHTTP(channel) }
                )
            )
            // The reader of the channel handles requests one at a time, and the gate responds to malformed ones.
            configuration.enablePipelining = false
            configuration.enableErrorHandling = false
            configuration.decoderConfiguration.maxHeaderListSize = limits.head
            configuration.decoderConfiguration.maxHeaderFieldSize = limits.head
            let future = try pipeline.configureUpgradableHTTPServerPipeline(configuration: configuration)
            let upgrader = try pipeline.handler(type: Upgrader.self)
            let gate = RequestGate(
                policy: self.isLocal ? nil : self.server.policy,
                limits: limits,
                front: front,
                metrics: self.server.metrics
            )
            try pipeline.addHandler(gate, position: .before(upgrader))
            return DaemonConnection(channel: channel, protocolFuture: future)
        }
    }

    private func becomeHTTP(_ channel: any Channel) -> EventLoopFuture<ConnectionProtocol> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            return .http(
                try NIOAsyncChannel(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(isOutboundHalfClosureEnabled: true)
                )
            )
        }
    }

    private func webSocketUpgrader() -> NIOTypedWebSocketServerUpgrader<ConnectionProtocol> {
        let limits = self.server.configuration.limits
        return NIOTypedWebSocketServerUpgrader(
            maxFrameSize: self.isLocal ? limits.localBody : limits.body,
            // The gate has removed all Upgrade fields except for valid WebSocket handshakes.
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    pipeline.removeHandler(try pipeline.handler(type: RequestGate.self), promise: nil)
                    try pipeline.addHandler(WebSocketKeepAlive(interval: limits.keepAlive))
                    let opening = self.server.opening(head, isLocal: self.isLocal, address: channel.remoteAddress)
                    return .webSocket(
                        try NIOAsyncChannel(
                            wrappingChannelSynchronously: channel,
                            // Frames may be large: buffer only a few.
                            configuration: .init(
                                backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
                                isOutboundHalfClosureEnabled: false
                            )
                        ),
                        opening
                    )
                }
            }
        )
    }

    func handle(value: DaemonConnection, logger: Logger) async {
        self.server.metrics.connected(1)
        defer { self.server.metrics.connected(-1) }
        guard let connection = try? await value.protocolFuture.get() else {
            // The connection ended before its first request.
            value.channel.close(promise: nil)
            return
        }
        switch connection {
        case .http(let channel): await self.handleHTTP(asyncChannel: channel, logger: logger)
        case .webSocket(let channel, let opening):
            await WebSocketConnection(channel: channel, opening: opening, server: self.server).run()
        }
    }
}
