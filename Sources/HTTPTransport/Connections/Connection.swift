internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import TransferCore
internal import TransferEngine

/// One connection: the end of a channel's pipeline, with the parser of its responses.
///
/// Unchecked because its variables are touched on its lane's loop only.
final class Connection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// Connecting, or in the handshake.
        case opening
        case ready
        case closed
    }

    /// How the channel ended while the receiver had paused.
    private enum PendingEnd {
        case eof
        case error(TransportError)
    }

    let origin: Origin
    /// When the last response ended.
    private(set) var idleSince = NIODeadline.now()

    private let lane: Lane
    private var context: ChannelHandlerContext?
    private var phase = Phase.opening
    private var openingError: TransportError?
    private var exchange: HTTPExchange?
    private var isReused = false
    private var parser: ResponseParser
    private var isPaused = false
    private var isDelivering = false
    /// Whether the receiver resumed while it was being called: that takes back the pause it answers.
    private var resumedWhileDelivering = false
    /// What was read already when the receiver paused.
    private var held = CircularBuffer<ByteBuffer>()
    private var pendingEnd: PendingEnd?
    private var readQuantum: Int?

    init(to origin: Origin, lane: Lane) {
        self.origin = origin
        self.lane = lane
        var limits = ResponseParser.Limits()
        limits.headBytes = lane.configuration.maximumHeadSize
        self.parser = ResponseParser(isHeadRequest: false, limits: limits)
    }

    /// The channel's allocator.
    var allocator: ByteBufferAllocator { self.context?.channel.allocator ?? ByteBufferAllocator() }

    // MARK: - What an exchange asks

    /// Gives the connection to its first exchange, as soon as it can be used.
    func whenReady(_ exchange: HTTPExchange) {
        self.exchange = exchange
        switch self.phase {
        case .opening: break
        case .ready: exchange.connectionIsReady(self)
        case .closed: self.breakOff(self.openingError ?? .truncated(self.origin, begun: false))
        }
    }

    /// Sends a request, whose response goes to `exchange`.
    func send(_ head: ByteBuffer, for exchange: HTTPExchange, isReused: Bool) {
        self.exchange = exchange
        self.isReused = isReused
        self.isPaused = false
        self.resumedWhileDelivering = false
        self.parser.reset(isHeadRequest: exchange.isHeadRequest)
        guard self.phase == .ready, let context = self.context else {
            return self.breakOff(.truncated(self.origin, begun: false))
        }
        self.setReadQuantum(exchange.readQuantum, of: exchange)
        context.writeAndFlush(self.wrapOutboundOut(head), promise: nil)
        self.readOn()
    }

    /// Goes on after a pause.
    func resumeReading(of exchange: HTTPExchange) {
        guard self.exchange === exchange else { return }
        if self.isDelivering {
            self.resumedWhileDelivering = true
            return
        }
        guard self.isPaused else { return }
        self.isPaused = false
        self.deliverHeld()
        self.readOn()
    }

    /// Sets the size of one read, where it is not set already.
    func setReadQuantum(_ bytes: Int?, of exchange: HTTPExchange) {
        guard self.exchange === exchange, self.readQuantum != bytes, let options = self.context?.channel.syncOptions
        else { return }
        self.readQuantum = bytes
        let capacity = bytes.map(Self.readSize) ?? Lane.defaultReadSize
        // Options can be refused only by a channel that is closed, and then they do not matter.
        try? options.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: capacity))
        // With a quantum one wake-up is one read, so that a pause takes hold at once.
        try? options.setOption(.maxMessagesPerRead, value: UInt(bytes == nil ? 4 : 1))
    }

    /// The largest power of two within a quantum: NIO rounds a buffer's capacity up to one.
    private static func readSize(_ quantum: Int) -> Int {
        let bounded = min(max(1, quantum), 1024 * 1024)
        return 1 << (Int.bitWidth - 1 - bounded.leadingZeroBitCount)
    }

    /// Closes the connection without telling its exchange.
    func close(abandoning exchange: HTTPExchange? = nil) {
        if let exchange, self.exchange !== exchange { return }
        self.exchange = nil
        self.closeChannel()
    }

    /// Takes back a connection on which nothing was sent, or whose response has ended.
    func release() {
        self.exchange = nil
        self.held.removeAll()
        guard self.phase == .ready, self.lane.keep(self) else { return self.closeChannel() }
        self.idleSince = .now()
    }

    private func closeChannel() {
        self.held.removeAll()
        guard self.phase != .closed, let context = self.context else { return }
        // Below the TLS handler: a goodbye would wait for the peer's, which nobody reads any more.
        let pipeline = context.pipeline.syncOperations
        if self.origin.scheme == .https, let below = try? pipeline.context(handlerType: NIOSSLClientHandler.self) {
            below.close(promise: nil)
        } else {
            context.close(promise: nil)
        }
    }

    // MARK: - What the channel tells

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.opened(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.phase = .closed
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) { self.opened(context) }

    private func opened(_ context: ChannelHandlerContext) {
        guard self.phase == .opening else { return }
        if self.origin.scheme == .https {
            context.read()
        } else {
            self.becomeReady()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event, self.phase == .opening {
            self.becomeReady()
        }
    }

    private func becomeReady() {
        self.phase = .ready
        if let exchange = self.exchange { exchange.connectionIsReady(self) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        guard self.exchange != nil else {
            // Nobody asked for this: what the server means by it cannot be known.
            self.lane.forget(self)
            return self.closeChannel()
        }
        if self.isPaused || self.isDelivering || !self.held.isEmpty {
            self.held.append(buffer)
        } else {
            self.deliver(buffer)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { self.readOn() }

    private func readOn() {
        guard !self.isPaused, self.phase != .closed else { return }
        self.context?.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.phase = .closed
        self.end(.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Servers often leave out TLS's goodbye; the body's own framing tells whether something is missing.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        if self.phase == .opening {
            let error = TransportError.handshaking(with: self.origin, error)
            self.openingError = error
            self.phase = .closed
            self.breakOff(error)
            context.close(promise: nil)
            return
        }
        self.end(.error(.connection(to: self.origin, broke: error)))
        self.closeChannel(afterError: context)
    }

    private func closeChannel(afterError context: ChannelHandlerContext) {
        guard self.phase != .closed else { return }
        if self.pendingEnd == nil {
            self.closeChannel()
        } else {
            context.close(promise: nil)
        }
    }

    private func end(_ end: PendingEnd) {
        guard self.exchange != nil else { return self.lane.forget(self) }
        if self.isPaused || self.isDelivering || !self.held.isEmpty {
            // The first cause counts: an end of the channel follows each error.
            if self.pendingEnd == nil { self.pendingEnd = end }
        } else {
            self.tell(end)
        }
    }

    private func tell(_ end: PendingEnd) {
        switch end {
        case .error(let error):
            self.breakOff(error)
        case .eof:
            guard let exchange = self.exchange else { return }
            switch self.parser.finish() {
            case .ended, .alreadyEnded:
                self.exchange = nil
                exchange.ended(trailers: HTTPFields(), cleanly: false)
            case .nothingBegun:
                self.breakOff(.truncated(self.origin, begun: false))
            case .truncated:
                self.breakOff(.truncated(self.origin, begun: true))
            }
        }
    }

    private func breakOff(_ error: TransportError) {
        guard let exchange = self.exchange else { return }
        self.exchange = nil
        let unanswered = self.isReused && !self.parser.hasBegun
        exchange.broke(error, unanswered: unanswered)
    }

    // MARK: - Delivering

    private enum Outcome {
        case drained
        case paused
        case abandoned
        case closed
        case ended(HTTPFields)
        case failed(HTTP1Error)
    }

    private func deliverHeld() {
        // An empty buffer first: the end of the response may be all that is left to tell.
        self.deliver(self.held.popFirst() ?? ByteBuffer())
        while !self.isPaused, self.exchange != nil, let buffer = self.held.popFirst() { self.deliver(buffer) }
        if !self.isPaused, let end = self.pendingEnd {
            self.pendingEnd = nil
            self.tell(end)
        }
    }

    private func deliver(_ buffer: ByteBuffer) {
        guard let exchange = self.exchange else { return }
        var consumed = 0
        self.isDelivering = true
        let outcome = buffer.withUnsafeReadableBytes { self.deliver($0, &consumed, to: exchange) }
        self.isDelivering = false
        self.resumedWhileDelivering = false
        switch outcome {
        case .drained:
            if let end = self.pendingEnd, self.held.isEmpty {
                self.pendingEnd = nil
                self.tell(end)
            }
        case .abandoned:
            break
        case .paused:
            self.isPaused = true
            if consumed < buffer.readableBytes {
                var rest = buffer
                rest.moveReaderIndex(forwardBy: consumed)
                self.held.prepend(rest)
            }
        case .closed:
            exchange.abandoned()
            self.close()
        case .ended(let trailers):
            self.responseEnded(hasMore: consumed < buffer.readableBytes || !self.held.isEmpty)
            exchange.ended(trailers: trailers, cleanly: true)
        case .failed(let error):
            let unanswered = self.isReused && !self.parser.hasHead
            self.close()
            exchange.broke(.response(of: self.origin, breaks: error), unanswered: unanswered)
        }
    }

    /// Frees the connection before the receiver hears of the end, so that its next request finds it.
    private func responseEnded(hasMore: Bool) {
        if self.parser.shouldKeepAlive && !hasMore && self.pendingEnd == nil {
            self.release()
        } else {
            self.close()
        }
    }

    private func deliver(
        _ bytes: UnsafeRawBufferPointer,
        _ consumed: inout Int,
        to exchange: HTTPExchange
    ) -> Outcome {
        while true {
            let part: ResponseParser.Part
            do {
                part = try self.parser.next(bytes, consumed: &consumed)
            } catch {
                return .failed(error)
            }
            let decision: ReadDecision
            switch part {
            case .needMore: return .drained
            case .end(let trailers): return .ended(trailers)
            case .head(let head): decision = exchange.received(head: head)
            case .body(let range):
                decision = exchange.received(body: UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            // The receiver may have cancelled.
            guard self.exchange === exchange else { return .abandoned }
            switch decision {
            case .read:
                self.resumedWhileDelivering = false
            case .pause:
                if !self.resumedWhileDelivering { return .paused }
                self.resumedWhileDelivering = false
            case .close:
                guard self.parser.isAtEnd else { return .closed }
                exchange.abandoned()
                self.responseEnded(hasMore: consumed < bytes.count || !self.held.isEmpty)
                return .abandoned
            }
        }
    }
}
