// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import Platform
internal import QueueStore
internal import ServiceLifecycle
internal import UnixSignals

/// Assembles the components of the daemon and runs them.
package enum DaemonProcess {
    /// Runs until a signal or a client stops the daemon.
    ///
    /// - Throws: ``ControlError`` if it cannot start; the error of a service that ends early.
    package static func run(_ settings: DaemonSettings) async throws {
        try self.prepare()
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = settings.logLevel
            return handler
        }
        let logger = Logger(label: "martletd")
        try settings.state.make()
        guard let lock = try DaemonLock.take(settings.state.lockPath) else {
            // Two clients may start a daemon at the same time: the second one uses the first.
            if settings.isDetached { return }
            let holder = DaemonLock.holder(of: settings.state.lockPath).map { " (process \($0))" } ?? ""
            throw ControlError(
                .storage,
                "another daemon\(holder) is running for \(settings.state.path)",
                remedy: "use that daemon, stop it with martlet stop, or choose another --state-dir"
            )
        }
        defer { lock.release() }
        let notifier = ServiceNotifier(environment: StateDirectory.environment)
        let hooks = HookRunner(settings.hooks, logger: logger)
        try settings.checkRemembered()
        let server: ServerConfiguration
        do throws(ControlError) {
            server = try Self.serverConfiguration(settings)
        } catch {
            throw settings.explained(error)
        }
        settings.announce(to: logger)
        if let token = server.token, TokenStrength.isGuessable(token) {
            logger.warning(
                "the token is short or simple, so that it can be guessed",
                metadata: ["remedy": "choose 20 or more random characters, or let the daemon generate a token"]
            )
        }
        let core = try await Self.openCore(settings, hooks, logger)
        let counts = core.counts
        logger.notice(
            "the queue is open",
            metadata: [
                "state-dir": "\(settings.state.path)", "waiting": "\(counts.waiting)", "paused": "\(counts.paused)",
                "process": "\(getpid())",
            ]
        )
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: QueueService(core: core, notifier: notifier),
                    successTerminationBehavior: .gracefullyShutdownGroup
                ),
                .init(service: WatchdogService(notifier: notifier), successTerminationBehavior: .ignore),
                .init(
                    service: ServerService(
                        core: core,
                        configuration: server,
                        mayDoWithoutTCP: settings.mayDoWithoutTCP,
                        notifier: notifier,
                        logger: logger,
                        onBound: { settings.remember(logger) }
                    )
                ),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = .seconds(20)
        let second = Task {
            // The first signal is also the service group's.
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint).dropFirst() {
                core.stop(isForced: true)
            }
        }
        defer { second.cancel() }
        let result: Result<Void, any Error>
        do {
            try await ServiceGroup(configuration: configuration).run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        hooks.stop()
        // However the services ended, acknowledged changes are written before the process exits.
        core.stop(isForced: false)
        await core.waitUntilStopped()
        do {
            try result.get()
            logger.notice("stopped")
        } catch let error as ServerError {
            throw settings.explained(ControlError(.unreachable, error.message, remedy: error.remedy))
        }
    }

    private static func openCore(
        _ settings: DaemonSettings,
        _ hooks: HookRunner,
        _ logger: Logger
    ) async throws(ControlError) -> DaemonCore {
        var configuration = CoreConfiguration(stateDirectory: settings.state.path, directory: settings.directory)
        configuration.options = settings.options
        configuration.allowedAddresses = settings.allowedAddresses
        configuration.logger = logger
        configuration.notifier = DesktopNotifier(environment: StateDirectory.environment, logger: logger)
        configuration.mostAtOnce = DescriptorShares(limit: DescriptorLimits.current?.soft).transfers
        if !settings.hooks.isEmpty { configuration.onEvent = { hooks.handle($0) } }
        let store: QueueStore
        do throws(QueueStoreError) {
            store = try QueueStore(path: settings.state.databasePath)
        } catch {
            throw ControlError(.storage, error.message)
        }
        return try await DaemonCore.open(configuration, store: store)
    }

    private static func serverConfiguration(_ settings: DaemonSettings) throws(ControlError) -> ServerConfiguration {
        var configuration = ServerConfiguration(directory: settings.directory)
        configuration.socketPath = try settings.state.makeSocketDirectory()
        configuration.moreRoots = settings.allowedDirectories
        configuration.deniedAddresses = settings.deniedAddresses
        configuration.allowedOrigins = settings.allowedOrigins
        configuration.allowedHosts = settings.allowedHosts
        configuration.allowsOpenNotifications = settings.allowsOpenNotifications
        configuration.stateDirectory = settings.state.path
        configuration.started = CoreClock().now()
        let shares = DescriptorShares(limit: DescriptorLimits.current?.soft)
        configuration.limits.connections = shares.connections
        configuration.limits.localConnections = shares.localConnections
        if case .tcp(let host, let port, _) = settings.listening {
            configuration.listen = .init(host: host, port: port)
            configuration.token = try settings.token()
        }
        return configuration
    }

    /// The minimum number of descriptors: one transfer at a time can run, and one client can be served.
    private static let neededDescriptors = 32

    /// Sets process-wide state: signals, malloc arenas and the limit of file descriptors.
    ///
    /// - Throws: ``ControlError`` with `tooMuch` if the process may have too few descriptors.
    private static func prepare() throws(ControlError) {
        _ = signal(SIGPIPE, SIG_IGN)
        _ = signal(SIGHUP, SIG_IGN)
        // Otherwise each thread retains the memory that it has freed.
        MemoryAllocator.limitArenas(to: 2)
        let limit = DescriptorLimits.raise()
        guard limit >= Self.neededDescriptors else {
            throw ControlError(
                .tooMuch,
                "the limit of open files is \(limit), at least \(Self.neededDescriptors) are needed",
                remedy: "raise it (ulimit -n, or LimitNOFILE= of the service)"
            )
        }
    }
}

extension DaemonSettings {
    /// Whether the daemon runs without TCP if the address is in use: only if the user did not choose the address.
    var mayDoWithoutTCP: Bool { if case .tcp(_, _, let isDefault) = self.listening { isDefault } else { false } }
}
