// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Platform
package import NIOPosix
package import NIOSSL
package import TransferCore

/// An HTTP/1.1 server on one address.
///
/// A program serves several addresses by several listeners, which may share event loops. A listener runs from
/// ``start(_:_:on:)`` to ``stop(grace:)`` and cannot be restarted.
package final class HTTPListener: Sendable {
    package enum Address: Sendable, Hashable {
        /// A host name or address, and a port; 0 selects a free one.
        case tcp(host: String, port: Int)
        /// The path of a Unix socket; only processes of this process's user and of root can connect.
        case unix(path: String)
    }

    /// The treatment of connections beyond the limit.
    package enum Excess: Sendable, Hashable {
        /// The connection that has been without a request for the longest time is closed; if there is none, the new client
        /// gets a 503 response.
        case closeIdle
        /// The oldest connection without an authenticated client is closed; if there is none, the new client gets a 503
        /// response. A part of the places is reserved for authenticated clients.
        case closeUnauthenticated(reserve: Int)
        /// The client waits until another connection ends.
        case wait
    }

    /// The address and the limits of a listener.
    package struct Configuration: Sendable {
        package var address: Address
        /// The timeouts of its connections.
        package var times: ConnectionTimes
        /// The limits of request heads.
        package var parser = RequestParser.Limits()
        /// The maximum number of concurrent connections.
        package var connections = 4096
        /// The treatment of connections beyond the limit.
        package var excess = Excess.closeIdle
        /// The TLS context, or `nil` for plain HTTP.
        package var tls: NIOSSLContext?
        /// The threads for blocking work.
        package var pool: NIOThreadPool

        /// Creates a configuration.
        package init(address: Address, times: ConnectionTimes, pool: NIOThreadPool) {
            self.address = address
            self.times = times
            self.pool = pool
        }
    }

    private let core: ListenerCore
    private let channel: any Channel

    private init(_ core: ListenerCore, _ channel: any Channel) {
        self.core = core
        self.channel = channel
    }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - configuration: The address and the limits.
    ///   - application: The handler of requests.
    ///   - group: The event loops of the connections.
    /// - Returns: The running listener.
    /// - Throws: `IOError` or another error of NIO if the address cannot be bound.
    package static func start(
        _ configuration: Configuration,
        _ application: any HTTPApplication,
        on group: MultiThreadedEventLoopGroup
    ) async throws -> HTTPListener {
        let core = ListenerCore(configuration, application)
        let isUnix = if case .unix = configuration.address { true } else { false }
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelInitializer { channel in Self.initialize(listening: channel, configuration) }
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 4096, maximum: 256 << 10)
            )
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in Self.initialize(accepted: channel, core, isLocal: isUnix) }
        // One at a time, so that the limit holds.
        if configuration.excess == .wait { bootstrap = bootstrap.serverChannelOption(.maxMessagesPerRead, value: 1) }
        switch configuration.address {
        case .tcp(let host, let port):
            bootstrap =
                bootstrap
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            return HTTPListener(core, try await bootstrap.bind(host: host, port: port).get())
        case .unix(let path):
            return HTTPListener(
                core,
                try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            )
        }
    }

    private static func initialize(
        listening channel: any Channel,
        _ configuration: Configuration
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(AcceptPauseHandler())
            if configuration.excess == .wait {
                try pipeline.addHandler(AcceptLimitHandler(limit: configuration.connections))
            }
        }
    }

    private static func initialize(
        accepted channel: any Channel,
        _ core: ListenerCore,
        isLocal: Bool
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            guard !isLocal || PeerUser.isPermitted(channel) else {
                throw IOError(errnoCode: EACCES, reason: "the peer belongs to another user")
            }
            guard let standing = core.opened(channel) else {
                try pipeline.addHandler(ConnectionRefusal())
                return
            }
            // Also runs if the channel closes before it is used.
            channel.closeFuture.whenComplete { _ in core.closed(channel) }
            if let tls = core.configuration.tls {
                try pipeline.addHandlers(EvictionHandler(), NIOSSLServerHandler(context: tls))
            }
            let loop = channel.eventLoop
            try pipeline.addHandler(HTTPConnection(core: core, eventLoop: loop, isLocal: isLocal, standing: standing))
        }
    }

    /// The bound port, or `nil` for a Unix socket.
    package var port: Int? { self.channel.localAddress?.port }

    /// Whether all connections are closed and all handlers have returned.
    package var isIdle: Bool { self.core.isIdle }

    /// Whether all connections are closed; handlers can still run.
    package var hasNoConnection: Bool { self.core.connections.isEmpty }

    /// Stops: accepts no connection, closes idle ones, event streams and WebSockets, and lets running requests finish.
    ///
    /// - Parameter grace: The maximum time that running requests get.
    package func stop(grace: Duration) async {
        try? await self.channel.close()
        for channel in self.core.connections { channel.pipeline.fireUserInboundEventTriggered(HTTPConnection.Stop()) }
        let clock = ContinuousClock()
        await self.waitUntilIdle(clock.now + grace)
        // All at once: over TLS, each close may wait for the client's close_notify.
        let ends = self.core.connections.map { $0.close() }
        for end in ends { try? await end.get() }
        self.core.cancelTasks()
        await self.waitUntilIdle(clock.now + .seconds(2))
    }

    private func waitUntilIdle(_ deadline: ContinuousClock.Instant) async {
        while !self.core.isIdle, ContinuousClock.now < deadline { try? await Task.sleep(for: .milliseconds(10)) }
    }
}
