internal import NIOCore

/// Lets a listening socket rest where the system has no descriptor for another connection.
///
/// NIO would try again at once, and again: the connection that waits keeps the socket readable.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let rest = TimeAmount.milliseconds(200)

    private var isResting = false

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError, !self.isResting else { return }
        self.isResting = true
        let channel = context.channel
        channel.setOption(.autoRead, value: false).assumeIsolated().whenComplete { _ in }
        context.eventLoop.assumeIsolated()
            .scheduleTask(in: Self.rest) {
                self.isResting = false
                channel.setOption(.autoRead, value: true).assumeIsolated().whenComplete { _ in }
            }
    }
}
