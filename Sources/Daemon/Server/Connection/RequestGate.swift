internal import NIOCore
internal import NIOHTTP1
internal import TransferCore

/// The first to see each request: refuses those of strangers, takes off what nobody here speaks, and keeps the time.
///
/// It answers for itself what never comes to a route: requests that cannot be parsed, and those whose `Host` or `Origin`
/// is not allowed. It leaves the pipeline when the connection becomes a WebSocket.
final class RequestGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let policy: RequestPolicy?
    private let allowedTime: TimeAmount
    private let keepAlive: TimeAmount
    private let front: ConnectionFront
    private let metrics: ServerMetrics
    private var clock: Scheduled<Void>?
    /// The origins of the requests that are still to be answered, in their order.
    private var unanswered: [String?] = []
    private var hasBegunAnswer = false
    private var isEventStream = false
    private var closesAfterAnswer = false
    private var isRefused = false
    private var isFirst = true
    /// Whether a WebSocket was asked for: once the parser has gone, what passes here is no HTTP any more.
    private var isUpgrading = false
    /// Whether the parser will not take another request after this one.
    private var isParserDone = false

    /// Creates one.
    ///
    /// - Parameters:
    ///   - policy: Who is heard; `nil` is everybody.
    ///   - limits: The times to be kept.
    ///   - front: The handler that sees what comes in before it is parsed.
    ///   - metrics: Where refusals are counted.
    init(policy: RequestPolicy?, limits: ServerLimits, front: ConnectionFront, metrics: ServerMetrics) {
        self.policy = policy
        self.allowedTime = TimeAmount(limits.requestTime)
        self.keepAlive = TimeAmount(limits.keepAlive)
        self.front = front
        self.metrics = metrics
    }

    func handlerAdded(context: ChannelHandlerContext) { self.startClock(context) }
    func handlerRemoved(context: ChannelHandlerContext) { self.stopClock() }
    func channelInactive(context: ChannelHandlerContext) {
        self.stopClock()
        context.fireChannelInactive()
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isRefused else { return }
        guard !self.isUpgrading else {
            // The request's end, or the frames that a hasty peer has sent behind it.
            self.stopClock()
            context.fireChannelRead(data)
            return
        }
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.received(head, context)
        case .body: context.fireChannelRead(data)
        case .end:
            self.stopClock()
            if self.isParserDone { self.front.isDeaf = true }
            context.fireChannelRead(data)
        }
    }

    private func received(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        self.startClock(context)
        var head = head
        var origin: String?
        if let policy = self.policy {
            let verdict = policy.verdict(
                hosts: head.headers["Host"],
                origins: head.headers["Origin"],
                localAddress: context.channel.localAddress?.ipAddress
            )
            switch verdict {
            case .heard(let heard): origin = heard
            case .refused(let reason):
                self.metrics.refused()
                self.refuse(.forbidden, reason, context)
                return
            }
        }
        if self.isFirst, head.isWebSocketForUs {
            self.isUpgrading = true
        } else {
            // An upgrade that nobody takes would be waited for for ever; only the first request may ask for one.
            if head.headers.contains(name: "Upgrade") || head.method == .CONNECT {
                head.headers.remove(name: "Upgrade")
                self.isParserDone = true
                self.closesAfterAnswer = true
            }
        }
        self.isFirst = false
        if head.headers.first(name: "Expect")?.lowercased() == "100-continue", self.unanswered.isEmpty {
            context.writeAndFlush(
                self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))),
                promise: nil
            )
        }
        self.unanswered.append(origin)
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    private func refuse(_ status: HTTPResponseStatus, _ reason: String, _ context: ChannelHandlerContext) {
        self.isRefused = true
        self.stopClock()
        // In the middle of other answers there is no place for this one.
        guard self.unanswered.isEmpty else {
            context.close(promise: nil)
            return
        }
        let body = context.channel.allocator.buffer(string: reason + "\n")
        var response = HTTPResponseHead(version: .http1_1, status: status)
        response.headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
        response.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        response.headers.add(name: "Connection", value: "close")
        context.write(self.wrapOutboundOut(.head(response)), promise: nil)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        let front = NIOLoopBound(self.front, eventLoop: context.eventLoop)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil))).whenComplete { _ in front.value.end() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError, !self.isRefused {
            self.metrics.malformed()
            // Nobody else is told: they would close the connection before the peer has read this.
            self.refuse(.badRequest, "this is no HTTP request", context)
        } else {
            context.close(promise: nil)
            context.fireErrorCaught(error)
        }
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !self.isRefused else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        switch self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200 || head.status == .switchingProtocols:
            self.hasBegunAnswer = true
            self.isEventStream = head.headers.first(name: "Content-Type") == "text/event-stream"
            if self.isEventStream { self.scheduleComment(context) }
            if head.headers.first(name: "Connection") == "close" { self.closesAfterAnswer = true }
            if self.closesAfterAnswer, self.unanswered.count <= 1 {
                head.headers.replaceOrAdd(name: "Connection", value: "close")
            }
            if let origin = self.unanswered.first ?? nil {
                head.headers.replaceOrAdd(name: "Access-Control-Allow-Origin", value: origin)
                head.headers.add(name: "Vary", value: "Origin")
            }
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .end: self.answered(data, context, promise)
        case .head, .body: context.write(data, promise: promise)
        }
    }

    private func answered(_ data: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        if !self.unanswered.isEmpty { self.unanswered.removeFirst() }
        self.hasBegunAnswer = false
        self.isEventStream = false
        guard self.closesAfterAnswer, self.unanswered.isEmpty else {
            context.write(data, promise: promise)
            if self.unanswered.isEmpty { self.startClock(context) }
            return
        }
        let front = NIOLoopBound(self.front, eventLoop: context.eventLoop)
        let done = promise ?? context.eventLoop.makePromise()
        done.futureResult.whenComplete { _ in front.value.end() }
        context.writeAndFlush(data, promise: done)
    }

    // MARK: Ends

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent:
            if self.unanswered.isEmpty { context.close(promise: nil) } else { self.closesAfterAnswer = true }
        case let event as ChannelEvent where event == .inputClosed:
            // Who reads events says nothing more, but whoever has gone cannot say that either.
            if self.isEventStream || self.unanswered.isEmpty {
                context.close(promise: nil)
            } else {
                context.fireUserInboundEventTriggered(event)
            }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func startClock(_ context: ChannelHandlerContext) {
        self.stopClock()
        let channel = context.channel
        self.clock = context.eventLoop.scheduleTask(in: self.allowedTime) { channel.close(promise: nil) }
    }

    /// A comment now and then: proxies end what is silent, and only who writes learns that a peer has vanished.
    private func scheduleComment(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.clock = context.eventLoop.scheduleTask(in: self.keepAlive) {
            let (gate, context) = bound.value
            guard gate.isEventStream else { return }
            let comment = context.channel.allocator.buffer(string: ":\n\n")
            context.writeAndFlush(gate.wrapOutboundOut(.body(.byteBuffer(comment))), promise: nil)
            gate.scheduleComment(context)
        }
    }

    private func stopClock() {
        self.clock?.cancel()
        self.clock = nil
    }
}

extension HTTPRequestHead {
    /// Whether it opens a WebSocket that is taken here.
    ///
    /// - Source: RFC 6455 §4.2.1.
    fileprivate var isWebSocketForUs: Bool {
        self.method == .GET && self.version == .http1_1 && self.uri.prefix { $0 != "?" } == "/jsonrpc"
            && self.headers[canonicalForm: "Upgrade"].map { $0.lowercased() } == ["websocket"]
            && self.headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && self.headers["Sec-WebSocket-Version"] == ["13"]
            && self.headers["Sec-WebSocket-Key"].count == 1
            && !self.headers.contains(name: "Transfer-Encoding")
            && self.headers["Content-Length"].allSatisfy { $0 == "0" }
    }
}
