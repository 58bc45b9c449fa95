// SPDX-License-Identifier: Apache-2.0
import Control
import Logging
import Synchronization
import TransferTesting

@testable import Daemon

/// A server that runs for one test.
struct ServerHarness: Sendable {
    let service: MemoryService
    let port: Int
    let path: String
    let root: String
    let server: DaemonServer

    static let token = "t0p-s3cret"
    static var bearer: String { "Authorization: Bearer \(Self.token)" }

    /// Runs `body` beside a server on a free port and on a socket, and stops it.
    static func run(
        _ configure: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (ServerHarness) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let root = "\(directory.path)/downloads"
        var configuration = ServerConfiguration(
            listen: .init(port: 0),
            socketPath: "\(directory.path)/d.sock",
            token: Self.token,
            directory: root
        )
        configure(&configuration)
        let service = MemoryService(directory: root)
        let (ready, readyContinuation) = AsyncThrowingStream.makeStream(of: DaemonServer.Bound.self)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = DaemonServer(
            configuration: configuration,
            service: service,
            logger: logger,
            onReady: { bound in readyContinuation.yield(bound) }
        )
        let running = Task {
            do {
                try await server.run()
                readyContinuation.finish()
            } catch {
                readyContinuation.finish(throwing: error)
                throw error
            }
        }
        var found: DaemonServer.Bound?
        for try await bound in ready {
            found = bound
            break
        }
        guard let found else { throw CancellationError() }
        let harness = ServerHarness(
            service: service,
            port: found.listen?.port ?? 0,
            path: found.socketPath ?? "",
            root: root,
            server: server
        )
        do {
            try await body(harness)
        } catch {
            await server.stop()
            _ = try? await running.value
            throw error
        }
        await server.stop()
        try await running.value
    }

    func tcp() async throws -> RawConnection { try await RawConnection.connect(port: self.port) }
    func local() async throws -> RawConnection { try await RawConnection.connect(path: self.path) }
    func socket(_ target: String = "/jsonrpc") async throws -> RawWebSocket {
        try await RawWebSocket.open(try await self.tcp(), target)
    }

    /// Waits until something holds, because the event that makes it hold has been caused already.
    func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            await Task.yield()
        }
        return true
    }
}
