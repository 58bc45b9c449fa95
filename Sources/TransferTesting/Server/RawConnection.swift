// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import Platform
internal import Synchronization

/// A connection that sends bytes unchanged and waits for received bytes.
///
/// Every wait has a timeout of some seconds, so that a test fails instead of hanging.
package final class RawConnection: Sendable {
    /// The end of a wait.
    package enum Failure: Error {
        /// The peer closed the connection.
        case closed(received: String)
        /// The awaited bytes were not received in time.
        case timedOut(received: String)
    }

    private struct State {
        var bytes: [UInt8] = []
        var isClosed = false
        var waiter: (find: @Sendable ([UInt8]) -> Int?, promise: EventLoopPromise<[UInt8]>)?
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let connection: RawConnection
        let keepsSending: Bool

        init(_ connection: RawConnection, keepsSending: Bool) {
            self.connection = connection
            self.keepsSending = keepsSending
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.connection.received(Array(self.unwrapInboundIn(data).readableBytesView))
        }
        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case .inputClosed? = event as? ChannelEvent else { return }
            self.connection.ended()
            if !self.keepsSending { context.close(promise: nil) }
        }
        func channelInactive(context: ChannelHandlerContext) { self.connection.ended() }
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let state = Mutex(State())
    private let channelBox = Mutex<(any Channel)?>(nil)
    static let patience = TimeAmount.seconds(10)

    private var channel: any Channel {
        get throws {
            guard let channel = self.channelBox.withLock({ $0 }) else { throw Failure.closed(received: "") }
            return channel
        }
    }

    /// Connects over TCP.
    ///
    /// - Parameters:
    ///   - port: The port on this machine.
    ///   - keepsSending: Whether the connection stays open after the peer has closed its side, until ``close()``.
    /// - Returns: The connection.
    /// - Throws: An error of NIO.
    package static func connect(port: Int, keepsSending: Bool = false) async throws -> RawConnection {
        try await self.connect(keepsSending) { try await $0.connect(host: "127.0.0.1", port: port).get() }
    }

    /// Connects to a Unix socket.
    package static func connect(path: String) async throws -> RawConnection {
        try await self.connect(false) { try await $0.connect(unixDomainSocketPath: path).get() }
    }

    private static func connect(
        _ keepsSending: Bool,
        _ make: (ClientBootstrap) async throws -> any Channel
    ) async throws -> RawConnection {
        let connection = RawConnection()
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(self.patience)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(connection, keepsSending: keepsSending))
                }
            }
        let channel = try await make(bootstrap)
        connection.channelBox.withLock { $0 = channel }
        return connection
    }

    package func send(_ bytes: [UInt8]) async throws { try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)) }
    package func send(_ text: String) async throws { try await self.send(Array(text.utf8)) }

    /// Stops reading, so that the peer's writes fill the buffers.
    package func stopReading() async throws {
        try await self.channel.setOption(ChannelOptions.autoRead, value: false).get()
    }

    /// Resets the connection, as a crash would.
    package func reset() async throws {
        try await (self.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        await self.close()
    }

    package func close() async { try? await self.channelBox.withLock { $0 }?.close() }

    private func received(_ bytes: [UInt8]) {
        self.state.withLock { $0.bytes += bytes }
        self.wake()
    }

    private func ended() {
        self.state.withLock { $0.isClosed = true }
        self.wake()
    }

    private func wake() {
        let done: (EventLoopPromise<[UInt8]>, Result<[UInt8], any Error>)? = self.state.withLock { state in
            guard let waiter = state.waiter else { return nil }
            if let count = waiter.find(state.bytes) {
                let found = Array(state.bytes.prefix(count))
                state.bytes.removeFirst(count)
                state.waiter = nil
                return (waiter.promise, .success(found))
            }
            guard state.isClosed else { return nil }
            state.waiter = nil
            return (waiter.promise, .failure(Failure.closed(received: String(decoding: state.bytes, as: UTF8.self))))
        }
        done.map { $0.0.completeWith($0.1) }
    }

    /// Waits until `find` returns a number of the received bytes, and removes and returns them.
    package func receive(_ find: @escaping @Sendable ([UInt8]) -> Int?) async throws -> [UInt8] {
        let loop = try self.channel.eventLoop
        let promise = loop.makePromise(of: [UInt8].self)
        self.state.withLock { $0.waiter = (find, promise) }
        let timer = loop.scheduleTask(in: Self.patience) {
            let received = self.state.withLock { state in
                state.waiter = nil
                return String(decoding: state.bytes, as: UTF8.self)
            }
            promise.fail(Failure.timedOut(received: received))
        }
        promise.futureResult.whenComplete { _ in timer.cancel() }
        self.wake()
        return try await promise.futureResult.get()
    }

    /// Waits for a text; returns everything up to its end.
    @discardableResult
    package func receive(through text: String) async throws -> String {
        let wanted = Array(text.utf8)
        let bytes = try await self.receive { bytes in
            guard bytes.count >= wanted.count else { return nil }
            for start in 0...(bytes.count - wanted.count) where bytes[start] == wanted[0] {
                if bytes[start..<(start + wanted.count)].elementsEqual(wanted) { return start + wanted.count }
            }
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits until the peer closes; returns the bytes before.
    @discardableResult
    package func end() async throws -> String {
        do {
            _ = try await self.receive { _ in nil }
            return ""
        } catch Failure.closed(let received) {
            return received
        }
    }
}

/// A response with a body of known length.
package struct RawReply: Sendable {
    package var status: Int
    /// The head, with the blank line.
    package var head: String
    package var body: String

    /// The value of a field.
    package func field(_ name: String) -> String? {
        for line in self.head.split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == name.lowercased() {
                return String(parts[1].drop { $0 == " " })
            }
        }
        return nil
    }
}

extension RawConnection {
    /// Waits for a response; interim ones are skipped.
    ///
    /// - Parameter isHead: Whether the response has no body, whatever its length.
    /// - Returns: The response.
    /// - Throws: ``Failure``.
    package func reply(isHead: Bool = false) async throws -> RawReply {
        let head = try await self.receive(through: "\r\n\r\n")
        let parts = head.split(separator: " ", maxSplits: 2)
        let status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        if status == 100 { return try await self.reply(isHead: isHead) }
        var reply = RawReply(status: status, head: head, body: "")
        let length = reply.field("Content-Length").flatMap { Int($0) } ?? 0
        if length > 0, !isHead {
            let bytes = try await self.receive { $0.count >= length ? length : nil }
            reply.body = String(decoding: bytes, as: UTF8.self)
        }
        return reply
    }

    /// Sends a request and waits for its response.
    package func request(
        _ method: String = "POST",
        _ target: String = "/jsonrpc",
        _ fields: [String] = [],
        host: String = "127.0.0.1",
        body: String = ""
    ) async throws -> RawReply {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
        for field in fields { text += field + "\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        try await self.send(text + "\r\n" + body)
        return try await self.reply(isHead: method == "HEAD")
    }
}
