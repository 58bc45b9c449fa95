// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// Sends a request's content.
extension ClientConnection {
    /// Sends short content after its head.
    func send(_ head: ByteBuffer, _ content: [UInt8], _ context: ChannelHandlerContext) {
        self.isSending = true
        let written: EventLoopFuture<Void>
        if content.count <= Self.mostCopiedContent {
            var whole = head
            whole.writeBytes(content)
            written = context.writeAndFlush(self.wrapOutboundOut(whole))
        } else {
            context.write(self.wrapOutboundOut(head), promise: nil)
            written = context.writeAndFlush(self.wrapOutboundOut(context.channel.allocator.buffer(bytes: content)))
        }
        written.assumeIsolated().whenComplete { _ in self.isSending = false }
    }

    /// Sends content that is pulled in pieces; the response may arrive meanwhile.
    func stream(
        _ content: any RequestContent,
        behind head: ByteBuffer,
        askingFor timeout: Int64?,
        _ context: ChannelHandlerContext
    ) {
        let writer = RequestContentWriter(content, over: context, of: self.lane, isPlain: !self.route.hasTLS) {
            [weak self] in
            self?.contentFailed()
        }
        self.writer = writer
        writer.begin(head, askingFor: timeout.map { .bounded($0) })
    }

    private func contentFailed() {
        guard let exchange = self.exchange else { return }
        self.close()
        exchange.broke(
            TransportError(.content, "the content of the request to \(self.peer.place) could not be provided"),
            unanswered: false
        )
    }

    /// Whether part of the request's content was not handed to the kernel yet.
    var isStillSending: Bool { self.isSending || self.writer.map { !$0.isDone } ?? false }

    /// The maximum size of content that is copied into the head's buffer.
    private static let mostCopiedContent = 64 * 1024
}
