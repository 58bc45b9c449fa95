// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
internal import TransferCore
internal import TransferEngine

/// One connection: the last handler of a channel's pipeline, with the parser of its responses.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. NIO calls the handlers of a channel on
/// its event loop, and its exchange and its lane call it there.
final class ClientConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        /// Connecting, or in the TLS handshake.
        case opening
        case ready
        case closed
    }

    /// The end of the channel, stored while it cannot be reported to the exchange.
    enum PendingEnd {
        case eof
        case error(TransportError)
    }

    let route: Route
    /// The peer that errors of the connection name; while a tunnel is opened, the proxy, then the origin.
    private(set) var peer: Peer
    /// The current step before the first request can be sent, for error messages.
    var openingStep = "the TLS handshake"
    /// The time at which the last response ended.
    private(set) var idleSince = NIODeadline.now()

    let lane: TransportLoop
    /// The permit to be open; `nil` if the number of connections has no limit.
    var permit: ConnectionPermit?
    /// The times of its making, until they are reported; `nil` if they are not.
    private var timeline: ConnectionTimeline?
    private var context: ChannelHandlerContext?
    private var phase = Phase.opening
    private var openingError: TransportError?
    var exchange: HTTPExchange?
    var isReused = false
    var parser: ResponseParser
    var isPaused = false
    var isDelivering = false
    /// Whether the receiver resumed during its own callback; this cancels the pause that the callback returns.
    var resumedWhileDelivering = false
    /// Whether a request is being started: the caller does not hold its exchange yet.
    private var isBeginning = false
    /// Bytes that were read but could not be delivered yet.
    var held = CircularBuffer<ByteBuffer>()
    var pendingEnd: PendingEnd?
    /// Whether TLS ended without the peer's close_notify.
    private var lacksCloseNotify = false
    /// The most bytes that are read, and delivered, at once; `nil` if that does not matter.
    private(set) var readQuantum: Int?
    /// Whether part of a request's content was not handed to the kernel yet.
    var isSending = false
    /// Sends the request's content, if that is streamed.
    var writer: RequestContentWriter?
    /// An additional check of the certificate after the handshake, if any.
    private var certificateCheck: CertificateCheck?
    /// The TLS handler for the origin inside a tunnel; the one next to the socket, if any, is then the proxy's.
    private var tunnelled: NIOSSLClientHandler?

    /// Creates the last handler of a connection's pipeline.
    ///
    /// - Parameters:
    ///   - route: The route to the origin.
    ///   - certificateCheck: A check after the handshake with the origin, in addition to NIOSSL's verification.
    ///   - lane: The state of the transport on the connection's event loop.
    ///   - timeline: The times of its making, if they are to be reported.
    init(
        over route: Route,
        certificateCheck: CertificateCheck? = nil,
        lane: TransportLoop,
        timeline: ConnectionTimeline? = nil
    ) {
        self.route = route
        self.peer = route.firstHop
        self.certificateCheck = certificateCheck
        self.lane = lane
        self.timeline = timeline
        var limits = ResponseParser.Limits()
        limits.headBytes = lane.configuration.maximumHeadSize
        self.parser = ResponseParser(isHeadRequest: false, limits: limits)
    }

    /// The address of the peer, without brackets.
    var remoteAddress: String? { self.context?.channel.remoteAddress?.ipAddress }

    /// Makes a report of the connection for its present request: the first one gets the times, too.
    func makeReport() -> ConnectionReport {
        var report = ConnectionReport()
        report.isReused = self.isReused
        if case .direct = self.route {} else { report.hasProxy = true }
        report.remote = self.context?.channel.remoteAddress.flatMap(ConnectionReport.End.init)
        report.local = self.context?.channel.localAddress.flatMap(ConnectionReport.End.init)
        if !self.isReused { self.timeline?.add(to: &report) }
        self.timeline = nil
        return report
    }

    /// The channel's allocator.
    var allocator: ByteBufferAllocator { self.context?.channel.allocator ?? ByteBufferAllocator() }

    // MARK: - Calls of exchanges

    /// Assigns the connection to its first exchange, as soon as requests can be sent.
    func whenReady(_ exchange: HTTPExchange) {
        self.exchange = exchange
        switch self.phase {
        case .opening: break
        case .ready: exchange.connectionIsReady(self)
        case .closed: self.breakOff(self.openingError ?? .truncated(self.peer, begun: false))
        }
    }

    /// Sends a request; the response is delivered to `exchange`.
    func send(_ head: ByteBuffer, of request: ExchangeRequest, for exchange: HTTPExchange, isReused: Bool) {
        self.exchange = exchange
        self.isReused = isReused
        self.isPaused = false
        self.resumedWhileDelivering = false
        self.parser.reset(isHeadRequest: exchange.isHeadRequest)
        guard self.phase == .ready, let context = self.context else {
            return self.breakOff(.truncated(self.peer, begun: false))
        }
        self.setReadQuantum(exchange.readQuantum, of: exchange)
        self.writer = nil
        // Read first: if a write finds the connection broken, NIO delivers earlier bytes of the server only to a
        // pending read.
        self.readOn()
        self.isBeginning = true
        if let content = request.content {
            self.stream(content, behind: head, askingFor: request.continueTimeout, context)
        } else if let content = request.body, !content.isEmpty {
            self.send(head, content, context)
        } else {
            context.writeAndFlush(self.wrapOutboundOut(head), promise: nil)
        }
        self.isBeginning = false
        guard !self.held.isEmpty || self.pendingEnd != nil else { return }
        self.lane.loop.execute { if self.exchange === exchange { self.deliverHeld() } }
    }

    /// Resumes reading after a pause.
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

    /// Sets the size of a read, unless it is set already.
    func setReadQuantum(_ bytes: Int?, of exchange: HTTPExchange) {
        guard self.exchange === exchange, self.readQuantum != bytes, let options = self.context?.channel.syncOptions
        else { return }
        self.readQuantum = bytes
        let sizes: any RecvByteBufferAllocator =
            bytes.map { FixedSizeRecvByteBufferAllocator(capacity: Self.readSize($0)) }
            ?? self.lane.readSizes(over: self.route)
        // Only a closed channel rejects options, and then they do not matter.
        try? options.setOption(.recvAllocator, value: sizes)
        // With a quantum, there is one read per wake-up, so that a pause takes effect immediately.
        try? options.setOption(.maxMessagesPerRead, value: UInt(bytes == nil ? 4 : 1))
    }

    /// The largest power of two within a quantum: NIO rounds the capacity of buffers up to a power of two.
    private static func readSize(_ quantum: Int) -> Int {
        let bounded = min(max(1, quantum), 1024 * 1024)
        return 1 << (Int.bitWidth - 1 - bounded.leadingZeroBitCount)
    }

    /// Closes the connection without notifying its exchange.
    func close(abandoning exchange: HTTPExchange? = nil) {
        if let exchange, self.exchange !== exchange { return }
        self.exchange = nil
        self.closeChannel()
    }

    /// Returns a connection to the pool after a response, or if nothing was sent on it; closes it if it cannot be kept.
    func release() {
        self.exchange = nil
        self.writer = nil
        self.held.removeAll()
        guard self.phase == .ready, self.permit?.becameIdle() ?? true, self.lane.keep(self) else {
            return self.closeChannel()
        }
        self.idleSince = .now()
    }

    /// Closes the connection because the transport is shut down.
    func shutDown() {
        let exchange = self.exchange
        self.close()
        exchange?.broke(.cancelled(self.peer), unanswered: false)
    }

    private func closeChannel() {
        self.writer?.stop()
        self.held.removeAll()
        guard self.phase != .closed, let context = self.context else { return }
        self.closeBelowTLS(context)
    }

    /// Closes the socket without a TLS shutdown, which would wait for the peer's close_notify.
    private func closeBelowTLS(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        // With two TLS handlers (https proxy), the first one found is the one next to the socket.
        if self.route.hasTLS, let below = try? pipeline.context(handlerType: NIOSSLClientHandler.self) {
            below.close(promise: nil)
        } else {
            context.close(promise: nil)
        }
    }

    // MARK: - Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.lane.opened(self)
        if context.channel.isActive { self.opened(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.writer?.stop()
        // The writer retains the channel's context, which retains this handler.
        self.writer = nil
        self.phase = .closed
        self.context = nil
        self.tunnelled = nil
        self.lane.closed(self)
        self.permit?.end()
        self.permit = nil
    }

    func channelActive(context: ChannelHandlerContext) { self.opened(context) }

    private func opened(_ context: ChannelHandlerContext) {
        guard self.phase == .opening else { return }
        if self.route.hasTLS {
            self.timeline?.handshakeBegan()
            context.read()
        } else {
            self.becomeReady()
        }
    }

    /// Continues with the TLS handshake with the origin, through the tunnel.
    func tunnelOpened(_ handler: NIOSSLClientHandler) {
        self.tunnelled = handler
        self.timeline?.handshakeBegan()
        self.peer = self.route.responder
        self.openingStep = "the TLS handshake"
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? TLSUserEvent else { return }
        switch event {
        case .handshakeCompleted: self.handshakeCompleted(context)
        // The peer sent close_notify. Later events of the TCP connection do not matter.
        case .shutdownCompleted: if self.phase == .ready { self.end(.eof) }
        }
    }

    private func handshakeCompleted(_ context: ChannelHandlerContext) {
        guard self.phase == .opening else { return }
        if let check = self.certificateCheck {
            self.certificateCheck = nil
            if let error = check.failure(of: self.peer) { return self.errorCaught(context: context, error: error) }
        }
        self.becomeReady()
    }

    private func becomeReady() {
        self.phase = .ready
        self.timeline?.ready()
        if let exchange = self.exchange { exchange.connectionIsReady(self) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        guard self.exchange != nil else {
            // The server sent bytes without a request: their meaning is unknown.
            self.lane.forget(self)
            return self.closeChannel()
        }
        if self.mustHold {
            self.held.append(buffer)
        } else {
            self.deliver(buffer)
            self.deliverRest()
        }
    }

    /// Whether received bytes must be held back.
    private var mustHold: Bool { self.isPaused || self.isDelivering || self.isBeginning || !self.held.isEmpty }

    func channelReadComplete(context: ChannelHandlerContext) { self.readOn() }

    func readOn() {
        guard !self.isPaused, self.phase != .closed else { return }
        self.context?.read()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.phase = .closed
        self.end(.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The channel's end follows. Many servers never send close_notify; it matters only for a body without a length.
        if case .uncleanShutdown? = error as? NIOSSLError {
            self.lacksCloseNotify = true
            return
        }
        if self.phase == .opening {
            let error =
                error as? TransportError
                ?? .handshaking(with: self.peer, error, certificate: self.presentedCertificate(context))
            self.openingError = error
            self.phase = .closed
            self.breakOff(error)
            self.closeBelowTLS(context)
            return
        }
        self.end(.error(.connection(to: self.peer, broke: error)))
        self.closeChannel(afterError: context)
    }

    /// The certificate of the peer whose handshake failed, if it was received.
    private func presentedCertificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
        let pipeline = context.pipeline.syncOperations
        return (self.tunnelled ?? (try? pipeline.handler(type: NIOSSLClientHandler.self)))?.peerCertificate
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
        if self.mustHold {
            // The first cause counts: each error is followed by the end of the channel.
            if self.pendingEnd == nil { self.pendingEnd = end }
        } else {
            self.tell(end)
        }
    }

    func tell(_ end: PendingEnd) {
        switch end {
        case .error(let error):
            self.breakOff(error)
        case .eof:
            guard let exchange = self.exchange else { return }
            switch self.parser.finish() {
            case .ended where self.lacksCloseNotify:
                // An attacker on the path can close a TCP connection (RFC 9112 §9.8, RFC 8446 §6.1).
                self.breakOff(.cut(self.peer))
            case .ended:
                self.exchange = nil
                exchange.ended(trailers: HeaderFields(), cleanly: false)
            case .alreadyEnded:
                self.exchange = nil
                exchange.ended(trailers: HeaderFields(), cleanly: true)
            case .nothingBegun:
                self.breakOff(.truncated(self.peer, begun: false))
            case .truncated:
                self.breakOff(.truncated(self.peer, begun: true))
            }
        }
    }

    func breakOff(_ error: TransportError) {
        self.writer?.stop()
        guard let exchange = self.exchange else { return }
        self.exchange = nil
        let unanswered = self.isReused && !self.parser.hasBegun
        exchange.broke(error, unanswered: unanswered)
    }
}
