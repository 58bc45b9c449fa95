// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Writes content of unknown length to a connection, in the chunked transfer coding if the client supports it.
///
/// - Source: RFC 9112 §7.1.
struct ChunkedOutput {
    let context: ChannelHandlerContext
    let isChunked: Bool
    /// The number of content bytes written.
    private(set) var sent: Int64 = 0

    init(_ context: ChannelHandlerContext, isChunked: Bool) {
        self.context = context
        self.isChunked = isChunked
    }

    /// Writes one chunk; an empty one, which would end the content, is left out.
    mutating func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        var buffer = self.context.channel.allocator.buffer(capacity: bytes.count + 32)
        if self.isChunked { buffer.writeString(String(bytes.count, radix: 16) + "\r\n") }
        buffer.writeBytes(bytes)
        if self.isChunked { buffer.writeStaticString("\r\n") }
        self.sent += Int64(bytes.count)
        self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
    }

    /// Writes the end of the content.
    ///
    /// - Parameter done: Called with the number of content bytes after the last write, or with `nil` if it failed.
    func finish(_ done: @escaping (Int64?) -> Void) {
        var buffer = self.context.channel.allocator.buffer(capacity: 8)
        if self.isChunked { buffer.writeStaticString("0\r\n\r\n") }
        let promise = self.context.eventLoop.makePromise(of: Void.self)
        let sent = self.sent
        promise.futureResult.assumeIsolated()
            .whenComplete { result in
                if case .success = result { done(sent) } else { done(nil) }
            }
        self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: promise)
    }
}
