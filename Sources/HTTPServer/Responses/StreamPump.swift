// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix

/// Sends content of unknown length, in the chunked transfer coding if the client supports it.
///
/// The next piece is produced when the connection can take it, so a client that does not read costs one piece.
///
/// - Source: RFC 9112 §7.1.
final class StreamPump: ContentPump {
    private let context: ChannelHandlerContext
    private let pool: NIOThreadPool
    private let source: any ContentSource
    private let isChunked: Bool
    private var done: ((Int64?) -> Void)?
    private var isProducing = false
    private var isAtEnd = false
    private var sent: Int64 = 0

    /// - Parameters:
    ///   - context: The connection.
    ///   - pool: The threads that produce the content.
    ///   - source: The content.
    ///   - isChunked: Whether the chunked transfer coding is used.
    ///   - done: Called once: with the number of bytes after the last write, or with `nil` if the connection failed.
    init(
        context: ChannelHandlerContext,
        pool: NIOThreadPool,
        source: any ContentSource,
        isChunked: Bool,
        done: @escaping (Int64?) -> Void
    ) {
        self.context = context
        self.pool = pool
        self.source = source
        self.isChunked = isChunked
        self.done = done
    }

    func lost() { self.end(nil) }

    private func end(_ bytes: Int64?) {
        let done = self.done
        self.done = nil
        done?(bytes)
    }

    func goOn() {
        guard !self.isProducing, !self.isAtEnd, self.done != nil, self.context.channel.isWritable else { return }
        self.isProducing = true
        let source = self.source
        self.pool.runIfActive(eventLoop: self.context.eventLoop) { source.next() }
            .assumeIsolated()
            .whenComplete { self.produced($0) }
    }

    private func produced(_ result: Result<[UInt8], any Error>) {
        self.isProducing = false
        guard self.done != nil else { return }
        guard case .success(let piece) = result, self.context.channel.isActive else {
            self.end(nil)
            return
        }
        var buffer = self.context.channel.allocator.buffer(capacity: piece.count + 32)
        guard piece.isEmpty else {
            if self.isChunked { buffer.writeString(String(piece.count, radix: 16) + "\r\n") }
            buffer.writeBytes(piece)
            if self.isChunked { buffer.writeStaticString("\r\n") }
            self.sent += Int64(piece.count)
            self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            self.goOn()
            return
        }
        self.isAtEnd = true
        if self.isChunked { buffer.writeStaticString("0\r\n\r\n") }
        let promise = self.context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated()
            .whenComplete { result in
                if case .success = result { self.end(self.sent) } else { self.end(nil) }
            }
        self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: promise)
    }
}
