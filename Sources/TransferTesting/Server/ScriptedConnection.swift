// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import NIOSSL

import Platform
import TransferCore

/// Runs the steps of a connection's replies in order, as fast as the peer reads.
final class ScriptedConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let blockSize: Int64 = 16 * 1024
    private static let mostStepsInARow = 16

    private let index: Int
    private let record: ServerRecord
    private let script: ScriptedServer.Script
    private var parser = RecordedRequestParser()
    private var target = ""
    private var steps: ArraySlice<Reply.Step> = []
    /// Whether a step is waiting for a timer, a gate or the peer.
    private var isSuspended = false
    private var hasEnded = false
    private var isRunning = false

    init(index: Int, record: ServerRecord, script: @escaping ScriptedServer.Script) {
        self.index = index
        self.record = record
        self.script = script
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.parser.append(self.unwrapInboundIn(data).readableBytesView)
        self.run(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.run(context)
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.hasEnded = true
        self.record.ended(context.channel)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Runs steps until one has to wait.
    private func run(_ context: ChannelHandlerContext) {
        // A write may flush immediately and call `channelWritabilityChanged` again.
        guard !self.isRunning else { return }
        self.isRunning = true
        defer { self.isRunning = false }
        var count = 0
        while !self.hasEnded, !self.isSuspended, context.channel.isWritable {
            // Yields to the other connections of the event loop, however fast a client is.
            guard count < Self.mostStepsInARow else { return self.suspend(for: .microseconds(100), context) }
            count += 1
            guard let step = self.steps.popFirst() else {
                guard self.takeRequest(context) else { return }
                continue
            }
            self.perform(step, context)
        }
    }

    private func takeRequest(_ context: ChannelHandlerContext) -> Bool {
        do {
            guard let head = try self.parser.next() else { return false }
            let request = self.record.received(head, connection: self.index)
            self.target = request.target
            self.steps = self.script(request).steps[...]
            return true
        } catch {
            self.hasEnded = true
            context.close(promise: nil)
            return false
        }
    }

    private func perform(_ step: Reply.Step, _ context: ChannelHandlerContext) {
        switch step {
        case .head(let bytes): self.send(bytes, counting: 0, context)
        case .bytes(let bytes): self.send(bytes, counting: bytes.count, context)
        case .pattern(let pattern, let range, let rate, let chunked):
            self.sendBlock(pattern, range, rate, chunked, context)
        case .endless(let bytes):
            self.send(bytes, counting: 0, context)
            self.steps.insert(step, at: self.steps.startIndex)
        case .delay(let duration): self.suspend(for: duration, context)
        case .drip(let bytes, let interval):
            guard let first = bytes.first else { return }
            self.send([first], counting: 0, context)
            self.steps = [.delay(interval), .drip(Array(bytes.dropFirst()), every: interval)] + self.steps
        case .waitUntil(let gate):
            self.isSuspended = true
            let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            let eventLoop = context.eventLoop
            gate.whenOpen {
                eventLoop.execute {
                    let (connection, context) = loopBound.value
                    connection.isSuspended = false
                    connection.run(context)
                }
            }
        case .open(let gate): gate.open()
        case .stall: self.isSuspended = true
        case .close:
            self.hasEnded = true
            let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()))
                .whenComplete { _ in
                    loopBound.value.close(promise: nil)
                }
        case .cut, .closeAtOnce:
            self.hasEnded = true
            let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
            let isCut = if case .cut = step { true } else { false }
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()))
                .whenComplete { _ in
                    // Writes the close_notify.
                    if !isCut { loopBound.value.close(promise: nil) }
                    loopBound.value.channel.closeBelowTLS()
                }
        case .reset: self.reset(context)
        }
    }

    private func send(_ bytes: [UInt8], counting count: Int, _ context: ChannelHandlerContext) {
        self.send(context.channel.allocator.buffer(bytes: bytes), counting: count, context)
    }

    private func send(_ buffer: ByteBuffer, counting count: Int, _ context: ChannelHandlerContext) {
        let (record, target) = (self.record, self.target)
        guard count > 0 else {
            context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
            return
        }
        context.writeAndFlush(self.wrapOutboundOut(buffer)).whenSuccess { record.sent(count, of: target) }
    }

    /// Sends the next block of a pattern, and puts the rest back at the front of the steps.
    private func sendBlock(
        _ pattern: TestPattern,
        _ range: Range<Int64>,
        _ rate: Int64?,
        _ chunked: Bool,
        _ context: ChannelHandlerContext
    ) {
        guard !range.isEmpty else { return }
        // About fifty blocks per second keep a slow connection smooth.
        let most = rate.map { min(max(1, $0 / 50), Self.blockSize) } ?? Self.blockSize
        let end = min(range.lowerBound + most, range.upperBound)
        let count = Int(end - range.lowerBound)
        var buffer = context.channel.allocator.buffer(capacity: count + 16)
        if chunked { buffer.writeString(String(count, radix: 16) + "\r\n") }
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
            pattern.fill(space.part(0..<count), from: range.lowerBound)
            return count
        }
        if chunked { buffer.writeString("\r\n") }
        self.send(buffer, counting: count, context)
        if end < range.upperBound {
            self.steps.insert(
                .pattern(pattern, end..<range.upperBound, rate: rate, chunked: chunked),
                at: self.steps.startIndex
            )
        }
        if let rate { self.suspend(for: .nanoseconds(Int64(count) * 1_000_000_000 / max(1, rate)), context) }
    }

    private func suspend(for duration: Duration, _ context: ChannelHandlerContext) {
        self.isSuspended = true
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: TimeAmount(duration)) {
            let (connection, context) = loopBound.value
            connection.isSuspended = false
            connection.run(context)
        }
    }

    private func reset(_ context: ChannelHandlerContext) {
        self.hasEnded = true
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer()))
            .whenComplete { _ in
                let channel = loopBound.value.channel
                // Discards pending data and sends RST instead of FIN (socket(7), SO_LINGER).
                guard let socket = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
                socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
            }
    }
}

extension Channel {
    /// Closes the socket without the close_notify of TLS, as an attacker on the path or a killed server does.
    ///
    /// - Precondition: The caller is on the channel's event loop.
    func closeBelowTLS() {
        if let tls = try? self.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
            tls.close(promise: nil)
        } else {
            self.close(promise: nil)
        }
    }
}
