// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Responds with 503 (Service Unavailable) and closes: the maximum number of connections is reached.
final class ConnectionRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        let response =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(NIOAny(context.channel.allocator.buffer(string: response)), promise: promise)
    }
}
