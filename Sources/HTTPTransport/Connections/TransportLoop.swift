// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// The state of a transport on one event loop: its connections and their pool.
///
/// `@unchecked Sendable`: the variables are used on `loop` only, by its exchanges and connections; the transport calls it
/// there by `execute`. `proxy(for:)` reads constants.
final class TransportLoop: @unchecked Sendable {
    let loop: any EventLoop
    let configuration: HTTPTransport.Configuration
    /// Whether all requests are sent without a proxy.
    let isDirect: Bool
    /// See ``HTTPTransport/Configuration/reportsConnections``.
    let reportsConnections: Bool
    /// The open connections of all event loops; `nil` if their number has no limit.
    let openConnections: OpenConnections?
    /// Whether the transport has been shut down: all later failures are reported as cancellations.
    private(set) var isShutDown = false
    /// Whether the transport was released: running exchanges continue, but their connections are not kept.
    private var isAbandoned = false
    /// Retained so that the threads exist as long as a connection.
    private let loops: SharedLoops
    private let tls: TLSSettings
    private var pool: ConnectionPool
    private var sweep: Scheduled<Void>?
    /// All connections that are open or being opened.
    private var connections: [ObjectIdentifier: ClientConnection] = [:]
    private var connecting: [ObjectIdentifier: HTTPExchange] = [:]
    /// The names that are being resolved.
    private var queries: [ObjectIdentifier: NameQuery] = [:]

    /// Whether a server asked for a client certificate, and none is configured.
    var lacksClientCertificate: Bool { self.tls.lacksClientCertificate }

    /// The number of connections that are open or being opened.
    var connectionCount: Int { self.connections.count }

    init(
        loop: any EventLoop,
        of loops: SharedLoops,
        configuration: HTTPTransport.Configuration,
        tls: TLSSettings,
        openConnections: OpenConnections?
    ) {
        self.loop = loop
        self.openConnections = openConnections
        self.loops = loops
        self.configuration = configuration
        self.isDirect = configuration.proxy.isDirect
        self.reportsConnections = configuration.reportsConnections
        self.tls = tls
        self.pool = ConnectionPool(maximumPerHost: configuration.maximumIdlePerHost)
    }

    /// Runs work on the event loop, from any thread; the work is dropped after the threads have stopped.
    func execute(_ work: @escaping @Sendable () -> Void) { self.loops.execute(on: self.loop, work) }

    // MARK: - Connections

    /// The route to a URL.
    ///
    /// - Throws: `SyntaxError` if the configured proxy is invalid.
    func route(for url: HTTPURL) throws(SyntaxError) -> Route {
        guard let proxy = try self.configuration.proxy.proxy(for: url) else { return .direct(url.origin) }
        return url.scheme == .http ? .forwarded(proxy) : .tunnelled(url.origin, proxy)
    }

    /// The proxy for requests to a URL, or `nil`; may be called on any thread.
    func proxy(for url: HTTPURL) -> Origin? {
        if self.isDirect { return nil }
        return (try? self.configuration.proxy.proxy(for: url)).flatMap { $0 }?.origin
    }

    /// Takes an idle connection from the pool.
    func takeConnection(over route: Route) -> ClientConnection? {
        while let connection = self.pool.take(route) {
            guard let permit = connection.permit, !permit.take() else { return connection }
            // It is being closed for a request on another event loop.
            connection.close()
        }
        return nil
    }

    /// Keeps a connection for the next request; returns false if the pool does not accept it.
    func keep(_ connection: ClientConnection) -> Bool {
        guard !self.isShutDown, !self.isAbandoned, self.pool.keep(connection) else { return false }
        self.scheduleSweep()
        return true
    }

    /// Removes an idle connection that was closed.
    func forget(_ connection: ClientConnection) { self.pool.remove(connection) }

    /// Registers a connection that is being opened.
    func opened(_ connection: ClientConnection) { self.connections[ObjectIdentifier(connection)] = connection }

    /// Unregisters a closed connection.
    func closed(_ connection: ClientConnection) { self.connections[ObjectIdentifier(connection)] = nil }

    /// Registers an exchange that is connecting.
    func began(_ exchange: HTTPExchange) { self.connecting[ObjectIdentifier(exchange)] = exchange }

    /// Unregisters an exchange that has finished connecting.
    func finished(_ exchange: HTTPExchange) { self.connecting[ObjectIdentifier(exchange)] = nil }

    /// Opens a TCP connection; the tunnel and the TLS handshake may follow after the future completes.
    ///
    /// - Parameters:
    ///   - route: The route.
    ///   - userAgent: The field of a request for a tunnel.
    ///   - timeout: The time for connecting.
    ///   - addresses: The addresses to which no connection is made.
    ///   - timeline: The times of the connection, if they are to be reported.
    /// - Returns: The channel; ``UnusableAddress`` if every address of the host is denied.
    func connect(
        over route: Route,
        userAgent: String?,
        timeout: TimeAmount,
        addresses: AddressRule?,
        timeline: ConnectionTimeline?
    ) -> EventLoopFuture<any Channel> {
        let hop = route.firstHop
        let address = try? SocketAddress(ipAddress: hop.origin.host, port: hop.origin.port)
        if address != nil, let denial = UnusableAddress(hop.origin.host, of: hop.origin, by: addresses) {
            return self.loop.makeFailedFuture(denial)
        }
        if let address, let family = self.configuration.family, !family.contains(address) {
            return self.loop.makeFailedFuture(UnusableAddress.noneOf(family))
        }
        let bootstrap = ClientBootstrap(group: self.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: self.readSizes(over: route))
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.addHandlers(to: channel.pipeline.syncOperations, route, userAgent, timeline)
                }
            }
        if let address {
            timeline?.connectBegan()
            return bootstrap.connect(to: address)
        }
        let query = NameQuery(
            of: hop.origin,
            by: self.loops.names,
            addresses: addresses,
            lane: self,
            timeline: timeline
        )
        return bootstrap.resolver(query).connect(host: hop.origin.host, port: hop.origin.port)
    }

    /// The sizes of the reads without a quantum.
    func readSizes(over route: Route) -> any RecvByteBufferAllocator {
        // NIOSSL decrypts all the reads of a wake-up into one buffer, which has to stay in the processor's cache.
        if route.hasTLS { return FixedSizeRecvByteBufferAllocator(capacity: ReadSizes.initial) }
        return ReadSizes(lane: self)
    }

    /// No connection could be made over a route: the name of its first hop is looked up again the next time.
    func connectFailed(over route: Route) {
        let host = route.firstHop.origin
        if !host.isAddress { self.loops.names.addressesFailed(host.host) }
    }

    /// Registers a name resolution.
    func began(_ query: NameQuery) { self.queries[ObjectIdentifier(query)] = query }

    /// Unregisters a name resolution that has ended.
    func finished(_ query: NameQuery) { self.queries[ObjectIdentifier(query)] = nil }

    private func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        _ route: Route,
        _ userAgent: String?,
        _ timeline: ConnectionTimeline?
    ) throws {
        switch route {
        case .direct(let origin):
            var check: CertificateCheck?
            if origin.scheme == .https {
                let made = try self.tls.makeHandler(for: origin, isTunnelled: false)
                try pipeline.addHandler(made.handler)
                check = made.check
            }
            try pipeline.addHandler(
                ClientConnection(over: route, certificateCheck: check, lane: self, timeline: timeline)
            )
        case .forwarded(let proxy):
            var check: CertificateCheck?
            if proxy.origin.scheme == .https {
                let outer = try self.tls.makeHandler(for: proxy)
                try pipeline.addHandler(outer.handler)
                check = outer.check
            }
            try pipeline.addHandler(
                ClientConnection(over: route, certificateCheck: check, lane: self, timeline: timeline)
            )
        case .tunnelled(let origin, let proxy):
            var proxyCheck: CertificateCheck?
            if proxy.origin.scheme == .https {
                let outer = try self.tls.makeHandler(for: proxy)
                proxyCheck = outer.check
                try pipeline.addHandler(outer.handler)
                try pipeline.addHandler(ProxyShutdownFilter())
            }
            let (handler, check) = try self.tls.makeHandler(for: origin, isTunnelled: true)
            let connection = ClientConnection(over: route, certificateCheck: check, lane: self, timeline: timeline)
            let tunnel = TunnelHandler(
                to: origin,
                by: proxy,
                userAgent: userAgent,
                proxyCheck: proxyCheck,
                inside: handler,
                maximumHeadSize: self.configuration.maximumHeadSize,
                connection: connection
            )
            try pipeline.addHandler(tunnel)
            try pipeline.addHandler(connection)
        }
    }

    // MARK: - Shutdown

    /// Closes all connections; running exchanges fail as cancelled.
    func shutDown() {
        self.isShutDown = true
        self.sweep?.cancel()
        self.sweep = nil
        self.closeIdle(since: .distantFuture)
        for exchange in Array(self.connecting.values) { exchange.shutDown() }
        for query in Array(self.queries.values) { query.cancelQueries() }
        for connection in Array(self.connections.values) { connection.shutDown() }
    }

    /// Closes the idle connections and keeps none any more: the transport was released without a shutdown.
    func abandon() {
        self.isAbandoned = true
        self.sweep?.cancel()
        self.sweep = nil
        self.closeIdle(since: .distantFuture)
    }

    private func scheduleSweep() {
        guard self.sweep == nil else { return }
        // One timer for all connections: one is closed at most half a timeout late.
        self.sweep = self.loop.scheduleTask(in: .bounded(max(1, self.configuration.idleTimeout / 2))) {
            self.sweep = nil
            self.closeIdle(since: .now() - .bounded(self.configuration.idleTimeout))
            if !self.pool.isEmpty { self.scheduleSweep() }
        }
    }

    private func closeIdle(since deadline: NIODeadline) {
        for connection in self.pool.removeAll(idleSince: deadline) { connection.close() }
    }
}
