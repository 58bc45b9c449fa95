// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Logging
import Martlet
import Synchronization
import TransferTesting

@testable import Daemon

/// A daemon in this process, on its own socket, and the sessions of programs that use it.
final class SessionBench: Sendable {
    let harness: CoreHarness
    private let server: DaemonServer
    private let running: Task<Void, any Error>

    init(_ directory: TemporaryDirectory? = nil) async throws {
        self.harness = try await CoreHarness(directory)
        let place = try StateDirectory(self.harness.directory.path)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = DaemonServer(
            configuration: ServerConfiguration(
                socketPath: try place.makeSocketDirectory(),
                directory: self.harness.directory.path("files")
            ),
            service: self.harness.core,
            logger: logger,
            onReady: { _ in continuation.yield(()) }
        )
        self.server = server
        self.running = Task { try await server.run() }
        for await _ in ready { break }
    }

    func stop() async {
        await self.server.stop()
        _ = try? await self.running.value
        await self.harness.stop()
    }

    /// The configuration of a program's session; no other daemon can be started.
    static func configuration(_ directory: TemporaryDirectory) -> SessionConfiguration {
        var configuration = SessionConfiguration.background(identifier: "s", stateDirectory: directory.path)
        configuration.daemonPath = "/nonexistent/martletd"
        configuration.proxy = .none
        configuration.cookies = CookieStorage()
        return configuration
    }

    /// Copies the spools of a program, as they would be after its end, into another state directory.
    static func abandonSpools(of first: TemporaryDirectory, to second: TemporaryDirectory) throws {
        guard mkdir(second.path("spools"), 0o700) == 0 || errno == EEXIST else { throw TestSupportError("no spools") }
        for name in TemporaryDirectory.entries(of: first.path("spools")) {
            try second.write(try first.read("spools/" + name), to: "spools/" + name)
        }
    }

    var configuration: SessionConfiguration { Self.configuration(self.harness.directory) }
}
