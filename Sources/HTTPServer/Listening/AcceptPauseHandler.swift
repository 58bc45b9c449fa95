// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Stops accepting for a moment when a connection cannot be accepted, such as without free descriptors.
///
/// The connection stays in the kernel's queue and keeps the socket readable. After a failed accept, swift-nio 2.101 keeps
/// its request to read, so that its `AcceptBackoffHandler` has no effect and the event loop spins; only without automatic
/// reading is the socket unregistered.
final class AcceptPauseHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    private static let pause = TimeAmount.milliseconds(200)
    private var isPaused = false

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        guard !self.isPaused else { return }
        self.isPaused = true
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            bound.value.isPaused = false
            guard channel.isActive else { return }
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
