// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Files
internal import Platform
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import TransferCore

/// An HTTP server that serves files and accepts uploads: `martlet serve`.
///
/// It serves one directory, and single files that are shared by links. A receiver runs from ``start(_:log:)`` to
/// ``stop()`` and cannot be restarted.
public final class Receiver: Sendable {
    /// The address it listens on, with the actual port if port 0 was requested.
    public let address: ListenAddress
    /// The paths, with the base path, of the links for ``ReceiverConfiguration/shares``, in the same order.
    public let sharePaths: [String]

    let core: ReceiverCore
    private let group: MultiThreadedEventLoopGroup
    let listener: HTTPListener
    private let chores: [RepeatedTask]

    private init(
        address: ListenAddress,
        sharePaths: [String],
        core: ReceiverCore,
        group: MultiThreadedEventLoopGroup,
        listener: HTTPListener,
        chores: [RepeatedTask]
    ) {
        self.address = address
        self.sharePaths = sharePaths
        self.core = core
        self.group = group
        self.listener = listener
        self.chores = chores
    }

    /// Opens the directory and starts to listen.
    ///
    /// - Parameters:
    ///   - configuration: What to serve, where, and to which clients.
    ///   - log: The access log, or `nil` for none.
    /// - Returns: The running receiver.
    /// - Throws: ``ReceiverError`` if the address is in use, the directory is missing, required credentials are missing
    ///   or the certificate cannot be used.
    public static func start(
        _ configuration: ReceiverConfiguration,
        log: AccessLog? = nil
    ) async throws(ReceiverError) -> Receiver {
        try Self.check(configuration)
        guard let base = BasePath(parsing: configuration.basePath) else {
            throw ReceiverError(.address, "'\(configuration.basePath)' is not a base path; write /NAME or /NAME/NAME")
        }
        guard let proxies = TrustedProxies(parsing: configuration.trustedProxies) else {
            throw ReceiverError(
                .address,
                "a trusted proxy is not an address or network, such as 10.0.0.1 or 10.0.0.0/8"
            )
        }
        let tls = try configuration.certificate.map { (certificate) throws(ReceiverError) in
            do {
                return try TLSContext.make(chain: certificate.chain, key: certificate.key)
            } catch {
                throw ReceiverError(
                    .certificate,
                    "the certificate or its key cannot be used (\(error)); both must be PEM and belong together"
                )
            }
        }
        var tree: ServedTree?
        if let directory = configuration.directory {
            tree = try ServedTree(directory, servesHidden: configuration.servesHidden)
        }
        let signOuts = SignOuts(configuration.signOutStore) { Double(Timestamp.now) }
        do throws(StorageError) {
            try signOuts.open()
        } catch {
            throw ReceiverError(.signOuts, "the stored sign-outs cannot be used: \(error.message)")
        }
        let store = try Self.linkStore(configuration)
        let mayMakeLinks = store != nil || configuration.linkStore == nil
        let shares = try ShareTable(
            configuration.shares,
            store: store,
            tree: tree,
            owner: "\(configuration.listen)",
            passwordRounds: configuration.passwordRounds,
            now: Timestamp.now
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.loops ?? System.coreCount)
        let pool = NIOThreadPool(numberOfThreads: 8)
        pool.start()
        let area: UploadArea?
        do throws(ReceiverError) {
            area = try tree.flatMap { (tree) throws(ReceiverError) in
                configuration.takesUploads
                    ? try UploadArea(tree, configuration, pool: pool, links: shares) : nil
            }
        } catch {
            shares.close()
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw error
        }
        area?.sweep(now: Timestamp.now, isFirst: true)
        let access = Self.access(configuration, signOuts)
        let core = ReceiverCore(
            configuration: configuration,
            tree: tree,
            area: area,
            shares: shares,
            mayMakeLinks: mayMakeLinks,
            access: access,
            base: base,
            proxies: proxies,
            router: ReceiverRoutes(),
            pool: pool,
            log: log
        )
        core.listings.pool.start()
        pool.submit { _ in access.prepare() }
        let listener: HTTPListener
        do {
            listener = try await HTTPListener.start(Self.listening(configuration, pool, tls), core, on: group)
        } catch {
            shares.close()
            area?.close()
            try? await core.listings.pool.shutdownGracefully()
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw Self.cannotListen(configuration.listen, error)
        }
        var address = configuration.listen
        if let port = listener.port { address.port = port }
        var chores: [RepeatedTask] = []
        if let log {
            chores.append(
                group.next()
                    .scheduleRepeatedTask(initialDelay: .milliseconds(200), delay: .milliseconds(200)) { _ in
                        pool.submit { _ in log.flush() }
                    }
            )
        }
        chores.append(
            group.next()
                .scheduleRepeatedTask(initialDelay: .minutes(1), delay: .minutes(1)) { _ in
                    pool.submit { _ in
                        area?.sweep(now: Timestamp.now, isFirst: false)
                        shares.sweep(now: Timestamp.now)
                    }
                }
        )
        return Receiver(
            address: address,
            sharePaths: shares.paths.map { base.url($0) },
            core: core,
            group: group,
            listener: listener,
            chores: chores
        )
    }

    /// Stops: accepts no connection, closes idle ones, and lets running requests finish within the configured grace
    /// period.
    public func stop() async {
        await self.listener.stop(grace: self.core.configuration.limits.grace)
        for chore in self.chores { chore.cancel() }
        // Work submitted earlier runs to its end, such as the sync of a file; its completions run on the event loops.
        try? await self.core.pool.shutdownGracefully()
        try? await self.core.listings.pool.shutdownGracefully()
        try? await self.group.shutdownGracefully()
        self.core.area?.close()
        self.core.shares.close()
        self.core.log?.flush()
    }

    /// Opens the store of links; `nil` if links are not stored, or if another receiver stores them and none are offered.
    private static func linkStore(_ configuration: ReceiverConfiguration) throws(ReceiverError) -> LinkStore? {
        guard let path = configuration.linkStore else { return nil }
        do throws(ReceiverError) {
            return try LinkStore(path, isServing: true)
        } catch {
            guard error.code == .busy, configuration.shares.isEmpty, !configuration.sharesUploads else { throw error }
            return nil
        }
    }

    private static func check(_ configuration: ReceiverConfiguration) throws(ReceiverError) {
        if let records = configuration.records, records.cookies.contains(configuration.sessionCookie) {
            throw ReceiverError(
                .credentials,
                "the session cookie \(configuration.sessionCookie) is a credential, which is not kept; choose another"
            )
        }
        guard
            configuration.listen.isLoopback || !configuration.credentials.isEmpty || configuration.directory == nil
                || configuration.isPublic
        else {
            throw ReceiverError(
                .credentials,
                "\(configuration.listen) can be reached from the network, so credentials are needed: name a file with "
                    + "--credentials or --token-file, permit reading with --public-read, or listen on 127.0.0.1"
            )
        }
    }

    private static func access(_ configuration: ReceiverConfiguration, _ signOuts: SignOuts) -> AccessControl {
        AccessControl(
            credentials: configuration.credentials,
            open: configuration.isPublic ? [.read, .list] : configuration.credentials.isEmpty ? .all : [],
            policy: RequestPolicy(
                listenHost: configuration.listen.host,
                allowedHosts: configuration.allowedHosts,
                allowedOrigins: configuration.allowedOrigins,
                hearsAnyHost: !configuration.listen.isLoopback
            ),
            sessionCookie: configuration.sessionCookie,
            rounds: configuration.signInRounds,
            signOuts: signOuts,
            clock: configuration.clock
        )
    }

    private static func listening(
        _ configuration: ReceiverConfiguration,
        _ pool: NIOThreadPool,
        _ tls: NIOSSLContext?
    ) -> HTTPListener.Configuration {
        let limits = configuration.limits
        var listening = HTTPListener.Configuration(
            address: .tcp(host: configuration.listen.host, port: configuration.listen.port),
            times: ConnectionTimes(
                head: TimeAmount(limits.headTime),
                keepAlive: TimeAmount(limits.keepAlive),
                idle: TimeAmount(limits.idle),
                upload: limits.uploadTime.map { TimeAmount($0) },
                slowest: limits.slowest
            ),
            pool: pool
        )
        listening.parser = limits.parser
        listening.connections = DescriptorLimit.connections(limits.connections)
        listening.tls = tls
        return listening
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
            return ReceiverError(.address, "\(address.host) is not an address of this machine; choose one that is")
        default:
            let reason = number.map { String(cString: strerror($0)) } ?? "\(error)"
            return ReceiverError(.address, "cannot listen on \(address): \(reason)")
        }
    }
}
