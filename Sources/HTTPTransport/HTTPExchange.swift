// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// One request and its response, over at most two connections.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. Its connection and its timers call it
/// there; calls from other threads are dispatched to it.
final class HTTPExchange: Exchange, @unchecked Sendable {
    private let lane: TransportLoop
    private let request: ExchangeRequest
    private let receiver: any ExchangeReceiver
    private let origin: Origin
    private var route: Route
    private var connection: ClientConnection?
    private var connectDeadline: Scheduled<Void>?
    /// The permit to open a connection, while it is awaited.
    private var awaitedPermit: ConnectionPermit?
    /// The value last set by the engine; it is kept when the connection changes.
    private(set) var readQuantum: Int?
    private var isOver = false
    /// Whether ``start()`` is on the stack: the receiver must not be called before it returns.
    private var isStarting = false
    private var hasToldConnected = false
    private var mayRepeat: Bool

    init(_ request: consuming ExchangeRequest, lane: TransportLoop, receiver: any ExchangeReceiver) {
        self.lane = lane
        self.receiver = receiver
        self.origin = request.url.origin
        self.route = .direct(self.origin)
        self.readQuantum = request.readQuantum
        // RFC 9110 §9.2.2 allows other methods; their sender can better decide whether to repeat the request.
        self.mayRepeat =
            request.body == nil && request.content == nil
            && (request.method == "GET" || request.method == "HEAD")
        self.request = request
    }

    /// Whether the method is HEAD, so the response has no content.
    var isHeadRequest: Bool { self.request.method == "HEAD" }

    // MARK: - Starting

    func start() {
        self.isStarting = true
        defer { self.isStarting = false }
        guard !self.lane.isShutDown else { return self.fail(.cancelled(Peer(self.origin))) }
        if !self.lane.isDirect {
            do {
                self.route = try self.lane.route(for: self.request.url)
            } catch {
                return self.fail(TransportError(.proxySettings, error.message))
            }
        }
        if let denial = self.denialOfName { return self.fail(.unusable(denial, for: Peer(self.origin))) }
        guard let connection = self.pooledConnection() else { return self.connect() }
        self.use(connection, isReused: true)
        self.lane.loop.execute { self.tellConnected() }
    }

    /// The rule for the address of a connection; `nil` if it may have any.
    ///
    /// A proxy that the user has set up is not judged.
    private var addressRule: AddressRule? {
        guard let rule = self.request.addresses else { return nil }
        if case .direct = self.route { return rule }
        return rule.judgesProxies ? rule : nil
    }

    /// The denial of a host that a proxy would resolve, if that is known from the name alone.
    private var denialOfName: UnusableAddress? {
        guard let rule = self.request.addresses else { return nil }
        if case .direct = self.route { return nil }
        return rule.refusal(ofHost: self.origin.host, port: self.origin.port)
            .map { .denied(self.origin.host, $0) }
    }

    /// Takes an idle connection from the pool, unless a request without this one's rule has opened it.
    private func pooledConnection() -> ClientConnection? {
        guard let connection = self.lane.takeConnection(over: self.route) else { return nil }
        guard let rule = self.addressRule else { return connection }
        let hop = self.route.firstHop.origin
        guard let address = connection.remoteAddress, rule.refusal(of: address, host: hop.host, port: hop.port) == nil
        else {
            connection.release()
            return nil
        }
        return connection
    }

    /// Opens a connection, as soon as the limits permit another one.
    private func connect() {
        guard let connections = self.lane.openConnections, let host = self.route.host else {
            return self.connect(nil)
        }
        let (permit, isOpen) = connections.request(host, on: self.lane) { permit in
            self.awaitedPermit = nil
            self.lane.finished(self)
            self.connect(permit)
        }
        if isOpen { return self.connect(permit) }
        self.awaitedPermit = permit
        self.lane.began(self)
    }

    private func connect(_ permit: ConnectionPermit?) {
        let timeout = TimeAmount.bounded(max(1, self.request.connectTimeout))
        // One deadline for name resolution, connecting and handshakes; the bootstrap's timeout covers only connecting.
        self.connectDeadline = self.lane.loop.scheduleTask(in: timeout) { self.connectDeadlinePassed() }
        self.lane.began(self)
        let future = self.lane.connect(
            over: self.route,
            userAgent: self.userAgentForTunnel,
            timeout: timeout,
            addresses: self.addressRule,
            timeline: self.connectionReceiver.map { _ in ConnectionTimeline() }
        )
        future.assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): self.connected(channel, permit)
                case .failure(let error):
                    permit?.end()
                    self.connectFailed(error)
                }
            }
    }

    private var userAgentForTunnel: String? {
        if case .tunnelled = self.route { self.request.fields["User-Agent"] } else { nil }
    }

    private func connected(_ channel: any Channel, _ permit: ConnectionPermit?) {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: ClientConnection.self) else {
            permit?.end()
            return self.fail(TransportError(.connect, "the connection to \(self.route.firstHop.place) was lost"))
        }
        connection.permit = permit
        permit?.connection = connection
        guard !self.isOver else { return connection.close() }
        self.connection = connection
        connection.whenReady(self)
    }

    private func endConnecting() {
        if let permit = self.awaitedPermit {
            self.awaitedPermit = nil
            permit.withdraw()
            self.lane.finished(self)
        }
        guard let deadline = self.connectDeadline else { return }
        self.connectDeadline = nil
        deadline.cancel()
        self.lane.finished(self)
    }

    /// Fails an exchange that is still connecting, because the transport is shut down.
    func shutDown() { self.fail(.cancelled(Peer(self.origin))) }

    private func connectFailed(_ error: any Error) {
        self.lane.connectFailed(over: self.route)
        self.fail(.connecting(to: self.route.firstHop, error))
    }

    private func connectDeadlinePassed() {
        guard !self.isOver else { return }
        let connection = self.connection
        let step = connection?.openingStep ?? "connecting"
        let peer = connection?.peer ?? self.route.firstHop
        if connection == nil { self.lane.connectFailed(over: self.route) }
        self.connection = nil
        connection?.close(abandoning: self)
        self.fail(.connectTimeout(peer, during: step))
    }

    /// The connection can send requests.
    func connectionIsReady(_ connection: ClientConnection) {
        self.endConnecting()
        if self.hasToldConnected { self.report(connection) }
        self.tellConnected()
        guard !self.isOver else { return }
        self.use(connection, isReused: false)
    }

    private func use(_ connection: ClientConnection, isReused: Bool) {
        guard let head = self.encodedHead(connection.allocator) else {
            connection.release()
            return self.fail(
                TransportError(
                    .malformed,
                    "the request to \(Peer(self.origin).place) contains an invalid character"
                )
            )
        }
        self.connection = connection
        connection.send(head, of: self.request, for: self, isReused: isReused)
    }

    private func encodedHead(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        guard case .forwarded(let proxy) = self.route else {
            return RequestHeadEncoder.encode(self.request, allocator: allocator)
        }
        return RequestHeadEncoder.encode(self.request, forwardedBy: proxy, allocator: allocator)
    }

    // MARK: - Connection events

    private func tellConnected() {
        guard !self.hasToldConnected, !self.isOver else { return }
        self.hasToldConnected = true
        if self.lane.reportsConnections, let connection = self.connection { self.report(connection) }
        self.receiver.exchangeConnected()
    }

    /// The receiver, if it gets reports about connections.
    private var connectionReceiver: (any ConnectionReceiver)? {
        self.lane.reportsConnections ? self.receiver as? any ConnectionReceiver : nil
    }

    private func report(_ connection: ClientConnection) {
        self.connectionReceiver?.exchangeUses(connection.makeReport())
    }

    func received(head: ResponseHead) -> ReadDecision {
        self.tellConnected()
        if self.isOver { return .close }
        if head.status == 407, case .forwarded(let proxy) = self.route {
            self.connection?.close(abandoning: self)
            self.fail(.proxyAuthentication(proxy, head.fields))
            return .close
        }
        guard head.status >= 400, self.origin.scheme == .https, self.lane.lacksClientCertificate,
            Self.refusals.contains(head.status)
        else { return self.receiver.exchangeReceived(head: head) }
        var head = head
        head.lacksClientCertificate = true
        return self.receiver.exchangeReceived(head: head)
    }

    /// The statuses by which servers refuse a request without a client certificate; 495 and 496 are nginx's own.
    private static let refusals: Set<Int> = [400, 401, 403, 495, 496]

    func received(interim status: Int, _ fields: HeaderFields) {
        self.tellConnected()
        if !self.isOver { self.receiver.exchangeReceived(interim: status, fields: fields) }
    }

    func received(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.receiver.exchangeReceived(body: body)
    }

    /// The response is complete; the connection was released already.
    func ended(trailers: HeaderFields, cleanly: Bool) {
        guard !self.isOver else { return }
        self.isOver = true
        self.connection = nil
        self.receiver.exchangeEnded(trailers: trailers, cleanly: cleanly)
    }

    /// The receiver wants no more content; the caller closes or releases the connection.
    func abandoned() {
        self.isOver = true
        self.connection = nil
    }

    /// The connection broke; `unanswered` is true if it was a reused one and no response head was received.
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
        self.endConnecting()
        var error = self.lane.isShutDown ? .cancelled(Peer(self.origin)) : error
        error.peer = error.peer ?? self.route.responder.origin
        self.receiver.exchangeFailed(error)
    }

    // MARK: - Exchange

    func resumeReading() { self.onLane { $0.connection?.resumeReading(of: $0) } }

    func cancel() {
        self.onLane { exchange in
            guard !exchange.isOver else { return }
            exchange.isOver = true
            exchange.endConnecting()
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
