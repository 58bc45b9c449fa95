internal import FileStorage
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Writes an answer to the connection: small files with the head in one piece, large ones by sendfile(2) where the
/// connection is plain, in pieces read by the pool where it is encrypted.
struct AnswerWriter {
    /// The longest part of a file that is read on the loop, into the same buffer as the head.
    static let longestInPlace: Int64 = 64 << 10

    let context: ChannelHandlerContext
    let core: ReceiverCore
    let isSecure: Bool

    /// Writes an answer.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - isHead: Whether its content is left out.
    ///   - isOld: Whether the client speaks HTTP/1.0.
    ///   - closes: Whether the connection ends with it.
    ///   - date: The value of `Date`.
    ///   - pumping: Given what sends the content, where that takes more than one write.
    ///   - done: Called once, with the bytes of the content when all was taken, with `nil` where the connection was lost.
    /// - Returns: Whether it could be begun.
    func write(
        _ answer: Answer,
        isHead: Bool,
        isOld: Bool,
        closes: Bool,
        date: String,
        pumping: (FilePump) -> Void,
        done: @escaping (Int64?) -> Void
    ) -> Bool {
        let length = isHead ? 0 : answer.content.length
        var buffer = self.context.channel.allocator.buffer(
            capacity: 512 + (length <= Self.longestInPlace ? Int(length) : 0)
        )
        AnswerHead.write(answer, date: date, isOld: isOld, closes: closes, to: &buffer)
        guard !isHead else {
            self.send(buffer, 0, done)
            return true
        }
        switch answer.content {
        case .none: self.send(buffer, 0, done)
        case .bytes(let bytes):
            buffer.writeBytes(bytes)
            self.send(buffer, length, done)
        case .file(let file, let range) where length <= Self.longestInPlace:
            let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Int(length)) { bytes in
                max(
                    0,
                    file.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<Int(length)]),
                        at: range.lowerBound
                    )
                )
            }
            // It was cut while it was being sent: what was announced cannot be kept.
            guard Int64(count) == length else { return false }
            self.send(buffer, length, done)
        case .file(let file, let range):
            let pump = FilePump(context: self.context, core: self.core, file: file, range: range) {
                done($0 ? length : nil)
            }
            pumping(pump)
            self.context.write(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            if self.isSecure { pump.goOn() } else { pump.sendWhole() }
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

/// Sends part of a file.
final class FilePump {
    /// How much is read at once where sendfile(2) cannot be used.
    static let piece = 256 << 10

    /// How often a file that is being sent is looked at.
    private static let watchInterval = TimeAmount.milliseconds(500)

    private let context: ChannelHandlerContext
    private let core: ReceiverCore
    private let file: OpenFile
    private var isSent = false
    private var range: Range<Int64>
    private var done: ((Bool) -> Void)?
    private var isReading = false
    private var watch: Scheduled<Void>?

    /// - Parameters:
    ///   - context: The connection.
    ///   - core: What reads where sendfile(2) cannot be used.
    ///   - file: The file.
    ///   - range: The part of it.
    ///   - done: Called once, at the end, with whether all was sent.
    init(
        context: ChannelHandlerContext,
        core: ReceiverCore,
        file: OpenFile,
        range: Range<Int64>,
        done: @escaping (Bool) -> Void
    ) {
        self.context = context
        self.core = core
        self.file = file
        self.range = range
        self.done = done
    }

    /// The connection has ended.
    func lost() { self.end(false) }

    private func end(_ isWhole: Bool) {
        let done = self.done
        self.done = nil
        done?(isWhole)
    }

    /// By sendfile(2).
    func sendWhole() {
        // NIO closes what it takes; the file stays ours.
        let copy = dup(self.file.raw)
        guard copy >= 0 else {
            self.end(false)
            return
        }
        let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: copy)
        let region = FileRegion(
            fileHandle: handle,
            readerIndex: Int(self.range.lowerBound),
            endIndex: Int(self.range.upperBound)
        )
        // Nothing is left for `goOn`.
        self.range = self.range.upperBound..<self.range.upperBound
        let promise = self.context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated()
            .whenComplete { result in
                try? handle.close()
                self.isSent = true
                self.watch?.cancel()
                if case .success = result { self.end(true) } else { self.end(false) }
            }
        self.context.writeAndFlush(NIOAny(IOData.fileRegion(region)), promise: promise)
        if !self.isSent { self.watchLength(Int64(region.endIndex)) }
    }

    /// Ends the connection where the file is cut while it is sent: NIO would call sendfile(2) for ever, which sends nothing
    /// beyond a file's end and reports no error.
    private func watchLength(_ end: Int64) {
        self.watch = self.context.eventLoop.assumeIsolated()
            .scheduleTask(in: Self.watchInterval) {
                guard let status = self.file.status(), Int64(status.st_size) >= end else {
                    self.context.channel.close(promise: nil)
                    return
                }
                self.watchLength(end)
            }
    }

    /// By the next piece, where the client has taken enough of the last ones.
    func goOn() {
        guard !self.isReading, !self.range.isEmpty, self.context.channel.isWritable else { return }
        self.isReading = true
        let count = Int(min(Int64(Self.piece), self.range.upperBound - self.range.lowerBound))
        let offset = self.range.lowerBound
        let file = self.file
        let allocator = self.context.channel.allocator
        self.core.pool
            .runIfActive(eventLoop: self.context.eventLoop) { () -> ByteBuffer in
                var buffer = allocator.buffer(capacity: count)
                buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
                    max(0, file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), at: offset))
                }
                return buffer
            }
            .assumeIsolated()
            .whenComplete { result in self.read(result, count) }
    }

    private func read(_ result: Result<ByteBuffer, any Error>, _ count: Int) {
        self.isReading = false
        guard case .success(let buffer) = result, buffer.readableBytes == count, self.context.channel.isActive else {
            // The file was cut: the announced length cannot be kept, and the connection says so by its end.
            self.end(false)
            return
        }
        self.range = (self.range.lowerBound + Int64(count))..<self.range.upperBound
        guard self.range.isEmpty else {
            self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: nil)
            self.goOn()
            return
        }
        let promise = self.context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated()
            .whenComplete { result in
                if case .success = result { self.end(true) } else { self.end(false) }
            }
        self.context.writeAndFlush(NIOAny(IOData.byteBuffer(buffer)), promise: promise)
    }
}
