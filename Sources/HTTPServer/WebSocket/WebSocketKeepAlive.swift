// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOWebSocket

/// Sends a ping at every interval, and closes a WebSocket that receives nothing for three intervals or whose client
/// does not read.
final class WebSocketKeepAlive: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let interval: TimeAmount
    private let stall: TimeAmount
    private var timer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    /// The number of intervals since the last received frame.
    private var silent = 0
    private var hasSentClose = false

    init(interval: TimeAmount, stall: TimeAmount) {
        self.interval = interval
        self.stall = stall
    }

    func handlerAdded(context: ChannelHandlerContext) { self.schedule(context) }
    func handlerRemoved(context: ChannelHandlerContext) { self.cancelTimers() }
    func channelInactive(context: ChannelHandlerContext) {
        self.cancelTimers()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.stallTimer?.cancel()
        self.stallTimer = nil
        if !context.channel.isWritable {
            let channel = context.channel
            self.stallTimer = context.eventLoop.scheduleTask(in: self.stall) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.silent = 0
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if self.unwrapOutboundIn(data).opcode == .connectionClose { self.hasSentClose = true }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is HTTPConnection.Stop, !self.hasSentClose else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: .goingAway)
        let channel = context.channel
        context.writeAndFlush(self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)))
            .whenComplete { _ in channel.close(promise: nil) }
    }

    private func cancelTimers() {
        self.timer?.cancel()
        self.stallTimer?.cancel()
    }

    private func schedule(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timer = context.eventLoop.scheduleTask(in: self.interval) {
            let (handler, context) = bound.value
            handler.intervalPassed(context)
        }
    }

    private func intervalPassed(_ context: ChannelHandlerContext) {
        self.silent += 1
        guard self.silent < 3 else {
            context.close(promise: nil)
            return
        }
        let frame = WebSocketFrame(fin: true, opcode: .ping, data: context.channel.allocator.buffer(capacity: 0))
        context.writeAndFlush(self.wrapOutboundOut(frame), promise: nil)
        self.schedule(context)
    }
}
