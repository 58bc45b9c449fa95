internal import FileStorage
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore

/// Handles one connection: parses requests, dispatches them to exchanges and sends the responses.
///
/// Runs on the connection's event loop; blocking work runs on the thread pool. Its decisions are made by
/// ``ConnectionMachine``, a value that is tested without sockets.
final class ConnectionHandler: ChannelInboundHandler, ExchangeConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = IOData

    /// The user event sent to each connection when the receiver stops.
    struct Stop: Sendable {}

    let eventLoop: any EventLoop
    private let core: ReceiverCore
    private let isSecure: Bool
    private var parser: RequestParser
    var machine: ConnectionMachine
    private var clock = WallClock()
    var context: ChannelHandlerContext?
    private var peer = "-"
    /// Received bytes, not parsed yet.
    private var input = ByteBuffer()
    private var isProcessing = false
    private var isReading = false
    private var isInputClosed = false
    /// Whether the end of the last request cannot be determined; the bytes after it cannot be parsed.
    private var isBroken = false
    private var timer: Scheduled<Void>?
    private var timerDeadline = NIODeadline.distantFuture
    /// The number of acknowledged bytes at the last check.
    var acknowledged: UInt64 = 0
    /// The number of bytes acknowledged before the content of a response with a meter.
    var acknowledgedBefore: UInt64 = 0

    // The request being answered.
    private var request: Request?
    private var exchange: (any Exchange)?
    private var holds = 0
    private var hasAnswered = false
    private var mustContinue = false
    private var bodyLeft: Int64?
    private var pump: (any ContentPump)?

    init(core: ReceiverCore, eventLoop: any EventLoop, isSecure: Bool) {
        self.core = core
        self.eventLoop = eventLoop
        self.isSecure = isSecure
        self.parser = RequestParser(limits: core.configuration.limits.parser)
        self.machine = ConnectionMachine(times: core.times, now: .now())
    }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.connected(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        self.connected(context)
        context.fireChannelActive()
    }

    private func connected(_ context: ChannelHandlerContext) {
        guard !self.isReading else { return }
        self.peer = context.remoteAddress?.ipAddress ?? "-"
        self.machine = ConnectionMachine(times: self.core.times, now: .now())
        self.arm()
        self.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        if self.machine.isLingering { return }
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
            if !self.hasAnswered { self.exchange?.inputClosed() }
            self.process()
        case is Stop:
            if self.machine.stop(now: .now()) == .close { self.end() }
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
        self.loseExchange()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Requests

    private func read() {
        guard !self.isReading, !self.isInputClosed, let context = self.context else { return }
        self.isReading = true
        context.read()
    }

    /// Parses the received bytes as far as they may be handled now.
    private func process() {
        guard !self.isProcessing else { return }
        self.isProcessing = true
        while self.holds == 0, self.machine.takesRequests, self.context != nil, self.step() {}
        self.isProcessing = false
        self.arm()
        guard self.holds == 0, self.machine.takesRequests || self.machine.isLingering else { return }
        if self.isInputClosed {
            // The rest of the request cannot arrive any more.
            self.end()
        } else {
            self.continueIfAwaited()
            self.read()
        }
    }

    /// Handles the next part of the input; returns false if more input is needed.
    private func step() -> Bool {
        guard !self.isBroken else {
            self.input.clear()
            return false
        }
        let input = self.input
        var consumed = 0
        do throws(RequestError) {
            let part =
                try input.withUnsafeReadableBytes { (bytes) -> Result<RequestParser.Part, RequestError> in
                    Result { () throws(RequestError) in try self.parser.next(bytes, consumed: &consumed) }
                }
                .get()
            self.input.moveReaderIndex(forwardBy: consumed)
            switch part {
            case .needMore:
                if self.parser.isInHead { self.machine.headBegan(now: .now()) }
                self.input.discardReadBytes()
                return false
            case .head(let head): self.headReceived(head)
            case .body(let range):
                self.machine.bodyReceived(range.count, now: .now())
                if let left = self.bodyLeft { self.bodyLeft = left - Int64(range.count) }
                guard !self.hasAnswered, let exchange = self.exchange else { return true }
                input.withUnsafeReadableBytes { exchange.received(UnsafeRawBufferPointer(rebasing: $0[range])) }
            case .end:
                self.bodyLeft = 0
                let next = self.machine.requestEnded(now: .now())
                if !self.hasAnswered { self.exchange?.ended() }
                self.follow(next)
            }
            return true
        } catch {
            self.input.clear()
            self.refuse(error)
            return false
        }
    }

    private func headReceived(_ head: RequestHead) {
        self.machine.headEnded(keepsAlive: head.keepsAlive, now: .now())
        self.hasAnswered = false
        self.mustContinue = head.expectsContinue
        self.bodyLeft = head.contentLength
        let local = self.context?.localAddress?.ipAddress
        let (request, exchange) = self.core.router.route(
            head,
            peer: self.peer,
            local: local,
            isSecure: self.isSecure,
            self.core
        )
        self.request = request
        self.exchange = exchange
        exchange.begin(self)
    }

    /// Responds to a request that cannot be parsed, and closes the connection.
    private func refuse(_ error: RequestError) {
        self.isBroken = true
        if self.machine.isBusy, !self.hasAnswered {
            self.exchange?.lost()
            self.exchange = nil
        } else if !self.machine.isBusy {
            self.machine.headEnded(keepsAlive: false, now: .now())
            self.request = nil
            self.hasAnswered = false
        }
        self.bodyLeft = nil
        var answer = Answer.message(error.status, error.message)
        answer.closes = true
        self.answer(answer)
    }

    /// Sends 100 (Continue) if the client waits for it and the exchange reads content.
    private func continueIfAwaited() {
        guard self.mustContinue, !self.hasAnswered, self.exchange != nil, self.bodyLeft != 0 else { return }
        self.mustContinue = false
        guard self.parserWantsBody else { return }
        self.interim(100, [:])
    }

    private var parserWantsBody: Bool { !self.parser.isAtStart && !self.parser.isInHead }

    private func follow(_ next: ConnectionMachine.Next) {
        switch next {
        case .wait: return
        case .nextRequest:
            self.request = nil
            self.exchange = nil
            self.process()
        case .linger:
            self.exchange = nil
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
        self.loseExchange()
        self.context?.close(promise: nil)
    }

    private func loseExchange() {
        guard let exchange = self.exchange else { return }
        self.exchange = nil
        if !self.hasAnswered { exchange.lost() }
    }

    // MARK: ExchangeConnection

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

    func interim(_ status: Int, _ fields: HeaderFields) {
        guard let context = self.context, !self.hasAnswered, self.request?.head.minorVersion != 0 else { return }
        var fields = fields
        if let request = self.request { AbsoluteLocation.resolve(&fields, status: status, request) }
        var buffer = context.channel.allocator.buffer(capacity: 256)
        AnswerHead.write(interim: status, fields, to: &buffer)
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    func abort() { self.end() }

    func blocking<Value: Sendable>(
        isListing: Bool,
        _ work: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void
    ) {
        self.hold()
        let pool = isListing ? self.core.listings.pool : self.core.pool
        pool.runIfActive(eventLoop: self.eventLoop, work).assumeIsolated()
            .whenComplete { result in
                if case .success(let value) = result { then(value) } else { self.abort() }
                self.release()
            }
    }

    func answer(_ answer: Answer) {
        guard !self.hasAnswered, let context = self.context else {
            answer.meter?.ended(arrived: 0)
            return
        }
        self.hasAnswered = true
        var answer = answer
        if let request = self.request { AbsoluteLocation.resolve(&answer.fields, status: answer.status, request) }
        if let head = self.request?.head, self.core.crossOrigin.isUsed {
            for (name, value) in self.core.crossOrigin.fields(for: head) { answer.fields.append(name, value) }
        }
        if case .stream = answer.content, self.request?.head.minorVersion == 0 { answer.closes = true }
        // A client that gets no 100 (Continue) may not send its content at all, so there is nothing to wait for.
        let mayDrain = !self.mustContinue && self.bodyLeft.map { $0 <= 256 << 10 } ?? false
        let closes = self.machine.answerBegan(closes: answer.closes, mayDrain: mayDrain, now: .now())
        if answer.meter != nil { self.beginMeasuring() }
        let writer = AnswerWriter(context: context, core: self.core, isSecure: self.isSecure)
        let sent = writer.write(
            answer,
            isHead: self.request?.head.method == "HEAD",
            isOld: self.request?.head.minorVersion == 0,
            closes: closes,
            date: self.clock.now().text
        ) { [self] pump in
            self.pump = pump
        } done: { [self, answer] bytes in
            if let bytes, answer.meter != nil {
                self.awaitArrival(answer, bytes)
            } else {
                self.answerEnded(answer, bytes)
            }
        }
        if !sent {
            answer.meter?.ended(arrived: 0)
            self.end()
        }
        self.arm()
    }

    func answerEnded(_ answer: Answer, _ bytes: Int64?) {
        self.pump = nil
        if let meter = answer.meter { meter.ended(arrived: bytes ?? self.arrived(of: answer.content.length)) }
        let now = self.clock.now().seconds
        self.core.log?.append(LogEntry(self.request, from: self.peer, time: now, status: answer.status, bytes: bytes))
        if bytes == nil { self.end() } else { self.follow(self.machine.answerEnded(now: .now())) }
    }

    // MARK: Time

    func arm() {
        let deadline = self.machine.deadline
        if self.timer != nil, self.timerDeadline <= deadline { return }
        self.timer?.cancel()
        self.timer = nil
        guard deadline < .distantFuture, self.context != nil else { return }
        self.timerDeadline = deadline
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.timerFired() }
    }

    private func timerFired() {
        self.timer = nil
        switch self.machine.timerFired(now: .now()) {
        case .wait: self.arm()
        case .close: self.end()
        case .answerTimeout:
            guard self.machine.isBusy || self.parser.isInHead else {
                self.end()
                return
            }
            if self.machine.isBusy { self.giveUpSlowSender() } else { self.refuseLateHead() }
        case .lookAtProgress: self.lookAtProgress()
        }
    }

    private func giveUpSlowSender() {
        self.exchange?.lost()
        self.exchange = nil
        self.answerLate("the content came too slowly")
    }

    private func refuseLateHead() {
        self.isBroken = true
        self.machine.headEnded(keepsAlive: false, now: .now())
        self.request = nil
        self.hasAnswered = false
        self.bodyLeft = nil
        self.answerLate("the request's head came too slowly")
    }

    private func answerLate(_ text: String) {
        var answer = Answer.message(408, text)
        answer.closes = true
        self.answer(answer)
    }
}
