internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TransferCore
internal import TransferEngine

/// One event loop and the connections that live on it.
///
/// Unchecked because its variables are touched on its loop only.
final class Lane: @unchecked Sendable {
    let loop: any EventLoop
    let configuration: HTTPTransport.Configuration
    /// Whether the transport has been shut down: what breaks now breaks because of that.
    private(set) var isShutDown = false
    private let tls: TLSSettings
    private var pool: ConnectionPool
    private var isSweeping = false

    /// The most bytes of one read where no quantum is set.
    static let defaultReadSize = 64 * 1024

    init(loop: any EventLoop, configuration: HTTPTransport.Configuration, tls: TLSSettings) {
        self.loop = loop
        self.configuration = configuration
        self.tls = tls
        self.pool = ConnectionPool(maximumPerHost: configuration.maximumIdlePerHost)
    }

    /// Takes an unused connection to an origin.
    func takeConnection(to origin: Origin) -> Connection? { self.pool.take(origin) }

    /// Keeps a connection for the next request; returns false where it is not wanted.
    func keep(_ connection: Connection) -> Bool {
        guard !self.isShutDown, self.pool.keep(connection) else { return false }
        self.scheduleSweep()
        return true
    }

    /// Forgets an unused connection that ended.
    func forget(_ connection: Connection) { self.pool.remove(connection) }

    /// Begins to connect; the handshake may still have to be done when the connection is there.
    func connect(to origin: Origin, timeout: TimeAmount) -> EventLoopFuture<any Channel> {
        let address = try? SocketAddress(ipAddress: origin.host, port: origin.port)
        let serverName = address == nil ? Self.serverName(origin.host) : nil
        let bootstrap = ClientBootstrap(group: self.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.defaultReadSize))
            .connectTimeout(timeout)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if origin.scheme == .https {
                        try pipeline.addHandler(try self.tls.makeHandler(serverName: serverName))
                    }
                    try pipeline.addHandler(Connection(to: origin, lane: self))
                }
            }
        if let address { return bootstrap.connect(to: address) }
        return bootstrap.connect(host: origin.host, port: origin.port)
    }

    /// The name as a certificate has it: without the dot that ends an absolute name.
    private static func serverName(_ host: String) -> String {
        host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    /// Closes unused connections; what the group closes later fails as cancelled.
    func shutDown() {
        self.isShutDown = true
        self.closeIdle(since: .distantFuture)
    }

    private func scheduleSweep() {
        guard !self.isSweeping else { return }
        self.isSweeping = true
        // Half the timeout: a connection is closed at most half a timeout late, with one timer for all of them.
        self.loop.scheduleTask(in: .bounded(max(1, self.configuration.idleTimeout / 2))) {
            self.isSweeping = false
            self.closeIdle(since: .now() - .bounded(self.configuration.idleTimeout))
            if !self.pool.isEmpty { self.scheduleSweep() }
        }
    }

    private func closeIdle(since deadline: NIODeadline) {
        for connection in self.pool.removeAll(idleSince: deadline) { connection.close() }
    }
}
