// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix

/// Sends content that is produced piece by piece.
///
/// The next piece is produced when the connection can take it, so a client that does not read costs one piece.
final class StreamPump: ContentPump {
    private let context: ChannelHandlerContext
    private let pool: NIOThreadPool
    private let source: any ContentSource
    private var output: ChunkedOutput
    private var done: ((Int64?) -> Void)?
    private var isProducing = false
    private var isAtEnd = false

    /// - Parameters:
    ///   - context: The connection.
    ///   - pool: The threads that produce the content.
    ///   - source: The content.
    ///   - isChunked: Whether the chunked transfer coding is used: not if the length is known, or for HTTP/1.0.
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
        self.output = ChunkedOutput(context, isChunked: isChunked)
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
        guard piece.isEmpty else {
            self.output.write(piece)
            self.goOn()
            return
        }
        guard !self.source.isBroken else { return self.end(nil) }
        self.isAtEnd = true
        self.output.finish { self.end($0) }
    }
}
