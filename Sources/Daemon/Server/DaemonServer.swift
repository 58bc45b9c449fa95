// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import NIOCore
internal import NIOPosix
internal import Synchronization
package import Logging
internal import ServiceLifecycle

/// The daemon's server: JSON-RPC, WebSockets, events and metrics, on TCP and on a Unix socket.
///
/// It has a separate event loop, so that RPC calls and transfers do not delay each other.
package final class DaemonServer: Service {
    /// The addresses on which the server listens.
    package struct Bound: Sendable, Hashable {
        /// The TCP address with the bound port, or `nil` for none.
        package var listen: ServerConfiguration.Listen?
        /// The Unix socket's path, or `nil` for none.
        package var socketPath: String?
    }

    private struct State {
        var end: AsyncStream<Void>.Continuation?
        var isStopped = false
    }

    /// The time that running calls get when the server stops: one that hangs must not keep the daemon from stopping.
    private static let grace = Duration.seconds(3)

    private let configuration: ServerConfiguration
    private let service: any TransferService
    private let health: @Sendable () -> DaemonHealth
    private let onBound: @Sendable () -> Void
    private let onReady: @Sendable (Bound) -> Void
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a server; it opens no socket before ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: Its addresses, permissions and limits.
    ///   - service: The daemon's operations.
    ///   - logger: The logger.
    ///   - health: Returns the daemon's health, for `/health`.
    ///   - onBound: Called once, before clients can find the Unix socket.
    ///   - onReady: Called once, when all sockets listen.
    package init(
        configuration: ServerConfiguration,
        service: any TransferService,
        logger: Logger,
        health: @escaping @Sendable () -> DaemonHealth = { .ok },
        onBound: @escaping @Sendable () -> Void = {},
        onReady: @escaping @Sendable (Bound) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.service = service
        self.logger = logger
        self.health = health
        self.onBound = onBound
        self.onReady = onReady
    }

    /// Serves until the task is cancelled or shut down gracefully, or ``stop()`` is called.
    ///
    /// TCP is bound first; if that fails, the Unix socket is not created.
    ///
    /// - Throws: ``ServerError``; after `addressInUse` a server without TCP may be run instead.
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

    /// Stops the server: closes idle connections, event streams and WebSockets at once, others after their response.
    package func stop() async {
        let end = self.state.withLock { state in
            state.isStopped = true
            return state.end
        }
        end?.finish()
    }

    private func serve(_ loops: MultiThreadedEventLoopGroup) async throws {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let isStopped = self.state.withLock { state in
            state.end = end
            return state.isStopped
        }
        guard !isStopped else { return }
        let parts = ServerParts(
            configuration: self.configuration,
            service: self.service,
            health: self.health,
            logger: self.logger
        )
        let listeners = try await DaemonListeners.start(parts, on: loops, onBound: self.onBound)
        self.onReady(listeners.bound)
        await withGracefulShutdownHandler {
            // Ends with the cancellation of this task, too.
            for await _ in ended {}
        } onGracefulShutdown: {
            end.finish()
        }
        await listeners.stop(grace: Self.grace)
    }
}
