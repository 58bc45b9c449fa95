// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore

/// Handles one connection: parses requests, dispatches them to handlers and sends the responses.
///
/// Runs on the connection's event loop; blocking work runs on the thread pool. Its decisions are made by
/// ``ConnectionMachine``, a value that is tested without sockets.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler, RequestContext {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = IOData

    /// The user event sent to each connection when the listener stops.
    struct Stop: Sendable {}

    let eventLoop: any EventLoop
    let core: ListenerCore
    let isLocal: Bool
    let standing: ConnectionStanding
    var isSecure: Bool { self.core.configuration.tls != nil }
    var parser: RequestParser
    var machine: ConnectionMachine
    var clock = DateField()
    var context: ChannelHandlerContext?
    /// The channel in the listener's table of connections.
    private var channel: ObjectIdentifier?
    var peer = "-"
    private var localAddress: String?
    private var isFirst = true
    /// Received bytes, not parsed yet.
    var input = ByteBuffer()
    private var isProcessing = false
    private var isReading = false
    private var isInputClosed = false
    /// Whether the end of the last request cannot be determined; the bytes after it cannot be parsed.
    var isBroken = false
    var timer: Scheduled<Void>?
    var timerDeadline = NIODeadline.distantFuture
    /// The number of acknowledged bytes at the last check.
    var acknowledged: UInt64 = 0
    /// The number of bytes acknowledged before the content of a response with a meter.
    var acknowledgedBefore: UInt64 = 0

    /// The number of bytes in the channel's buffer at the last check.
    var unsent = Int.max

    // The request that is being handled.
    /// The request; `nil` if it cannot be parsed, and after its response.
    var request: Request?
    var form = ResponseForm()
    /// The response that is being sent.
    var response: Response?
    var handler: (any RequestHandler)?
    private var holds = 0
    var hasResponded = false
    var mustContinue = false
    var bodyLeft: Int64?
    var pump: (any ContentPump)?

    init(core: ListenerCore, eventLoop: any EventLoop, isLocal: Bool, standing: ConnectionStanding) {
        self.core = core
        self.eventLoop = eventLoop
        self.isLocal = isLocal
        self.standing = standing
        self.parser = RequestParser(limits: core.configuration.parser)
        self.machine = ConnectionMachine(times: core.times, now: .now())
    }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.channel = ObjectIdentifier(context.channel)
        if context.channel.isActive { self.connected(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        self.connected(context)
        context.fireChannelActive()
    }

    private func connected(_ context: ChannelHandlerContext) {
        guard !self.isReading else { return }
        self.peer = context.remoteAddress?.ipAddress ?? "-"
        self.localAddress = context.localAddress?.ipAddress
        self.machine = ConnectionMachine(times: self.core.times, now: .now())
        self.arm()
        self.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        if self.machine.isLingering || self.discardsInput { return }
        if self.input.readableBytes == 0 { self.input = bytes } else { self.input.writeBuffer(&bytes) }
        self.process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.isReading = false
        self.process()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.machine.progressed(now: .now()) }
        self.pump?.goOn()
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            // A client may half-close after its request and still expect the response.
            self.isInputClosed = true
            // A reader of events sends nothing more, so that it has disconnected.
            guard !self.isStreamingEvents else { return self.end() }
            if !self.hasResponded { self.handler?.inputClosed() }
            self.process()
        case is Stop:
            if self.machine.stop(now: .now()) == .close { self.end() } else { self.pump?.stop() }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer sent no close_notify. The end of the input follows and decides what that means for the request.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        self.end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.machine.closed()
        self.pump?.lost()
        self.pump = nil
        self.loseHandler()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Requests

    func read() {
        guard !self.isReading, !self.isInputClosed, let context = self.context else { return }
        self.isReading = true
        context.read()
    }

    /// Parses the received bytes as far as they may be handled now.
    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        while self.holds == 0, self.machine.takesRequests, self.context != nil, self.hasWork, self.step() {}
        self.isProcessing = false
        self.arm()
        guard self.holds == 0, self.machine.takesRequests || self.machine.isLingering || self.discardsInput else {
            return
        }
        if self.isInputClosed {
            // The rest of the request cannot arrive any more.
            self.end()
        } else {
            self.continueIfAwaited()
            self.read()
        }
    }

    /// Whether there is a part of the input to handle; the end of a request is one, too.
    private var hasWork: Bool { self.input.readableBytes > 0 || !self.parser.isAtStart }

    /// Handles the next part of the input; returns false if more input is needed.
    private func step() -> Bool {
        guard !self.isBroken else {
            self.input.clear()
            return false
        }
        let input = self.input
        var consumed = 0
        do throws(RequestError) {
            let part = try input.withUnsafeReadableBytes { (bytes) throws(RequestError) in
                try self.parser.next(bytes, consumed: &consumed)
            }
            self.input.moveReaderIndex(forwardBy: consumed)
            switch consume part {
            case .needMore:
                if self.parser.isInHead { self.machine.headBegan(now: .now()) }
                self.input.discardReadBytes()
                return false
            case .head(let head): self.headReceived(head)
            case .body(let range):
                self.machine.bodyReceived(range.count, now: .now())
                if let left = self.bodyLeft { self.bodyLeft = left - Int64(range.count) }
                guard !self.hasResponded, let handler = self.handler else { return true }
                input.withUnsafeReadableBytes { handler.received($0.part(range)) }
            case .end:
                self.bodyLeft = 0
                let next = self.machine.requestEnded(now: .now())
                if !self.hasResponded { self.handler?.ended() }
                self.follow(next)
            }
            return true
        } catch {
            self.input.clear()
            self.refuse(error)
            return false
        }
    }

    private func headReceived(_ head: consuming RequestHead) {
        self.machine.headEnded(keepsAlive: head.keepsAlive, now: .now())
        if let channel = self.channel { self.core.requestChanged(channel, isInProgress: true) }
        self.hasResponded = false
        self.mustContinue = head.expectsContinue
        self.bodyLeft = head.contentLength
        self.form = ResponseForm(isHead: head.method == "HEAD", isOld: head.minorVersion == 0)
        let handler: any RequestHandler
        if let target = RequestTarget(head.target) {
            var request = Request(
                head: head,
                target: target,
                peer: self.peer,
                localAddress: self.localAddress,
                isLocal: self.isLocal,
                isSecure: self.isSecure,
                isFirst: self.isFirst,
                connection: self.standing
            )
            handler = self.core.application.handler(for: &request)
            self.request = request
        } else {
            // Bytes that follow, such as those of CONNECT, are not requests to this server.
            handler = ImmediateHandler(.message(400, "this request target is not valid for a server").closing())
            self.request = nil
        }
        self.isFirst = false
        self.handler = handler
        handler.begin(self)
    }

    /// Whether a stream of events is being sent.
    private var isStreamingEvents: Bool { self.pump is WriterPump }

    /// Whether input is read and discarded: only reading shows that the client of a stream of events has disconnected.
    var discardsInput: Bool { self.isStreamingEvents && !self.machine.takesRequests }

    /// Responds to a request that cannot be parsed, and closes the connection.
    private func refuse(_ error: RequestError) {
        self.isBroken = true
        if self.machine.isBusy, !self.hasResponded {
            self.handler?.lost()
            self.handler = nil
        } else if !self.machine.isBusy {
            self.machine.headEnded(keepsAlive: false, now: .now())
            self.request = nil
            self.form = ResponseForm()
            self.hasResponded = false
        }
        self.bodyLeft = nil
        self.core.application.malformed(error)
        self.respond(.message(error.status, error.message).closing())
    }

    /// Sends 100 (Continue) if the client waits for it and the handler reads content.
    private func continueIfAwaited() {
        guard self.mustContinue, !self.hasResponded, self.handler != nil, self.bodyLeft != 0 else { return }
        self.mustContinue = false
        guard self.parserWantsBody else { return }
        self.interim(100, [:])
    }

    private var parserWantsBody: Bool { !self.parser.isAtStart && !self.parser.isInHead }

    func follow(_ next: ConnectionMachine.Next) {
        switch next {
        case .wait: return
        case .nextRequest:
            self.request = nil
            self.handler = nil
            if let channel = self.channel { self.core.requestChanged(channel, isInProgress: false) }
            self.process()
        case .linger:
            self.handler = nil
            self.input.clear()
            self.context?.close(mode: .output, promise: nil)
            self.arm()
            if self.isInputClosed { self.end() } else { self.read() }
        case .close:
            self.end()
        }
    }

    func end() {
        self.measure()
        self.loseHandler()
        self.context?.close(promise: nil)
    }

    /// Ends the handling of HTTP before the connection is used for another protocol; returns the unparsed input.
    func detach() -> ByteBuffer {
        self.timer?.cancel()
        self.timer = nil
        self.machine.closed()
        self.handler = nil
        defer { self.input.clear() }
        return self.input
    }

    private func loseHandler() {
        guard let handler = self.handler else { return }
        self.handler = nil
        if !self.hasResponded { handler.lost() }
    }

    // MARK: RequestContext

    func hold() {
        self.holds += 1
        self.machine.held(true, now: .now())
    }

    func release() {
        self.holds -= 1
        guard self.holds == 0 else { return }
        self.machine.held(false, now: .now())
        self.process()
    }

    func abort() { self.end() }

    func task(_ operation: @escaping @Sendable () async -> Void) { self.core.task(operation) }

    func blocking<Value: Sendable>(
        on pool: NIOThreadPool?,
        _ work: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {
        self.hold()
        (pool ?? self.core.pool).runIfActive(eventLoop: self.eventLoop, work).assumeIsolated()
            .whenComplete { result in
                if case .success(let value) = result { then(value) } else { self.abort() }
                self.release()
            }
    }
}
