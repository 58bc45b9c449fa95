// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import NIOWebSocket
internal import TransferCore

/// The change of a connection's protocol to WebSocket.
extension HTTPConnection {
    /// Accepts a handshake, and replaces this handler with those of a WebSocket.
    func become(_ upgrade: WebSocketUpgrade, _ fields: HeaderFields, _ context: ChannelHandlerContext) {
        var buffer = context.channel.allocator.buffer(capacity: 256)
        ResponseSerializer.write(interim: 101, fields, to: &buffer)
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        let rest = self.detach()
        let channel = context.channel
        let lease = upgrade.screening?.budget.lease { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in lease?.close() }
        let screening = upgrade.screening.flatMap { screening in lease.map { (screening, $0) } }
        do {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandlers(
                WebSocketFrameEncoder(),
                ByteToMessageHandler(ScreenedFrameDecoder(limit: upgrade.limit, screening: screening)),
                WebSocketProtocolErrorHandler(),
                WebSocketKeepAlive(interval: upgrade.keepAlive, stall: upgrade.stall)
            )
            let socket = try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(
                wrappingChannelSynchronously: channel,
                // Frames may be large: buffer only a few.
                configuration: .init(
                    backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
                    isOutboundHalfClosureEnabled: false
                )
            )
            // Frames that the client sent with its handshake.
            if rest.readableBytes > 0 { context.fireChannelRead(NIOAny(rest)) }
            context.fireChannelReadComplete()
            pipeline.removeHandler(self, promise: nil)
            try channel.syncOptions?.setOption(.autoRead, value: true)
            self.core.task { await WebSocket.run(socket, upgrade, lease) }
        } catch {
            channel.close(promise: nil)
        }
    }
}
