internal import NIOCore
internal import NIOPosix
internal import TransferCore
internal import TransferEngine

/// Sends one request's content over a connection: pulls a piece when there is room, and lets the kernel send files.
///
/// Unchecked because its variables are touched on its lane's loop only.
final class ContentWriter: @unchecked Sendable {
    private enum Phase {
        /// The server is asked first whether it wants the content.
        case asking
        case sending
        /// Everything was written, though not all of it may be with the kernel.
        case written
        case stopped
    }

    private let content: any RequestContent
    private let context: ChannelHandlerContext
    private let lane: Lane
    /// Whether the bytes go to the socket as they are, so that the kernel can send a file by itself (sendfile(2)).
    private let isPlain: Bool
    private let isChunked: Bool
    /// What goes before the first piece, together with it.
    private var head: ByteBuffer?
    private var phase = Phase.sending
    private var left: Int64
    /// Whether a piece is awaited, or one that came is still being read.
    private var isPulling = false
    /// Whether the loop of ``pull()`` is on the stack: a write that ends at once must not begin another one in it.
    private var isRunning = false
    private var underWay = 0
    private var question: Scheduled<Void>?
    /// A piece that waits until the last one is with the kernel.
    private var waiting: ContentPiece?
    /// The file whose bytes the kernel sends; kept open until the last of them is with it.
    private var handle: (file: any SourceFile, handle: NIOFileHandle)?
    private let whenFailed: () -> Void

    /// The most bytes that are on their way to the kernel.
    private static let window = 2 << 20
    /// The most bytes of a file that are read on the loop, to go with the head.
    private static let mostReadAtOnce = 64 << 10
    /// The most bytes of a file that are read in one go away from the loop.
    private static let readSize = 512 << 10

    /// - Parameters:
    ///   - content: What is sent.
    ///   - context: The connection's place in its channel.
    ///   - lane: The connection's lane.
    ///   - isPlain: Whether nothing encrypts on the way to the socket.
    ///   - whenFailed: Called when the content cannot be gone on with.
    init(
        _ content: any RequestContent,
        over context: ChannelHandlerContext,
        of lane: Lane,
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

    /// Whether all of it is with the kernel, so that the connection can carry another request.
    var isDone: Bool { self.phase == .written && self.underWay == 0 }

    /// Begins with the request's head; with a question, content follows only when it is answered or time is up.
    func begin(_ head: ByteBuffer, askingFor timeout: TimeAmount?) {
        guard let timeout else {
            self.head = head
            return self.pull()
        }
        self.phase = .asking
        self.context.writeAndFlush(NIOAny(head), promise: nil)
        self.question = self.context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.goAhead() }
    }

    /// The server wants the content, or says nothing.
    func goAhead() {
        guard self.phase == .asking else { return }
        self.question?.cancel()
        self.question = nil
        self.phase = .sending
        self.pull()
    }

    /// Sends nothing more; what was written already may still go out.
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
            if self.left == 0 { return self.finish() }
            self.isPulling = true
            let lane = self.lane
            let piece = self.content.next { piece in
                if lane.loop.inEventLoop { self.take(piece) } else { lane.execute { self.take(piece) } }
            }
            guard let piece else {
                self.flushHead()
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

    /// The head does not wait for content that takes its time.
    private func flushHead() {
        guard let head = self.head else { return }
        self.head = nil
        self.context.writeAndFlush(NIOAny(head), promise: nil)
    }

    /// Writes a piece; false where nothing more is to be pulled for now.
    private func write(_ piece: ContentPiece) -> Bool {
        switch piece {
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
            if self.isPlain, !self.isChunked, let descriptor = file.descriptor {
                return self.writeRegion(file, descriptor, offset, count)
            }
            self.readAway(file, offset, count)
            return false
        }
    }

    /// A buffer for a piece, begun with what goes before it.
    private func begun(_ count: Int) -> ByteBuffer {
        var buffer = self.prefix(count)
        buffer.reserveCapacity(minimumWritableBytes: count + 2)
        return buffer
    }

    /// What goes before a piece: the head, where it has not gone yet, and a chunk's size.
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
        // First: the write may be over already.
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
            // A source that ends before its length leaves a request that nobody can finish.
            guard self.left == 0 else {
                self.phase = .stopped
                return self.whenFailed()
            }
        }
        self.phase = .written
        self.closeHandle()
    }

    // MARK: Files

    /// A short piece is read here and now.
    private func writeRead(_ file: any SourceFile, _ offset: Int64, _ count: Int) -> Bool {
        var buffer = self.begun(count)
        guard Self.read(file, offset, count, into: &buffer) else { return self.failed() }
        self.send(buffer, count)
        return true
    }

    /// The kernel sends it from its cache (sendfile(2)).
    private func writeRegion(_ file: any SourceFile, _ descriptor: Int32, _ offset: Int64, _ count: Int) -> Bool {
        self.flushHead()
        if let known = self.handle, known.file !== file {
            // One file's bytes are all with the kernel before the next one's go: they share no handle.
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

    /// Reads on threads that may wait, in pieces, and writes what comes.
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
                // The write may end at once: nothing else is pulled before the rest of this piece.
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
            let space = UnsafeMutableRawBufferPointer(rebasing: space[..<count])
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
        // Writes that are under way use the descriptor, which is the file's own and closed with it.
        guard self.underWay == 0, let handle = self.handle else { return }
        self.handle = nil
        _ = try? handle.handle.takeDescriptorOwnership()
    }
}
