// SPDX-License-Identifier: Apache-2.0
import HTTPServer
import NIOCore
import NIOPosix
import TransferCore
import TransferTesting

/// A listener on a free port that serves a router.
final class HTTPBench: Sendable {
    let listener: HTTPListener
    private let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Starts a listener.
    ///
    /// - Parameters:
    ///   - contentLimit: The maximum size of a request's content in bytes.
    ///   - budget: The maximum total size of the content of all requests in bytes.
    ///   - connections: The maximum number of connections.
    ///   - excess: The treatment of connections beyond the limit.
    ///   - routes: Adds the routes.
    /// - Throws: An error of NIO if no port can be bound.
    init(
        contentLimit: Int = 1000,
        budget: Int = 10_000,
        connections: Int = 4096,
        excess: HTTPListener.Excess = .closeIdle,
        _ routes: (inout Router) -> Void
    ) async throws {
        var router = Router(contentLimit: contentLimit, budget: ByteBudget(limit: budget))
        routes(&router)
        var configuration = HTTPListener.Configuration(
            address: .tcp(host: "127.0.0.1", port: 0),
            times: ConnectionTimes(head: .seconds(20), keepAlive: .seconds(20), idle: .seconds(20)),
            pool: .singleton
        )
        configuration.connections = connections
        configuration.excess = excess
        self.listener = try await HTTPListener.start(configuration, RouterApplication(router), on: self.loops)
    }

    func client() async throws -> RawConnection { try await RawConnection.connect(port: self.listener.port ?? 0) }

    func stop(grace: Duration = .seconds(20)) async {
        await self.listener.stop(grace: grace)
        try? await self.loops.shutdownGracefully()
    }
}

/// An application that is a router alone.
private final class RouterApplication: HTTPApplication {
    private let router: Router

    init(_ router: Router) { self.router = router }

    func handler(for request: inout Request) -> any RequestHandler { self.router.handler(for: request) }
}
