import Synchronization
public import TransferCore
public import TransferEngine

/// One exchange of a ``ScriptedTransport``.
public final class ScriptedExchange: Exchange {
    private struct State {
        var isConnected = false
        var isPaused = false
        var isCancelled = false
        var hasEnded = false
        var pauseCount = 0
        var resumeCount = 0
        var deliveredBytes: Int64 = 0
        var readQuantum: Int?
        var decisions: [ReadDecision] = []
        /// Whether the receiver resumed while it was being called: that takes back the pause it answers.
        var resumedWhileDelivering = false
        var content: [UInt8] = []
        var contentEnd: ContentEnd?
        var isAwaitingContent = false
    }

    /// How a request's content ended.
    public enum ContentEnd: Sendable {
        /// It was all given.
        case whole
        /// Its source failed.
        case failed
    }

    /// What was asked for.
    public let request: ExchangeRequest
    /// The lane on which its receiver is called.
    public let lane: Int

    private let receiver: any ExchangeReceiver
    private unowned let transport: ScriptedTransport
    private let state: Mutex<State>

    init(request: ExchangeRequest, lane: Int, receiver: any ExchangeReceiver, transport: ScriptedTransport) {
        self.request = request
        self.lane = lane
        self.receiver = receiver
        self.transport = transport
        self.state = Mutex(State(readQuantum: request.readQuantum))
    }

    /// Whether the receiver asked for a pause and has not gone on since.
    public var isPaused: Bool { self.state.withLock { $0.isPaused } }
    /// Whether the engine cancelled it or answered `close`.
    public var isCancelled: Bool { self.state.withLock { $0.isCancelled } }
    /// Whether it ended in any way.
    public var hasEnded: Bool { self.state.withLock { $0.hasEnded } }
    /// How often the receiver answered `pause`.
    public var pauseCount: Int { self.state.withLock { $0.pauseCount } }
    /// How often `resumeReading()` was called.
    public var resumeCount: Int { self.state.withLock { $0.resumeCount } }
    /// The bytes of body that the receiver was given.
    public var deliveredBytes: Int64 { self.state.withLock { $0.deliveredBytes } }
    /// The read quantum that holds now.
    public var readQuantum: Int? { self.state.withLock { $0.readQuantum } }
    /// Every answer of the receiver, in order.
    public var decisions: [ReadDecision] { self.state.withLock { $0.decisions } }
    /// The request's field of this name.
    public subscript(name: StaticString) -> String? { self.request.fields[name] }

    // MARK: What the engine calls

    /// Records that reading may go on.
    public func resumeReading() {
        self.state.withLock { state in
            state.isPaused = false
            state.resumedWhileDelivering = true
            state.resumeCount += 1
        }
    }

    /// Ends the exchange; the receiver hears nothing more.
    public func cancel() {
        self.state.withLock { state in
            guard !state.hasEnded else { return }
            state.isCancelled = true
            state.hasEnded = true
        }
    }

    /// Records the read quantum.
    public func setReadQuantum(_ bytes: Int?) {
        self.state.withLock { $0.readQuantum = bytes }
    }

    // MARK: What the test calls, as the server

    /// The connection is made.
    public func connect() {
        self.onLane { $0.connectNow() }
    }

    /// The response's head arrives; connects first where that has not happened.
    public func respond(_ head: ResponseHead) {
        self.onLane { exchange in
            exchange.connectNow()
            exchange.state.withLock { $0.resumedWhileDelivering = false }
            exchange.take(exchange.receiver.exchangeReceived(head: head))
        }
    }

    /// The response's head arrives.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The fields; where `Content-Length` is among them it frames the body.
    ///   - framing: The framing, where `Content-Length` does not tell it.
    public func respond(_ status: Int, _ fields: HTTPFields = [:], framing: BodyFraming = .chunked) {
        let length = fields["Content-Length"].flatMap { Int64($0) }
        self.respond(ResponseHead(status: status, fields: fields, framing: length.map { .length($0) } ?? framing))
    }

    /// Bytes of the body arrive, also while reading is paused, as a real transport may deliver what it had read.
    public func body(_ bytes: [UInt8]) {
        self.onLane { exchange in
            exchange.state.withLock { state in
                state.deliveredBytes += Int64(bytes.count)
                state.resumedWhileDelivering = false
            }
            exchange.take(bytes.withUnsafeBytes { exchange.receiver.exchangeReceived(body: $0) })
        }
    }

    /// Bytes of a pattern arrive, in pieces of at most `piece` bytes, until the receiver pauses or ends.
    ///
    /// - Returns: The offset after the last byte that was delivered.
    @discardableResult
    public func body(_ pattern: TestPattern, _ range: Range<Int64>, piece: Int64 = 16 * 1024) -> Int64 {
        var offset = range.lowerBound
        while offset < range.upperBound, !self.isPaused, !self.hasEnded {
            let end = min(offset + piece, range.upperBound)
            self.body(pattern.bytes(offset..<end))
            offset = end
        }
        return offset
    }

    /// The request's content as far as it was pulled.
    public var content: [UInt8] { self.state.withLock { $0.content } }

    /// How the request's content ended; `nil` while more is to come.
    public var contentEnd: ContentEnd? { self.state.withLock { $0.contentEnd } }

    /// Pulls the request's content, until so many bytes of it are there, it has ended, or it is waited for.
    ///
    /// - Returns: All of it so far.
    @discardableResult
    public func pull(_ most: Int = .max) -> [UInt8] {
        self.onLane { exchange in
            exchange.connectNow()
            exchange.pullNow(most)
        }
        return self.content
    }

    private func pullNow(_ most: Int) {
        guard let content = self.request.content else { return }
        while self.content.count < most, self.contentEnd == nil, !self.hasEnded {
            if let length = content.length, Int64(self.content.count) == length {
                return self.state.withLock { $0.contentEnd = .whole }
            }
            let mayAsk = self.state.withLock { state in
                defer { state.isAwaitingContent = true }
                return !state.isAwaitingContent
            }
            guard mayAsk else { return }
            let piece = content.next { piece in
                self.onLane { exchange in
                    exchange.take(piece, of: content)
                    exchange.pullNow(most)
                }
            }
            guard let piece else { return }
            self.take(piece, of: content)
        }
    }

    private func take(_ piece: ContentPiece, of content: any RequestContent) {
        var bytes: [UInt8] = []
        switch piece {
        case .bytes(let given): bytes = given
        case .file(let file, let offset, let count):
            bytes = [UInt8](repeating: 0, count: count)
            let got = bytes.withUnsafeMutableBytes { (try? file.read(into: $0, at: offset)) ?? 0 }
            if got != count { self.state.withLock { $0.contentEnd = .failed } }
        case .end: self.state.withLock { $0.contentEnd = .whole }
        case .failed: self.state.withLock { $0.contentEnd = .failed }
        }
        self.state.withLock { state in
            state.isAwaitingContent = false
            state.content += bytes
        }
        if !bytes.isEmpty { content.sent(bytes.count) }
    }

    /// An interim response arrives.
    public func interim(_ status: Int, _ fields: HTTPFields = [:]) {
        self.onLane { exchange in
            exchange.connectNow()
            exchange.receiver.exchangeReceived(interim: status, fields: fields)
        }
    }

    /// The response is complete.
    public func end(trailers: HTTPFields = [:], cleanly: Bool = true) {
        self.onLane { exchange in
            exchange.state.withLock { $0.hasEnded = true }
            exchange.receiver.exchangeEnded(trailers: trailers, cleanly: cleanly)
        }
    }

    /// The exchange breaks.
    public func fail(_ error: TransportError) {
        self.onLane { exchange in
            exchange.state.withLock { $0.hasEnded = true }
            exchange.receiver.exchangeFailed(error)
        }
    }

    private func connectNow() {
        let isFirst = self.state.withLock { state in
            defer { state.isConnected = true }
            return !state.isConnected
        }
        if isFirst { self.receiver.exchangeConnected() }
    }

    private func take(_ decision: ReadDecision) {
        self.state.withLock { state in
            state.decisions.append(decision)
            switch decision {
            case .read: break
            case .pause:
                state.isPaused = !state.resumedWhileDelivering
                state.pauseCount += 1
            case .close:
                state.isCancelled = true
                state.hasEnded = true
            }
        }
    }

    /// Does something on the lane, unless the exchange has ended: nothing is delivered after that.
    private func onLane(_ work: @escaping @Sendable (ScriptedExchange) -> Void) {
        self.transport.execute(onLane: self.lane) {
            if !self.hasEnded { work(self) }
        }
    }
}
