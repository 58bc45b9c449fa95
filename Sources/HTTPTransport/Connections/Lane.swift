internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// One event loop as one transport uses it, and the transport's connections that live on it.
///
/// Unchecked because its variables are touched on its loop only.
final class Lane: @unchecked Sendable {
    let loop: any EventLoop
    let configuration: HTTPTransport.Configuration
    /// Whether no request goes through a proxy.
    let isDirect: Bool
    /// Whether the transport has been shut down: what breaks now breaks because of that.
    private(set) var isShutDown = false
    /// Whether the transport is gone: what still runs comes to its end, but nobody will want its connection.
    private var isAbandoned = false
    /// Kept so that the threads last as long as a connection.
    private let loops: SharedLoops
    private let tls: TLSSettings
    private var pool: ConnectionPool
    private var sweep: Scheduled<Void>?
    /// Every connection that is open or being opened.
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// The exchanges that are connecting.
    private var connecting: [ObjectIdentifier: HTTPExchange] = [:]

    /// The most bytes of one read where no quantum is set.
    static let defaultReadSize = 64 * 1024

    init(loop: any EventLoop, of loops: SharedLoops, configuration: HTTPTransport.Configuration, tls: TLSSettings) {
        self.loop = loop
        self.loops = loops
        self.configuration = configuration
        self.isDirect = configuration.proxy.isDirect
        self.tls = tls
        self.pool = ConnectionPool(maximumPerHost: configuration.maximumIdlePerHost)
    }

    /// Runs work on the lane's loop, from any thread, unless the threads end.
    func execute(_ work: @escaping @Sendable () -> Void) { self.loops.execute(on: self.loop, work) }

    // MARK: - Connections

    /// The way to a URL.
    ///
    /// - Throws: `ProxyError` where the proxy that was asked for cannot be used.
    func route(for url: HTTPURL) throws(ProxyError) -> Route {
        guard let proxy = try self.configuration.proxy.proxy(for: url) else { return .direct(url.origin) }
        return url.scheme == .http ? .forwarded(proxy) : .tunnelled(url.origin, proxy)
    }

    /// The proxy through which a URL is requested; from any thread.
    func proxy(for url: HTTPURL) -> Origin? {
        if self.isDirect { return nil }
        return (try? self.configuration.proxy.proxy(for: url)).flatMap { $0 }?.origin
    }

    /// Takes an unused connection over a route.
    func takeConnection(over route: Route) -> Connection? { self.pool.take(route) }

    /// Keeps a connection for the next request; returns false where it is not wanted.
    func keep(_ connection: Connection) -> Bool {
        guard !self.isShutDown, !self.isAbandoned, self.pool.keep(connection) else { return false }
        self.scheduleSweep()
        return true
    }

    /// Forgets an unused connection that ended.
    func forget(_ connection: Connection) { self.pool.remove(connection) }

    /// Takes note of a connection that is being opened.
    func opened(_ connection: Connection) { self.connections[ObjectIdentifier(connection)] = connection }

    /// Takes note of a connection's end.
    func closed(_ connection: Connection) { self.connections[ObjectIdentifier(connection)] = nil }

    /// Takes note of an exchange that connects.
    func began(_ exchange: HTTPExchange) { self.connecting[ObjectIdentifier(exchange)] = exchange }

    /// Takes note of an exchange that connects no more.
    func finished(_ exchange: HTTPExchange) { self.connecting[ObjectIdentifier(exchange)] = nil }

    /// Begins to connect; a tunnel and the handshake may still have to be done when the connection is there.
    func connect(over route: Route, userAgent: String?, timeout: TimeAmount) -> EventLoopFuture<any Channel> {
        let hop = route.firstHop
        let address = try? SocketAddress(ipAddress: hop.origin.host, port: hop.origin.port)
        let bootstrap = ClientBootstrap(group: self.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.defaultReadSize))
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try self.addHandlers(to: channel.pipeline.syncOperations, route, userAgent)
                }
            }
        if let address { return bootstrap.connect(to: address) }
        return bootstrap.connect(host: hop.origin.host, port: hop.origin.port)
    }

    private func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        _ route: Route,
        _ userAgent: String?
    ) throws {
        switch route {
        case .direct(let origin):
            guard origin.scheme == .https else { return try pipeline.addHandler(Connection(over: route, lane: self)) }
            let (handler, check) = try self.tls.makeHandler(for: origin, isTunnelled: false)
            try pipeline.addHandler(handler)
            try pipeline.addHandler(Connection(over: route, certificateCheck: check, lane: self))
        case .forwarded(let proxy):
            if proxy.origin.scheme == .https { try pipeline.addHandler(self.tls.makeHandler(for: proxy)) }
            try pipeline.addHandler(Connection(over: route, lane: self))
        case .tunnelled(let origin, let proxy):
            if proxy.origin.scheme == .https {
                try pipeline.addHandler(self.tls.makeHandler(for: proxy))
                try pipeline.addHandler(ProxyShutdownFilter())
            }
            let (handler, check) = try self.tls.makeHandler(for: origin, isTunnelled: true)
            let connection = Connection(over: route, certificateCheck: check, lane: self)
            let tunnel = TunnelHandler(
                to: origin,
                by: proxy,
                userAgent: userAgent,
                inside: handler,
                maximumHeadSize: self.configuration.maximumHeadSize,
                connection: connection
            )
            try pipeline.addHandler(tunnel)
            try pipeline.addHandler(connection)
        }
    }

    // MARK: - Ends

    /// Closes every connection; the exchanges that still run fail as cancelled.
    func shutDown() {
        self.isShutDown = true
        self.sweep?.cancel()
        self.sweep = nil
        self.closeIdle(since: .distantFuture)
        for exchange in Array(self.connecting.values) { exchange.shutDown() }
        for connection in Array(self.connections.values) { connection.shutDown() }
    }

    /// Closes the unused connections and keeps none any more: the transport is gone without having been shut down.
    func abandon() {
        self.isAbandoned = true
        self.sweep?.cancel()
        self.sweep = nil
        self.closeIdle(since: .distantFuture)
    }

    private func scheduleSweep() {
        guard self.sweep == nil else { return }
        // Half the timeout: a connection is closed at most half a timeout late, with one timer for all of them.
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
