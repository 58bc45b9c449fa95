// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Closes an encrypted connection at once, without waiting for the client's close_notify.
final class EvictionHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    /// The user event that closes the connection.
    struct Evict: Sendable {}

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is Evict else { return context.triggerUserOutboundEvent(event, promise: promise) }
        // Handlers between this one and the application, such as that of TLS, are bypassed.
        context.close(promise: promise)
    }
}
