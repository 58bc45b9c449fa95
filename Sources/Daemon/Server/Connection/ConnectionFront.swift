internal import NIOCore

/// The handler next to the socket: closes stalled connections, discards input that no later handler would read, and
/// closes a connection so that the peer receives the last response.
final class ConnectionFront: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Whether inbound bytes are discarded.
    ///
    /// NIO's parser stops after a request for an upgrade, accepted or not, and would buffer all following bytes.
    var isDeaf = false

    /// The maximum time for the peer to close after the last response.
    private static let farewell = TimeAmount.seconds(5)

    private let limit: TimeAmount
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var isEnding = false
    private var isInputClosed = false

    init(limit: Duration) { self.limit = TimeAmount(limit) }

    /// Closes the connection after the bytes written so far.
    ///
    /// Closing a socket with unread bytes resets the connection, and the peer may lose a response that it has not read
    /// yet. Therefore only the output is closed first, and input is discarded until the peer closes too.
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
        // Keep reading without the later handlers: otherwise the peer's close is not observed.
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
