// SPDX-License-Identifier: Apache-2.0
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
        /// Whether reading was resumed during the receiver's call, which overrides a returned `pause`.
        var resumedWhileDelivering = false
        var content: [UInt8] = []
        var contentEnd: ContentEnd?
        var isAwaitingContent = false
        /// Called when reading may continue or the exchange has ended.
        var whenReadable: (@Sendable () -> Void)?
        /// Called when the request's content or the exchange has ended.
        var whenContentEnds: (@Sendable () -> Void)?
    }

    /// Runs work on a lane, as ``ScriptedTransport/execute(onLane:_:)``.
    typealias Execute = @Sendable (_ lane: Int, _ work: @escaping @Sendable () -> Void) -> Void

    /// The way in which a request's content ended.
    public enum ContentEnd: Sendable {
        /// All content was pulled.
        case whole
        /// Its source failed.
        case failed
    }

    /// The request.
    public let request: ExchangeRequest
    /// The lane on which its receiver is called.
    public let lane: Int

    private let receiver: any ExchangeReceiver
    private let execute: Execute
    private let state: Mutex<State>

    init(request: ExchangeRequest, lane: Int, receiver: any ExchangeReceiver, execute: @escaping Execute) {
        self.request = request
        self.lane = lane
        self.receiver = receiver
        self.execute = execute
        self.state = Mutex(State(readQuantum: request.readQuantum))
    }

    /// Whether the receiver returned `pause` and reading has not been resumed since.
    public var isPaused: Bool { self.state.withLock { $0.isPaused } }
    /// Whether the engine cancelled it, or the receiver returned `close`.
    public var isCancelled: Bool { self.state.withLock { $0.isCancelled } }
    /// Whether it has ended for any reason.
    public var hasEnded: Bool { self.state.withLock { $0.hasEnded } }
    /// The number of times that the receiver returned `pause`.
    public var pauseCount: Int { self.state.withLock { $0.pauseCount } }
    /// The number of calls of `resumeReading()`.
    public var resumeCount: Int { self.state.withLock { $0.resumeCount } }
    /// The number of bytes of body delivered to the receiver.
    public var deliveredBytes: Int64 { self.state.withLock { $0.deliveredBytes } }
    /// The current read quantum.
    public var readQuantum: Int? { self.state.withLock { $0.readQuantum } }
    /// All decisions that the receiver returned, in order.
    public var decisions: [ReadDecision] { self.state.withLock { $0.decisions } }
    /// The request's field with this name.
    public subscript(name: String) -> String? { self.request.fields[name] }

    // MARK: What the engine calls

    /// Records that reading may continue.
    public func resumeReading() {
        let work = self.state.withLock { state in
            state.isPaused = false
            state.resumedWhileDelivering = true
            state.resumeCount += 1
            defer { state.whenReadable = nil }
            return state.whenReadable
        }
        work?()
    }

    /// Ends the exchange; the receiver is not called again.
    public func cancel() {
        self.state.withLock { state in
            guard !state.hasEnded else { return }
            state.isCancelled = true
            state.hasEnded = true
        }
        self.resumeWaiters()
    }

    /// Records the read quantum.
    public func setReadQuantum(_ bytes: Int?) {
        self.state.withLock { $0.readQuantum = bytes }
    }

    // MARK: What the test calls, as the server

    /// Reports that the connection is established.
    public func connect() {
        self.onLane { $0.connectNow() }
    }

    /// Delivers the response's head; connects first if necessary.
    public func respond(_ head: ResponseHead) {
        self.onLane { exchange in
            exchange.connectNow()
            exchange.state.withLock { $0.resumedWhileDelivering = false }
            exchange.take(exchange.receiver.exchangeReceived(head: head))
        }
    }

    /// Delivers the response's head.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The fields; `Content-Length`, if present, frames the body.
    ///   - framing: The framing if there is no `Content-Length`.
    public func respond(_ status: Int, _ fields: HeaderFields = [:], framing: BodyFraming = .chunked) {
        let length = fields["Content-Length"].flatMap { Int64($0) }
        self.respond(ResponseHead(status: status, fields: fields, framing: length.map { .length($0) } ?? framing))
    }

    /// Delivers bytes of the body, also while reading is paused, as a real transport may deliver bytes already read.
    public func body(_ bytes: [UInt8]) {
        self.onLane { exchange in
            exchange.state.withLock { state in
                state.deliveredBytes += Int64(bytes.count)
                state.resumedWhileDelivering = false
            }
            exchange.take(bytes.withUnsafeBytes { exchange.receiver.exchangeReceived(body: $0) })
        }
    }

    /// Delivers bytes of a pattern, in pieces of at most `piece` bytes, until the receiver pauses or the exchange ends.
    ///
    /// - Returns: The offset after the last delivered byte.
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

    /// The content of the request pulled so far.
    public var content: [UInt8] { self.state.withLock { $0.content } }

    /// The end of the request's content, or `nil` before it.
    public var contentEnd: ContentEnd? { self.state.withLock { $0.contentEnd } }

    /// Pulls the request's content until `most` bytes were pulled, it has ended, or the next piece is pending.
    ///
    /// - Returns: The content pulled so far.
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
        defer { if self.contentEnd != nil { self.resumeContentWaiter() } }
        while self.content.count < most, self.contentEnd == nil, !self.hasEnded {
            if let length = content.length, length > 0, Int64(self.content.count) == length {
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
            if got != count {
                // As from a connection, nothing of it is sent.
                self.state.withLock { $0.contentEnd = .failed }
                bytes = []
            }
        case .afterwards: break
        case .end: self.state.withLock { $0.contentEnd = .whole }
        case .failed: self.state.withLock { $0.contentEnd = .failed }
        }
        self.state.withLock { state in
            state.isAwaitingContent = false
            state.content += bytes
        }
        if !bytes.isEmpty { content.sent(bytes.count) }
    }

    /// Delivers an interim response.
    public func interim(_ status: Int, _ fields: HeaderFields = [:]) {
        self.onLane { exchange in
            exchange.connectNow()
            exchange.receiver.exchangeReceived(interim: status, fields: fields)
        }
    }

    /// Completes the response.
    public func end(trailers: HeaderFields = [:], cleanly: Bool = true) {
        self.onLane { exchange in
            exchange.state.withLock { $0.hasEnded = true }
            exchange.resumeWaiters()
            exchange.receiver.exchangeEnded(trailers: trailers, cleanly: cleanly)
        }
    }

    /// Fails the exchange.
    public func fail(_ error: TransportError) {
        self.onLane { exchange in
            exchange.state.withLock { $0.hasEnded = true }
            exchange.resumeWaiters()
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

    /// Runs `work` on the lane, unless the exchange has ended: nothing is delivered after its end.
    private func onLane(_ work: @escaping @Sendable (ScriptedExchange) -> Void) {
        self.execute(self.lane) {
            if !self.hasEnded { work(self) }
        }
    }

    // MARK: Scripts that wait

    /// Pulls all of the request's content.
    ///
    /// - Returns: The content, or `nil` if its source failed or the exchange ended before.
    func wholeContent() async -> [UInt8]? {
        guard self.request.content != nil else { return self.request.body ?? [] }
        await withCheckedContinuation { continuation in
            self.state.withLock { $0.whenContentEnds = { continuation.resume() } }
            self.pull()
            if self.hasEnded { self.resumeContentWaiter() }
        }
        return self.contentEnd == .whole ? self.content : nil
    }

    /// Returns when everything before was delivered and the receiver reads.
    ///
    /// - Returns: Whether the exchange has not ended.
    func isReadable() async -> Bool {
        await withCheckedContinuation { continuation in
            self.execute(self.lane) {
                let isWaiting = self.state.withLock { state in
                    guard state.isPaused, !state.hasEnded else { return false }
                    state.whenReadable = { continuation.resume() }
                    return true
                }
                if !isWaiting { continuation.resume() }
            }
        }
        return !self.hasEnded
    }

    private func resumeWaiters() {
        self.resumeContentWaiter()
        let work = self.state.withLock { state in
            defer { state.whenReadable = nil }
            return state.whenReadable
        }
        work?()
    }

    private func resumeContentWaiter() {
        let work = self.state.withLock { state in
            defer { state.whenContentEnds = nil }
            return state.whenContentEnds
        }
        work?()
    }
}
