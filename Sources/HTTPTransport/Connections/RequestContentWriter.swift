// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import TransferCore
internal import TransferEngine

/// Sends one request's content over a connection: pulls pieces when there is room, and sends files by sendfile(2).
///
/// `@unchecked Sendable`: the variables are used on the event loop of its connection, that of `lane`, only. The connection
/// calls it there, and pieces that are read on other threads are passed to it by `lane.execute`.
final class RequestContentWriter: @unchecked Sendable {
    private enum Phase {
        /// Waiting for 100 (Continue).
        case asking
        case sending
        /// All content was written, but may not have reached the kernel completely.
        case written
        case stopped
    }

    private let content: any RequestContent
    private let context: ChannelHandlerContext
    private let lane: TransportLoop
    /// Whether bytes reach the socket unencrypted, so that the kernel can send a file (sendfile(2)).
    private let isPlain: Bool
    private let isChunked: Bool
    /// The request head, to be sent with the first piece.
    private var head: ByteBuffer?
    private var phase = Phase.sending
    private var left: Int64
    /// Whether a piece is pending, or is still being read from its file.
    private var isPulling = false
    /// Whether ``pull()`` is on the stack: a write that completes synchronously must not start it again.
    private var isRunning = false
    private var underWay = 0
    private var question: Scheduled<Void>?
    /// A piece that waits until the previous one was handed to the kernel.
    private var waiting: ContentPiece?
    /// The file that the kernel sends; kept open until its last byte was handed to the kernel.
    private var handle: (file: any SourceFile, handle: NIOFileHandle)?
    private let whenFailed: () -> Void

    /// The maximum number of bytes being written.
    private static let window = 2 << 20
    /// The maximum size of a file piece that is read on the event loop, to be sent with the head.
    private static let mostReadAtOnce = 64 << 10
    /// The largest end of a piece that NIO sends by sendfile(2): `FileRegion` stores offsets in 56 bits.
    private static let longestRegion: Int64 = (1 << 56) - 1
    /// The maximum size of one read from a file on the thread pool.
    private static let readSize = 512 << 10

    /// - Parameters:
    ///   - content: The content to send.
    ///   - context: The context of the connection's handler.
    ///   - lane: The state of the transport on the connection's event loop.
    ///   - isPlain: Whether the connection is unencrypted.
    ///   - whenFailed: Called when the content cannot be continued.
    init(
        _ content: any RequestContent,
        over context: ChannelHandlerContext,
        of lane: TransportLoop,
        isPlain: Bool,
        whenFailed: @escaping () -> Void
    ) {
        self.content = content
        self.context = context
        self.lane = lane
        self.isPlain = isPlain
        self.isChunked = content.length == nil
        self.left = content.length ?? Int64.max
        self.whenFailed = whenFailed
    }

    deinit { if let handle = self.handle { _ = try? handle.handle.takeDescriptorOwnership() } }

    /// Whether all content was handed to the kernel, so that the connection can be reused.
    var isDone: Bool { self.phase == .written && self.underWay == 0 }

    /// Sends the request head; with a timeout, content follows after 100 (Continue) or after the timeout.
    func begin(_ head: ByteBuffer, askingFor timeout: TimeAmount?) {
        guard let timeout else {
            self.head = head
            return self.pull()
        }
        self.phase = .asking
        self.context.writeAndFlush(NIOAny(head), promise: nil)
        self.question = self.context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.goAhead() }
    }

    /// Starts sending: the server accepts the content, or did not respond in time.
    func goAhead() {
        guard self.phase == .asking else { return }
        self.question?.cancel()
        self.question = nil
        self.phase = .sending
        self.pull()
    }

    /// Stops sending; bytes that were already written may still be sent.
    func stop() {
        self.question?.cancel()
        self.question = nil
        if self.phase != .written || self.underWay > 0 { self.phase = .stopped }
        self.closeHandle()
    }

    // MARK: Pulling

    private func pull() {
        guard !self.isRunning else { return }
        self.isRunning = true
        defer { self.isRunning = false }
        while self.phase == .sending, !self.isPulling, self.waiting == nil, self.underWay < Self.window {
            self.isPulling = true
            let lane = self.lane
            let piece = self.content.next { piece in
                if lane.loop.inEventLoop { self.take(piece) } else { lane.execute { self.take(piece) } }
            }
            guard let piece else {
                // Without content the head is the whole request, which the source may still fail.
                if self.left > 0 { self.flushHead() }
                return
            }
            self.isPulling = false
            guard self.write(piece) else { return }
        }
    }

    private func take(_ piece: ContentPiece) {
        self.isPulling = false
        guard self.phase == .sending else { return }
        if self.write(piece) { self.pull() }
    }

    /// Sends the head without waiting for slow content.
    private func flushHead() {
        guard let head = self.head else { return }
        self.head = nil
        self.context.writeAndFlush(NIOAny(head), promise: nil)
    }

    /// Writes a piece; returns false if no further piece should be pulled now.
    private func write(_ piece: ContentPiece) -> Bool {
        switch piece {
        case .afterwards:
            guard self.underWay > 0 else { return true }
            self.waiting = piece
            return false
        case .end:
            self.finish()
            return false
        case .failed:
            self.phase = .stopped
            self.whenFailed()
            return false
        case .bytes(let bytes):
            var buffer = self.begun(bytes.count)
            buffer.writeBytes(bytes)
            self.send(buffer, bytes.count)
            return true
        case .file(let file, let offset, let count):
            if count <= Self.mostReadAtOnce { return self.writeRead(file, offset, count) }
            if self.isPlain, !self.isChunked, offset <= Self.longestRegion - Int64(count),
                let descriptor = file.descriptor
            {
                return self.writeRegion(file, descriptor, offset, count)
            }
            self.readAway(file, offset, count)
            return false
        }
    }

    /// A buffer for a piece, starting with its prefix.
    private func begun(_ count: Int) -> ByteBuffer {
        var buffer = self.prefix(count)
        buffer.reserveCapacity(minimumWritableBytes: count + 2)
        return buffer
    }

    /// The bytes before a piece: the head if it was not sent yet, and the size of an HTTP chunk.
    private func prefix(_ count: Int) -> ByteBuffer {
        var buffer = self.head ?? ByteBuffer()
        self.head = nil
        if self.isChunked { buffer.writeString(String(count, radix: 16) + "\r\n") }
        return buffer
    }

    private func send(_ buffer: ByteBuffer, _ count: Int) {
        var buffer = buffer
        if self.isChunked { buffer.writeStaticString("\r\n") }
        self.sent(self.context.writeAndFlush(NIOAny(buffer)), count)
    }

    private func sent(_ future: EventLoopFuture<Void>, _ count: Int) {
        self.underWay += count
        if !self.isChunked { self.left -= Int64(count) }
        // First: the write may have completed already.
        if self.left == 0, self.phase == .sending { self.phase = .written }
        future.assumeIsolated()
            .whenComplete { result in
                self.underWay -= count
                guard case .success = result, self.phase != .stopped else { return self.closeHandle() }
                self.content.sent(count)
                if self.phase == .written { return self.closeHandle() }
                if let piece = self.waiting {
                    guard self.underWay == 0 else { return }
                    self.waiting = nil
                    guard self.write(piece) else { return }
                }
                self.pull()
            }
    }

    private func finish() {
        if self.isChunked {
            var buffer = self.head ?? self.context.channel.allocator.buffer(capacity: 8)
            self.head = nil
            buffer.writeStaticString("0\r\n\r\n")
            self.context.writeAndFlush(NIOAny(buffer), promise: nil)
        } else {
            self.flushHead()
            // A source that ends before its declared length leaves an incomplete request.
            guard self.left == 0 else {
                self.phase = .stopped
                return self.whenFailed()
            }
        }
        self.phase = .written
        self.closeHandle()
    }

    // MARK: Files

    /// Reads a short piece on the event loop and writes it.
    private func writeRead(_ file: any SourceFile, _ offset: Int64, _ count: Int) -> Bool {
        var buffer = self.begun(count)
        guard Self.read(file, offset, count, into: &buffer) else { return self.failed() }
        self.send(buffer, count)
        return true
    }

    /// Writes a piece that the kernel sends from its page cache (sendfile(2)).
    private func writeRegion(_ file: any SourceFile, _ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool {
        self.flushHead()
        if let known = self.handle, known.file !== file {
            // The handle is replaced only after all of its bytes were handed to the kernel.
            guard self.underWay == 0 else {
                self.waiting = .file(file, offset: offset, count: count)
                return false
            }
            self.closeHandle()
        }
        let handle = self.handle?.handle ?? NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
        self.handle = (file, handle)
        let region = FileRegion(fileHandle: handle, readerIndex: Int(offset), endIndex: Int(offset) + count)
        self.sent(self.context.writeAndFlush(NIOAny(region)), count)
        return true
    }

    /// Reads a piece on the thread pool, in parts, and writes them.
    private func readAway(_ file: any SourceFile, _ offset: Int64, _ count: Int) {
        self.isPulling = true
        let first = min(count, Self.readSize)
        let prefix = self.prefix(first)
        let lane = self.lane
        let allocator = self.context.channel.allocator
        NIOThreadPool.singleton.submit { _ in
            var filled = allocator.buffer(capacity: prefix.readableBytes + first + 2)
            filled.writeImmutableBuffer(prefix)
            let isWhole = Self.read(file, offset, first, into: &filled)
            let result = filled
            lane.execute {
                guard self.phase == .sending else { return }
                guard isWhole else {
                    _ = self.failed()
                    return
                }
                // The write may complete synchronously: nothing is pulled before the rest of this piece.
                self.send(result, first)
                if first < count { return self.readAway(file, offset + Int64(first), count - first) }
                self.isPulling = false
                self.pull()
            }
        }
    }

    private static func read(_ file: any SourceFile, _ offset: Int64, _ count: Int, into buffer: inout ByteBuffer)
        -> Bool
    {
        let got = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
            let space = space.part(0..<count)
            return (try? file.read(into: space, at: offset)) ?? 0
        }
        return got == count
    }

    private func failed() -> Bool {
        self.phase = .stopped
        self.whenFailed()
        return false
    }

    private func closeHandle() {
        // Pending writes use the descriptor, which belongs to the file and is closed with it.
        guard self.underWay == 0, let handle = self.handle else { return }
        self.handle = nil
        _ = try? handle.handle.takeDescriptorOwnership()
    }
}
