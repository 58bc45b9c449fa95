internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Hides from a tunnel how the TLS connection to its proxy ends.
///
/// Whether a response was truncated is shown by the close_notify of the TLS connection inside, to the origin: the proxy
/// can end its own properly after the origin's was cut, and the other way round.
final class ProxyShutdownFilter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .shutdownCompleted = event { return }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        context.fireErrorCaught(error)
    }
}
