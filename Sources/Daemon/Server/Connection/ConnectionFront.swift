internal import NIOCore

/// The connection's end towards the network: closes it where the peer takes nothing of what is sent to it, and stops
/// listening where nobody behind it would.
final class ConnectionFront: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Whether what comes in is thrown away.
    ///
    /// NIO's parser stops after a request that asks for an upgrade, taken or not, and would keep what follows for ever.
    var isDeaf = false

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?

    init(limit: Duration) { self.limit = TimeAmount(limit) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !self.isDeaf { context.fireChannelRead(data) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = nil
        if !context.channel.isWritable {
            let channel = context.channel
            self.timer = context.eventLoop.scheduleTask(in: self.limit) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = nil
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }
}
