// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOCore
internal import NIOPosix
internal import Platform
internal import TransferCore

/// The listeners of the daemon's server: TCP, then the Unix socket.
struct DaemonListeners: Sendable {
    /// The addresses.
    let bound: DaemonServer.Bound
    private let listeners: [HTTPListener]
    private let socket: LocalSocket?

    /// Starts to listen on the configured addresses.
    ///
    /// - Parameters:
    ///   - parts: The state that all requests share.
    ///   - loops: The event loop.
    ///   - onBound: Called when the addresses are bound, before the Unix socket, by which clients find the daemon, is
    ///     there.
    /// - Returns: The listeners.
    /// - Throws: ``ServerError``; nothing listens then.
    static func start(
        _ parts: ServerParts,
        on loops: MultiThreadedEventLoopGroup,
        onBound: () -> Void = {}
    ) async throws(ServerError) -> DaemonListeners {
        var bound = DaemonServer.Bound()
        var listeners: [HTTPListener] = []
        if var listen = parts.configuration.listen {
            do {
                let listener = try await self.start(parts, .tcp(host: listen.host, port: listen.port), loops)
                listeners.append(listener)
                listen.port = listener.port ?? listen.port
            } catch {
                throw self.error(error, listen)
            }
            bound.listen = listen
            parts.page?.bound(listen)
        }
        var socket = parts.configuration.socketPath.map { LocalSocket($0) }
        do {
            if let path = socket?.provisional {
                listeners.append(try await self.start(parts, .unix(path: path), loops))
                onBound()
                try socket?.publish()
                bound.socketPath = socket?.path
            }
        } catch {
            for listener in listeners { await listener.stop(grace: .zero) }
            throw self.error(error, socket: parts.configuration.socketPath ?? "")
        }
        return DaemonListeners(bound: bound, listeners: listeners, socket: socket)
    }

    /// Stops all listeners.
    ///
    /// - Parameter grace: The maximum time that running calls get.
    func stop(grace: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            for listener in self.listeners { group.addTask { await listener.stop(grace: grace) } }
        }
        self.socket?.remove()
    }

    private static func start(
        _ parts: ServerParts,
        _ address: HTTPListener.Address,
        _ loops: MultiThreadedEventLoopGroup
    ) async throws -> HTTPListener {
        let isLocal = if case .unix = address { true } else { false }
        let limits = parts.configuration.limits
        let requestTime = TimeAmount(limits.requestTime)
        var configuration = HTTPListener.Configuration(
            address: address,
            times: ConnectionTimes(
                head: requestTime,
                keepAlive: requestTime,
                idle: requestTime,
                stall: TimeAmount(limits.stallTime),
                upload: requestTime
            ),
            pool: NIOThreadPool.singleton
        )
        configuration.parser.headBytes = limits.head
        // Calls over GET are in the target.
        configuration.parser.targetBytes = limits.head
        if isLocal {
            configuration.connections = limits.localConnections
            configuration.excess = .wait
        } else {
            configuration.connections = limits.connections
            configuration.excess = .closeUnauthenticated(reserve: limits.connections / 4)
            configuration.times.unauthenticated = TimeAmount(limits.unauthenticatedTime)
        }
        return try await HTTPListener.start(configuration, DaemonApplication(parts, isLocal: isLocal), on: loops)
    }

    private static func error(_ error: any Error, _ address: ServerConfiguration.Listen) -> ServerError {
        guard (error as? IOError)?.errnoCode == EADDRINUSE else {
            return ServerError(.cannotListen, "\(address): \(error)", remedy: "choose another --listen address")
        }
        return ServerError(
            .addressInUse,
            "\(address) is in use",
            remedy: "stop the other program, or choose another --listen address"
        )
    }

    private static func error(_ error: any Error, socket path: String) -> ServerError {
        if let error = error as? ServerError { return error }
        return ServerError(
            .cannotMakeSocket,
            "\(path): \(error)",
            remedy: "the directory must be there and writable, and the path at most 107 bytes long"
        )
    }
}
