// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// Writes a response to the connection.
///
/// A small file is sent in one buffer with the head. A large file is sent by sendfile(2), or, on an encrypted
/// connection, in chunks read on the pool.
struct ResponseWriter {
    /// The maximum size of file content that is read on the event loop, into the head's buffer.
    static let longestInPlace: Int64 = 64 << 10

    let context: ChannelHandlerContext
    let core: ListenerCore
    let isSecure: Bool

    /// Writes a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - form: The form that the request asks for.
    ///   - date: The value of `Date`.
    ///   - pumping: Called with the pump if the content takes more than one write.
    ///   - done: Called once: with the number of content bytes after the last write, or with `nil` if the connection
    ///     failed.
    /// - Returns: False if the file's content could not be read.
    func write(
        _ response: Response,
        _ form: ResponseForm,
        date: String,
        pumping: (any ContentPump) -> Void,
        done: @escaping (Int64?) -> Void
    ) -> Bool {
        let length = form.isHead ? 0 : response.content.length
        var buffer = self.context.channel.allocator.buffer(
            capacity: 512 + (length <= Self.longestInPlace ? Int(length) : 0)
        )
        ResponseSerializer.write(response, form, date: date, to: &buffer)
        guard !form.isHead else {
            self.send(buffer, 0, done)
            return true
        }
        switch response.content {
        case .none: self.send(buffer, 0, done)
        case .bytes(let bytes):
            buffer.writeBytes(bytes)
            self.send(buffer, length, done)
        // A meter may wait for the disk, which an event loop must not.
        case .file(let file, let range) where length <= Self.longestInPlace && response.meter == nil:
            let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(length)) { bytes in
                max(
                    0,
                    file.read(
                        into: bytes.part(0..<Int(length)),
                        at: range.lowerBound
                    )
                )
            }
            // The file was truncated: the announced length cannot be sent.
            guard Int64(count) == length else { return false }
            self.send(buffer, length, done)
        case .file(let file, let range):
            let pump = FilePump(
                context: self.context,
                core: self.core,
                file: file,
                range: range,
                meter: response.meter
            ) { done($0 ? length : nil) }
            pumping(pump)
            self.context.write(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            // sendfile(2) would send the complete range, whatever the meter says.
            if self.isSecure || response.meter != nil { pump.goOn() } else { pump.sendWhole() }
        case .stream(let source):
            let pump = StreamPump(
                context: self.context,
                pool: source.pool ?? self.core.pool,
                source: source,
                isChunked: !form.isOld && source.length == nil,
                done: done
            )
            pumping(pump)
            self.context.write(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            pump.goOn()
        case .writer(let body):
            let pump = WriterPump(context: self.context, body: body, isChunked: !form.isOld, done: done)
            pumping(pump)
            self.context.write(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            pump.start(self.core)
        case .webSocket: return false
        }
        return true
    }

    private func send(_ buffer: ByteBuffer, _ length: Int64, _ done: @escaping (Int64?) -> Void) {
        let promise = self.context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated()
            .whenComplete { result in
                if case .success = result { done(length) } else { done(nil) }
            }
        self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: promise)
    }
}
