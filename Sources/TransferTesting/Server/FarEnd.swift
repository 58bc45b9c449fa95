// SPDX-License-Identifier: Apache-2.0
import NIOCore

/// The server's side of a tunnel: forwards received bytes to the client's channel, and closes that at its own end.
final class FarEnd: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let partner: any Channel
    private let observe: @Sendable (ByteBuffer) -> Void
    private let cutsTLS: Bool

    /// Creates the handler.
    ///
    /// - Parameters:
    ///   - partner: The client's channel.
    ///   - cutsTLS: Whether the client's channel is closed without a close_notify.
    ///   - observe: Called with each buffer before it is forwarded.
    init(
        partner: any Channel,
        cutsTLS: Bool = false,
        observing observe: @escaping @Sendable (ByteBuffer) -> Void = { _ in }
    ) {
        self.partner = partner
        self.cutsTLS = cutsTLS
        self.observe = observe
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        self.observe(buffer)
        self.partner.writeAndFlush(buffer, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if self.cutsTLS { self.partner.closeBelowTLS() } else { self.partner.close(promise: nil) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
