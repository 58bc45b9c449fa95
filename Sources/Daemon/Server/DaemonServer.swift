internal import Control
internal import NIOCore
internal import NIOPosix
internal import Synchronization
package import Logging
internal import ServiceLifecycle

/// The daemon's server: JSON-RPC, WebSockets, events and metrics, on TCP and on a Unix socket.
///
/// It has one event loop of its own, so that answering and moving data do not wait for each other.
package final class DaemonServer: Service {
    /// Where the server is reached.
    package struct Bound: Sendable, Hashable {
        /// The TCP address with the port that was taken, or `nil` for none.
        package var listen: ServerConfiguration.Listen?
        /// The Unix socket's path, or `nil` for none.
        package var socketPath: String?
    }

    private struct State {
        var group: ServiceGroup?
        var isStopped = false
    }

    private let configuration: ServerConfiguration
    private let service: any TransferService
    private let health: @Sendable () -> String?
    private let onReady: @Sendable (Bound) -> Void
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a server; nothing happens before ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: How it is reached, and what it allows.
    ///   - service: What is done for those who ask.
    ///   - logger: Where it writes what people should know.
    ///   - health: Why the daemon is not well, for `/health`; `nil` where it is.
    ///   - onReady: Called once, when every address is listened on.
    package init(
        configuration: ServerConfiguration,
        service: any TransferService,
        logger: Logger,
        health: @escaping @Sendable () -> String? = { nil },
        onReady: @escaping @Sendable (Bound) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.service = service
        self.logger = logger
        self.health = health
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or shut down gracefully, or ``stop()`` is called.
    ///
    /// TCP is bound first, and the Unix socket is not made where that fails.
    ///
    /// - Throws: ``ServerError``; with `addressInUse` nothing else is wrong, and it may be run without TCP.
    package func run() async throws {
        guard self.configuration.listen == nil || self.configuration.token?.isEmpty == false else {
            throw ServerError(.tokenMissing, "TCP is not listened on without a token", remedy: "give one")
        }
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let result: Result<Void, any Error>
        do {
            try await self.serve(loops)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try? await loops.shutdownGracefully()
        try result.get()
    }

    /// Ends it: connections that are idle at once, others after their answer, event streams and WebSockets too.
    package func stop() async {
        let group = self.state.withLock { state in
            state.isStopped = true
            return state.group
        }
        await group?.triggerGracefulShutdown()
    }

    private func serve(_ loops: MultiThreadedEventLoopGroup) async throws {
        let listeners = Listeners(
            parts: ServerParts(
                configuration: self.configuration,
                service: self.service,
                health: self.health,
                logger: self.logger
            ),
            loops: loops,
            logger: self.logger,
            onReady: self.onReady
        )
        var group = ServiceGroupConfiguration(
            services: [.init(service: listeners, successTerminationBehavior: .gracefullyShutdownGroup)],
            logger: self.logger
        )
        // A call that hangs must not keep the daemon from stopping.
        group.maximumGracefulShutdownDuration = .seconds(3)
        let services = ServiceGroup(configuration: group)
        let isStopped = self.state.withLock { state in
            state.group = services
            return state.isStopped
        }
        guard !isStopped else { return }
        try await services.run()
    }
}
