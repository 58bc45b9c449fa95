// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import NIOPosix
import Testing
import TransferTesting

@testable import Daemon

/// A real daemon in the executable `martlet`, which was built with the tests, with its own state directory.
final class DaemonUnderTest: Sendable {
    let client: ControlClient
    private let process: ChildProcess

    /// The program, beside the test bundle.
    static var program: String {
        let bundle = CommandLine.arguments.first ?? ""
        let directory = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return directory.joined(separator: "/") + "/martlet"
    }

    /// Starts a daemon, and returns when it has said that it is ready.
    static func start(_ directory: TemporaryDirectory, _ more: String...) async throws -> DaemonUnderTest {
        let usual = ["--dir", directory.path("files"), "--listen", "none", "--log-level", "error"]
        return try await self.start(directory, options: usual + more)
    }

    /// Starts a daemon with these options only, and returns when it has said that it is ready.
    static func start(_ directory: TemporaryDirectory, options: [String]) async throws -> DaemonUnderTest {
        let state = try StateDirectory(directory.path("state"))
        let socket = try NotifySocket(directory.path("notify"))
        let process = try ChildProcess.start(
            [Self.program, "daemon", "--state-dir", state.path] + options,
            environment: ["NOTIFY_SOCKET": socket.path]
        )
        process.write([])
        do {
            try await socket.waitUntilReady()
        } catch {
            process.signal(SIGKILL)
            throw TestSupportError("the daemon is not ready, and ended with \(process.wait()): \(error)")
        }
        let client = ControlClient(state, on: MultiThreadedEventLoopGroup.singleton.next())
        return DaemonUnderTest(process, client)
    }

    private init(_ process: ChildProcess, _ client: ControlClient) {
        self.process = process
        self.client = client
    }

    /// Ends it with SIGKILL, and returns when it has ended.
    func kill() {
        self.process.signal(SIGKILL)
        _ = self.process.wait()
        self.client.close()
    }

    /// Ends it with SIGTERM, and returns how it ended.
    func terminate() -> ChildProcess.End {
        self.process.signal(SIGTERM)
        defer { self.client.close() }
        return self.process.wait()
    }
}
