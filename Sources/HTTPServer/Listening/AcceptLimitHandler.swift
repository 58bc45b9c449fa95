// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Stops accepting while the maximum number of connections is open; more wait in the kernel's queue.
final class AcceptLimitHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel
    typealias OutboundIn = Never
    typealias OutboundOut = Never

    private let limit: Int
    private var open = 0
    private var isReadPending = false

    init(limit: Int) { self.limit = limit }

    func read(context: ChannelHandlerContext) {
        if self.open < self.limit { context.read() } else { self.isReadPending = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.open += 1
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.unwrapInboundIn(data).closeFuture
            .hop(to: context.eventLoop)
            .whenComplete { _ in
                let (handler, context) = bound.value
                handler.closed(context)
            }
        context.fireChannelRead(data)
    }

    private func closed(_ context: ChannelHandlerContext) {
        self.open -= 1
        guard self.isReadPending, context.channel.isActive else { return }
        self.isReadPending = false
        context.read()
    }
}
