internal import NIOCore

/// The connection's end towards the network: closes it where the peer takes nothing of what is sent to it, stops
/// listening where nobody behind it would, and ends it so that the last answer arrives.
final class ConnectionFront: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Whether what comes in is thrown away.
    ///
    /// NIO's parser stops after a request that asks for an upgrade, taken or not, and would keep what follows for ever.
    var isDeaf = false

    /// The longest time for the peer to close after its last answer.
    private static let farewell = TimeAmount.seconds(5)

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var isEnding = false
    private var isInputClosed = false

    init(limit: Duration) { self.limit = TimeAmount(limit) }

    /// Ends the connection behind what was written last.
    ///
    /// To close a socket in which unread bytes lie resets the connection, and the peer may lose the answer that it has not
    /// read yet. So first this side alone is closed, and what still comes is thrown away until the peer closes, too.
    ///
    /// - Source: RFC 9112 §9.6.
    func end() {
        guard let context = self.context, !self.isEnding else { return }
        guard !self.isInputClosed else { return context.close(promise: nil) }
        self.isEnding = true
        self.isDeaf = true
        self.timer?.cancel()
        let channel = context.channel
        self.timer = context.eventLoop.scheduleTask(in: min(self.limit, Self.farewell)) { channel.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        context.read()
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.timer?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !self.isDeaf { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Whoever takes no more now must not keep the peer from coming to its end.
        if self.isEnding { context.read() }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent {
            self.isInputClosed = true
            if self.isEnding { return context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !self.isEnding {
            self.timer?.cancel()
            self.timer = nil
            if !context.channel.isWritable {
                let channel = context.channel
                self.timer = context.eventLoop.scheduleTask(in: self.limit) { channel.close(promise: nil) }
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = nil
        context.fireChannelInactive()
    }
}
