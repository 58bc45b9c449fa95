// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Hides the end of the TLS connection to a proxy from the tunnel inside it.
///
/// Only the close_notify of the inner TLS connection, to the origin, shows whether a response is complete: the proxy
/// can end its own connection properly after the origin's was cut, and vice versa.
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
