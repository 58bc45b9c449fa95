internal import NIOCore
internal import NIOHTTP1
internal import TransferCore

/// The first handler of each request: checks `Host` and `Origin`, removes unsupported upgrades, and enforces timeouts.
///
/// It responds itself to malformed requests and to those whose `Host` or `Origin` is not allowed; they never reach a
/// route. It leaves the pipeline when the connection becomes a WebSocket.
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
    /// The origins of the requests without a complete response, in order.
    private var unanswered: [String?] = []
    private var hasBegunAnswer = false
    private var isEventStream = false
    private var closesAfterAnswer = false
    private var isRefused = false
    private var isFirst = true
    /// Whether the request is a WebSocket handshake: after the parser is removed, inbound data are not HTTP.
    private var isUpgrading = false
    /// Whether the parser does not accept another request after this one.
    private var isParserDone = false

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - policy: The allowed hosts and origins; `nil` allows all.
    ///   - limits: The timeouts.
    ///   - front: The handler of inbound bytes, before the parser.
    ///   - metrics: The counters of refused and malformed requests.
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
            // The request's end, or frames that the peer sent before the handshake's response.
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
                localAddress: context.channel.localAddress?.ipAddress,
                requiresHost: head.version != .http1_0
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
            // NIO would wait forever for an unaccepted upgrade; only the first request may upgrade.
            if head.headers.contains(name: "Upgrade") || head.method == .CONNECT {
                head.headers.remove(name: "Upgrade")
                self.isParserDone = true
                self.closesAfterAnswer = true
            }
        }
        self.isFirst = false
        // Without a field of its own, a client of HTTP/1.0 reads until the connection ends.
        if head.version == .http1_0, !head.isKeepAlive { self.closesAfterAnswer = true }
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
        // This response cannot be written between pending ones.
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
            // The error is not forwarded: other handlers would close the connection before the peer has read this.
            self.refuse(.badRequest, "this is no HTTP request", context)
        } else {
            context.close(promise: nil)
            context.fireErrorCaught(error)
        }
    }

    // MARK: Responses

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
            // A reader of events sends nothing more, so a closed input is treated as its disconnection.
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

    /// Schedules periodic comments: proxies close silent connections, and only a write detects a vanished peer.
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
    /// Whether the request is a valid WebSocket handshake for `/jsonrpc`.
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
