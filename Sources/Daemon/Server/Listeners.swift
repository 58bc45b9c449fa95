internal import Control
internal import Platform
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle

/// Binds and runs the TCP listener, then the Unix socket.
struct Listeners: Service {
    let parts: ServerParts
    let loops: MultiThreadedEventLoopGroup
    let logger: Logger
    let onReady: @Sendable (DaemonServer.Bound) -> Void

    private var configuration: ServerConfiguration { self.parts.configuration }

    func run() async throws {
        let router = DaemonRoutes(server: self.parts).router()
        try await withThrowingTaskGroup(of: Void.self) { group in
            var bound = DaemonServer.Bound()
            if let listen = self.configuration.listen {
                let channel = try await self.start(
                    router,
                    .hostname(listen.host, port: listen.port),
                    isLocal: false,
                    in: &group
                )
                bound.listen = ServerConfiguration.Listen(
                    host: listen.host,
                    port: channel?.localAddress?.port ?? listen.port
                )
            }
            var socket = self.configuration.socketPath.map { LocalSocket($0) }
            defer { socket?.remove() }
            if let path = socket?.provisional {
                _ = try await self.start(router, .unixDomainSocket(path: path), isLocal: true, in: &group)
                try socket?.publish()
                bound.socketPath = socket?.path
            }
            self.onReady(bound)
            try await group.waitForAll()
        }
    }

    /// Runs one listener in the group, and returns its channel when it is bound.
    private func start(
        _ router: Router<DaemonRequestContext>,
        _ address: BindAddress,
        isLocal: Bool,
        in group: inout ThrowingTaskGroup<Void, any Error>
    ) async throws -> (any Channel)? {
        let (bound, continuation) = AsyncThrowingStream.makeStream(of: (any Channel).self)
        let parts = self.parts
        let limits = self.configuration.limits
        var logger = self.logger
        // The daemon's own messages replace Hummingbird's at level `info`.
        logger.logLevel = max(.notice, logger.logLevel)
        let application = Application(
            router: router,
            server: HTTPServerBuilder { responder in
                DaemonChannel(responder: responder, isLocal: isLocal, server: parts)
            },
            configuration: ApplicationConfiguration(
                address: address,
                backlog: 1024,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    isLocal ? limits.localConnections : limits.connections,
                    logger: logger
                )
            ),
            onServerRunning: { channel in
                continuation.yield(channel)
                continuation.finish()
            },
            eventLoopGroupProvider: .shared(self.loops),
            logger: logger
        )
        group.addTask {
            do {
                try await application.run()
                continuation.finish()
            } catch {
                let error = Self.error(error, address, isLocal, parts.configuration)
                continuation.finish(throwing: error)
                throw error
            }
        }
        for try await channel in bound { return channel }
        return nil
    }

    private static func error(
        _ error: any Error,
        _ address: BindAddress,
        _ isLocal: Bool,
        _ configuration: ServerConfiguration
    ) -> any Error {
        guard let cause = error as? IOError else { return error }
        if isLocal {
            return ServerError(
                .cannotMakeSocket,
                "\(configuration.socketPath ?? ""): \(cause.description)",
                remedy: "the directory must be there and writable, and the path at most 107 bytes long"
            )
        }
        guard cause.errnoCode == EADDRINUSE else {
            return ServerError(
                .cannotListen,
                "\(address): \(cause.description)",
                remedy: "choose another --listen address"
            )
        }
        return ServerError(
            .addressInUse,
            "\(address) is in use",
            remedy: "stop the other program, or choose another --listen address"
        )
    }
}
