// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// Sends a range of a file.
final class FilePump: ContentPump {
    /// The chunk size without sendfile(2), in bytes.
    static let piece = 256 << 10

    /// The interval at which the length of a file is checked while it is sent.
    private static let watchInterval = TimeAmount.milliseconds(500)

    private let context: ChannelHandlerContext
    private let core: ListenerCore
    private let file: Files.FileDescriptor
    private let meter: (any ResponseMeter)?
    private var isSent = false
    private var range: Range<Int64>
    private var done: ((Bool) -> Void)?
    private var isReading = false
    private var watch: Scheduled<Void>?

    /// - Parameters:
    ///   - context: The connection.
    ///   - core: Provides the thread pool for reads without sendfile(2).
    ///   - file: The file.
    ///   - range: The range to send.
    ///   - meter: Counts the bytes before they are sent.
    ///   - done: Called once, with whether the complete range was sent.
    init(
        context: ChannelHandlerContext,
        core: ListenerCore,
        file: Files.FileDescriptor,
        range: Range<Int64>,
        meter: (any ResponseMeter)?,
        done: @escaping (Bool) -> Void
    ) {
        self.context = context
        self.core = core
        self.file = file
        self.range = range
        self.meter = meter
        self.done = done
    }

    /// The connection was closed.
    func lost() { self.end(false) }

    private func end(_ isWhole: Bool) {
        let done = self.done
        self.done = nil
        done?(isWhole)
    }

    /// The largest end of a range that NIO sends by sendfile(2).
    ///
    /// `FileRegion` stores offsets in 56 bits, and a channel's number of pending bytes must not overflow: a sparse file can
    /// have 2^63 - 1 bytes.
    private static let longestRegion: Int64 = (1 << 56) - 1

    /// Sends the range by sendfile(2), or in chunks if it is too long for that.
    func sendWhole() {
        guard self.range.upperBound <= Self.longestRegion else { return self.goOn() }
        // NIO closes the descriptor it is given; `file` stays open.
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

    /// Closes the connection if the file is truncated while it is sent.
    ///
    /// Otherwise NIO would call sendfile(2) forever: beyond the end of a file it sends nothing and returns no error.
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

    /// Sends the next chunk if the connection is writable.
    func goOn() {
        guard !self.isReading, !self.range.isEmpty, self.context.channel.isWritable else { return }
        self.isReading = true
        let count = Int(min(Int64(Self.piece), self.range.upperBound - self.range.lowerBound))
        let offset = self.range.lowerBound
        let file = self.file
        let allocator = self.context.channel.allocator
        let meter = self.meter
        self.core.pool
            .runIfActive(eventLoop: self.context.eventLoop) { () -> ByteBuffer in
                // The meter may block, too.
                guard meter?.take(Int64(count)) ?? true else { return ByteBuffer() }
                var buffer = allocator.buffer(capacity: count)
                buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
                    max(0, file.read(into: bytes.part(0..<count), at: offset))
                }
                return buffer
            }
            .assumeIsolated()
            .whenComplete { result in self.read(result, count) }
    }

    private func read(_ result: Result<ByteBuffer, any Error>, _ count: Int) {
        self.isReading = false
        guard case .success(let buffer) = result, buffer.readableBytes == count, self.context.channel.isActive else {
            // The file was truncated, or may not be sent again: closing the connection signals that the response is incomplete.
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
