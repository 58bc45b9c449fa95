internal import FileStorage
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import TransferCore

/// A server that hands files out and takes files in: `martlet serve`.
///
/// What it serves is one directory, and files that links were made for. It is made, started once, and stopped once.
public final class Receiver: Sendable {
    /// Where it listens: the port that was found where 0 was asked for.
    public let address: ListenAddress
    /// The links to the files of ``ReceiverConfiguration/shares``, in their order: paths to put behind the address.
    public let sharePaths: [String]

    private let core: ReceiverCore
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let chores: [RepeatedTask]

    private init(
        address: ListenAddress,
        sharePaths: [String],
        core: ReceiverCore,
        group: MultiThreadedEventLoopGroup,
        channel: any Channel,
        chores: [RepeatedTask]
    ) {
        self.address = address
        self.sharePaths = sharePaths
        self.core = core
        self.group = group
        self.channel = channel
        self.chores = chores
    }

    /// Opens the directory, and listens.
    ///
    /// - Parameters:
    ///   - configuration: What is served, where, and to whom.
    ///   - log: Where requests are written down, or `nil`.
    /// - Returns: The running receiver.
    /// - Throws: ``ReceiverError``: the address is taken, the directory is missing, credentials are missing where they are
    ///   mandatory, the certificate cannot be used.
    public static func start(
        _ configuration: ReceiverConfiguration,
        log: AccessLog? = nil
    ) async throws(ReceiverError) -> Receiver {
        try Self.check(configuration)
        let tls = try configuration.certificate.map { (certificate) throws(ReceiverError) in
            try TLSContext.make(certificate)
        }
        var tree: ServedTree?
        if let directory = configuration.directory {
            tree = try ServedTree(directory, servesHidden: configuration.servesHidden)
        }
        let shares = try ShareTable(configuration.shares, now: Timestamp.now)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.loops ?? System.coreCount)
        let pool = NIOThreadPool(numberOfThreads: 8)
        pool.start()
        let area: UploadArea?
        do throws(ReceiverError) {
            area = try tree.flatMap { (tree) throws(ReceiverError) in
                configuration.takesUploads ? try UploadArea(tree, configuration, pool: pool) : nil
            }
        } catch {
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw error
        }
        area?.sweep(now: Timestamp.now, isFirst: true)
        let core = ReceiverCore(
            configuration: configuration,
            tree: tree,
            area: area,
            shares: shares,
            access: Self.access(configuration),
            router: Router(),
            pool: pool,
            log: log
        )
        let channel: any Channel
        do {
            channel = try await Self.bind(core, group, tls)
        } catch {
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw Self.cannotListen(configuration.listen, error)
        }
        var address = configuration.listen
        if let port = channel.localAddress?.port { address.port = port }
        var chores: [RepeatedTask] = []
        if let log {
            chores.append(
                group.next()
                    .scheduleRepeatedTask(initialDelay: .milliseconds(200), delay: .milliseconds(200)) { _ in
                        pool.submit { _ in log.flush() }
                    }
            )
        }
        if let area {
            chores.append(
                group.next()
                    .scheduleRepeatedTask(initialDelay: .minutes(1), delay: .minutes(1)) { _ in
                        pool.submit { _ in area.sweep(now: Timestamp.now, isFirst: false) }
                    }
            )
        }
        return Receiver(
            address: address,
            sharePaths: shares.paths,
            core: core,
            group: group,
            channel: channel,
            chores: chores
        )
    }

    /// Stops: no further connection is taken, idle ones end, running requests go on for the configured grace at most.
    public func stop() async {
        try? await self.channel.close()
        for channel in self.core.connections {
            channel.pipeline.fireUserInboundEventTriggered(ConnectionHandler.Stop())
        }
        let clock = ContinuousClock()
        let deadline = clock.now + self.core.configuration.limits.grace
        while !self.core.connections.isEmpty, clock.now < deadline { try? await Task.sleep(for: .milliseconds(10)) }
        // All at once: over TLS each may wait for the client's goodbye.
        let ends = self.core.connections.map { $0.close() }
        for end in ends { try? await end.get() }
        for chore in self.chores { chore.cancel() }
        // What was given to it before runs to its end, a file that is being synced; it answers on the loops.
        try? await self.core.pool.shutdownGracefully()
        try? await self.group.shutdownGracefully()
        self.core.area?.close()
        self.core.log?.flush()
    }

    private static func check(_ configuration: ReceiverConfiguration) throws(ReceiverError) {
        if let records = configuration.records, records.cookies.contains(configuration.sessionCookie) {
            throw ReceiverError(
                .credentials,
                "the session cookie \(configuration.sessionCookie) is a credential, which is not kept; choose another"
            )
        }
        guard configuration.listen.isLoopback || !configuration.credentials.isEmpty || configuration.directory == nil
        else {
            throw ReceiverError(
                .credentials,
                "\(configuration.listen) can be reached from the network, so credentials are needed: name a file with "
                    + "--credentials or --token-file, or listen on 127.0.0.1"
            )
        }
    }

    private static func access(_ configuration: ReceiverConfiguration) -> AccessControl {
        AccessControl(
            credentials: configuration.credentials,
            open: configuration.credentials.isEmpty ? .all : [],
            policy: RequestPolicy(
                listenHost: configuration.listen.host,
                allowedHosts: configuration.allowedHosts,
                allowedOrigins: configuration.allowedOrigins,
                hearsAnyHost: !configuration.listen.isLoopback
            ),
            sessionCookie: configuration.sessionCookie
        )
    }

    private static func bind(
        _ core: ReceiverCore,
        _ group: MultiThreadedEventLoopGroup,
        _ tls: NIOSSLContext?
    ) async throws -> any Channel {
        let listen = core.configuration.listen
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Without descriptors the connection that waits keeps the socket readable: it rests.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let rest = AcceptBackoffHandler(shouldForwardIOErrorCaught: false) { _ in .milliseconds(200) }
                    try channel.pipeline.syncOperations.addHandler(rest)
                }
            }
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 4096, maximum: 256 << 10)
            )
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 256 << 10, high: 1 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    guard core.opened(channel) else {
                        try pipeline.addHandler(FullHouse())
                        return
                    }
                    // Also where it is closed before it could be used.
                    channel.closeFuture.whenComplete { _ in core.closed(channel) }
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.addHandler(
                        ConnectionHandler(core: core, eventLoop: channel.eventLoop, isSecure: tls != nil)
                    )
                }
            }
            .bind(host: listen.host, port: listen.port)
            .get()
    }

    private static func cannotListen(_ address: ListenAddress, _ error: any Error) -> ReceiverError {
        let number = (error as? IOError)?.errnoCode
        switch number {
        case EADDRINUSE:
            return ReceiverError(
                .address,
                "port \(address.port) of \(address.host) is taken by another program; choose another, or port 0 for a free one"
            )
        case EACCES:
            return ReceiverError(.address, "port \(address.port) needs privileges; choose one above 1023")
        case EADDRNOTAVAIL:
            return ReceiverError(.address, "\(address.host) is no address of this machine; choose one that is")
        default:
            let reason = number.map { String(cString: strerror($0)) } ?? "\(error)"
            return ReceiverError(.address, "cannot listen on \(address): \(reason)")
        }
    }
}
