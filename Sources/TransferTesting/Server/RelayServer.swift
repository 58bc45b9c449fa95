// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import Synchronization

/// Relays connections to another port of this machine, counts the bytes that clients send, and can break connections.
///
/// Its buffer is unbounded: the clients limit their rate, or ``advance(by:)`` limits the bytes that they may send.
public final class RelayServer: Sendable {
    /// The port on which it listens.
    public let port: Int

    private let channel: any Channel
    private let book: RelayBook

    /// Starts a relay on a free port of `127.0.0.1`; it stops when it is released.
    ///
    /// - Parameter target: The port to which connections are relayed; if no server listens on it, they are closed.
    /// - Returns: The relay, listening.
    /// - Throws: NIO's error if the address cannot be bound.
    public static func start(to target: Int) async throws -> RelayServer {
        let book = RelayBook()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    _ = book.record.accept(channel)
                    try channel.pipeline.syncOperations.addHandler(NearEnd(book, target: target))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = channel.localAddress?.port else {
            throw TestSupportError("the relay's socket has no port; this is a bug in the test support")
        }
        return RelayServer(channel, book, port)
    }

    private init(_ channel: any Channel, _ book: RelayBook, _ port: Int) {
        self.channel = channel
        self.book = book
        self.port = port
    }

    /// The number of bytes that clients have sent, including request heads.
    public var received: Int { self.book.received }

    /// The offset of each PATCH of a resumable upload, with the largest offset that the server had reported before it.
    public var appends: [(offset: Int, acknowledged: Int)] { self.book.appends }

    /// Lets clients send `count` more bytes, with a small excess, and returns when they have; later bytes wait in the
    /// kernel until the next call.
    public func advance(by count: Int) async {
        let bound = self.received + count
        self.book.allow(bound)
        await self.book.waitUntilReceived(bound)
    }

    /// Removes the bound on the bytes that clients may send.
    public func letGo() { self.book.allow(Int.max) }

    /// Closes every open connection, and returns when they are closed; the relay continues to listen.
    public func closeConnections() async {
        for channel in self.book.record.takeChannels() { try? await channel.close().get() }
    }

    deinit {
        self.channel.close(promise: nil)
        for channel in self.book.record.takeChannels() { channel.close(promise: nil) }
    }
}

/// The counts of a relay, and the tasks that wait for them.
private final class RelayBook: Sendable {
    let record = ServerRecord()
    private struct State {
        var received = 0
        var acknowledged = 0
        var appends: [(offset: Int, acknowledged: Int)] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var bound = Int.max
        var held: [any Channel] = []
    }

    private let state = Mutex(State())

    var received: Int { self.state.withLock { $0.received } }
    var appends: [(offset: Int, acknowledged: Int)] { self.state.withLock { $0.appends } }

    /// The offset in a head at the beginning of a buffer; a head elsewhere in it is not found.
    private static func offset(_ head: String) -> Int? {
        let lines = head.split(separator: "\r\n").map { $0.lowercased() }
        return lines.first { $0.hasPrefix("upload-offset: ") }.flatMap { Int($0.dropFirst(15)) }
    }

    private static func head(_ buffer: ByteBuffer) -> String {
        buffer.getString(at: buffer.readerIndex, length: min(buffer.readableBytes, 2048)) ?? ""
    }

    /// Records bytes that the server sent.
    func answered(_ buffer: ByteBuffer) {
        let head = Self.head(buffer)
        guard head.hasPrefix("HTTP/1.1 "), let offset = Self.offset(head) else { return }
        self.state.withLock { $0.acknowledged = max($0.acknowledged, offset) }
    }

    /// Records bytes that a client sent.
    func add(_ buffer: ByteBuffer) {
        let head = Self.head(buffer)
        let woken = self.state.withLock { state in
            state.received += buffer.readableBytes
            // A new upload: the offset reported for an earlier one no longer counts.
            if head.hasPrefix("POST ") || head.hasPrefix("PUT ") { state.acknowledged = 0 }
            if head.hasPrefix("PATCH "), let offset = Self.offset(head) {
                state.appends.append((offset, state.acknowledged))
            }
            let received = state.received
            let woken = state.waiters.filter { $0.count <= received }
            state.waiters.removeAll { $0.count <= received }
            return woken
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    func allow(_ bound: Int) {
        let channels = self.state.withLock { state in
            state.bound = bound
            defer { state.held = [] }
            return state.held
        }
        for channel in channels { channel.setOption(.autoRead, value: true).whenFailure { _ in } }
    }

    /// Whether reading from a client must pause; the channel is then resumed by ``allow(_:)``.
    func holds(_ channel: any Channel) -> Bool {
        self.state.withLock { state in
            guard state.received >= state.bound else { return false }
            state.held.append(channel)
            return true
        }
    }

    func waitUntilReceived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.received >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// One client of a relay; its bytes are read when the server is connected.
private final class NearEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let book: RelayBook
    private let target: Int
    private var partner: (any Channel)?

    init(_ book: RelayBook, target: Int) {
        self.book = book
        self.target = target
    }

    func channelActive(context: ChannelHandlerContext) {
        let (channel, book) = (context.channel, self.book)
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        // On the same event loop, so that each side may access the other's channel.
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(FarEnd(partner: channel) { book.answered($0) }) }
            .connect(host: "127.0.0.1", port: self.target)
            .whenComplete { result in
                let (end, context) = loopBound.value
                guard case .success(let far) = result else { return context.close(promise: nil) }
                end.partner = far
                guard context.channel.isActive else { return far.close(promise: nil) }
                context.channel.setOption(.autoRead, value: true).whenFailure { _ in far.close(promise: nil) }
            }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        self.book.add(buffer)
        if self.book.holds(context.channel) {
            try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        }
        self.partner?.writeAndFlush(buffer, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.book.record.ended(context.channel)
        self.partner?.close(promise: nil)
        self.partner = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
