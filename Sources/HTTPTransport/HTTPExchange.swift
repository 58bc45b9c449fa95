internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// One request and its response, over at most two connections.
///
/// Unchecked because its variables are touched on its lane's loop only; calls from other threads hop there.
final class HTTPExchange: Exchange, @unchecked Sendable {
    private let lane: Lane
    private let request: ExchangeRequest
    private let receiver: any ExchangeReceiver
    private let origin: Origin
    private var connection: Connection?
    private var connectDeadline: Scheduled<Void>?
    /// What the engine set last; it outlives a change of connection.
    private(set) var readQuantum: Int?
    private var isOver = false
    /// Whether `start` is on the stack: the receiver must hear nothing before it returns.
    private var isStarting = false
    private var hasToldConnected = false
    private var mayRepeat: Bool

    init(_ request: ExchangeRequest, lane: Lane, receiver: any ExchangeReceiver) {
        self.request = request
        self.lane = lane
        self.receiver = receiver
        self.origin = request.url.origin
        self.readQuantum = request.readQuantum
        self.mayRepeat = request.method == "GET" || request.method == "HEAD"
    }

    /// Whether the response has no body because of the method.
    var isHeadRequest: Bool { self.request.method == "HEAD" }

    // MARK: - Starting

    func start() {
        self.isStarting = true
        defer { self.isStarting = false }
        guard !self.lane.isShutDown else { return self.fail(.cancelled(self.origin)) }
        guard let connection = self.lane.takeConnection(to: self.origin) else { return self.connect() }
        self.use(connection, isReused: true)
        self.lane.loop.execute { self.tellConnected() }
    }

    private func connect() {
        let timeout = TimeAmount.bounded(max(1, self.request.connectTimeout))
        // One deadline over name resolution, connecting and the handshake; the bootstrap's own is only for the sockets.
        self.connectDeadline = self.lane.loop.scheduleTask(in: timeout) { self.connectDeadlinePassed() }
        let future = self.lane.connect(to: self.origin, timeout: timeout)
        future.assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): self.connected(channel)
                case .failure(let error): self.connectFailed(error)
                }
            }
    }

    private func connected(_ channel: any Channel) {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: Connection.self) else {
            return self.fail(TransportError(.connect, "the connection to \(self.origin.place) broke at once"))
        }
        guard !self.isOver else { return connection.close() }
        self.connection = connection
        connection.whenReady(self)
    }

    private func connectFailed(_ error: any Error) {
        self.fail(.connecting(to: self.origin, error))
    }

    private func connectDeadlinePassed() {
        guard !self.isOver else { return }
        self.connectDeadline = nil
        let step = self.connection == nil ? "connecting" : "the TLS handshake"
        let connection = self.connection
        self.connection = nil
        connection?.close(abandoning: self)
        self.fail(.connectTimeout(self.origin, during: step))
    }

    /// The connection's handshake, if any, is done.
    func connectionIsReady(_ connection: Connection) {
        self.connectDeadline?.cancel()
        self.connectDeadline = nil
        self.tellConnected()
        guard !self.isOver else { return }
        self.use(connection, isReused: false)
    }

    private func use(_ connection: Connection, isReused: Bool) {
        guard let head = RequestHead.encode(self.request, allocator: connection.allocator) else {
            connection.release()
            return self.fail(
                TransportError(.malformed, "the request to \(self.origin.place) holds a character that is not allowed")
            )
        }
        self.connection = connection
        connection.send(head, for: self, isReused: isReused)
    }

    // MARK: - What the connection tells

    private func tellConnected() {
        guard !self.hasToldConnected, !self.isOver else { return }
        self.hasToldConnected = true
        self.receiver.exchangeConnected()
    }

    func received(head: ResponseHead) -> ReadDecision {
        self.tellConnected()
        if self.isOver { return .close }
        return self.receiver.exchangeReceived(head: head)
    }

    func received(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.receiver.exchangeReceived(body: body)
    }

    /// The response is complete; the connection is free already.
    func ended(trailers: HTTPFields, cleanly: Bool) {
        guard !self.isOver else { return }
        self.isOver = true
        self.connection = nil
        self.receiver.exchangeEnded(trailers: trailers, cleanly: cleanly)
    }

    /// The receiver wants no more; the connection has been dealt with.
    func abandoned() {
        self.isOver = true
        self.connection = nil
    }

    /// The connection broke; `unanswered` tells whether it was a pooled one and no head had come.
    func broke(_ error: TransportError, unanswered: Bool) {
        self.connection = nil
        if unanswered, self.mayRepeat, !self.isOver, !self.lane.isShutDown {
            // The server closed the idle connection while the request was on its way (RFC 9112 §9.3.1).
            self.mayRepeat = false
            return self.connect()
        }
        var error = error
        error.onReusedConnection = unanswered
        self.fail(error)
    }

    private func fail(_ error: TransportError) {
        guard !self.isOver else { return }
        guard !self.isStarting else {
            self.lane.loop.execute { self.fail(error) }
            return
        }
        self.isOver = true
        self.connection = nil
        self.connectDeadline?.cancel()
        self.connectDeadline = nil
        self.receiver.exchangeFailed(self.lane.isShutDown ? .cancelled(self.origin) : error)
    }

    // MARK: - Exchange

    func resumeReading() { self.onLane { $0.connection?.resumeReading(of: $0) } }

    func cancel() {
        self.onLane { exchange in
            guard !exchange.isOver else { return }
            exchange.isOver = true
            exchange.connectDeadline?.cancel()
            exchange.connectDeadline = nil
            let connection = exchange.connection
            exchange.connection = nil
            connection?.close(abandoning: exchange)
        }
    }

    func setReadQuantum(_ bytes: Int?) {
        self.onLane { exchange in
            exchange.readQuantum = bytes
            exchange.connection?.setReadQuantum(bytes, of: exchange)
        }
    }

    private func onLane(_ work: @escaping @Sendable (HTTPExchange) -> Void) {
        if self.lane.loop.inEventLoop {
            work(self)
        } else {
            self.lane.loop.execute { work(self) }
        }
    }
}
