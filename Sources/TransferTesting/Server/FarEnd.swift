import NIOCore

/// The end of a tunnel at the server: hands what comes to the client's end, and closes it when this one ends.
final class FarEnd: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let partner: any Channel
    private let observe: @Sendable (ByteBuffer) -> Void

    /// Creates the end.
    ///
    /// - Parameters:
    ///   - partner: The client's end.
    ///   - observe: Is shown what comes, before it is handed on.
    init(partner: any Channel, observing observe: @escaping @Sendable (ByteBuffer) -> Void = { _ in }) {
        self.partner = partner
        self.observe = observe
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        self.observe(buffer)
        self.partner.writeAndFlush(buffer, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.partner.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
