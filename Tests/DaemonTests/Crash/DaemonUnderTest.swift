import Control
import Glibc
import NIOPosix
import Testing
import TransferTesting

@testable import Daemon

/// A real martletd, as it was built beside the tests, on a state directory of its own.
final class DaemonUnderTest: Sendable {
    let client: ControlClient
    private let process: ChildProcess

    /// The program, beside the test bundle.
    static var program: String {
        let bundle = CommandLine.arguments.first ?? ""
        let directory = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return directory.joined(separator: "/") + "/martletd"
    }

    /// Starts a daemon, and returns when it answers.
    static func start(_ directory: TemporaryDirectory, _ more: String...) async throws -> DaemonUnderTest {
        let state = try StateDirectory(directory.path("state"))
        let process = try ChildProcess.start(
            [Self.program, "--state-dir", state.path, "--dir", directory.path("files"), "--listen", "none"]
                + ["--log-level", "error"] + more,
            environment: [:]
        )
        process.write([])
        let client = ControlClient(state, on: MultiThreadedEventLoopGroup.singleton.next())
        let daemon = DaemonUnderTest(process, client)
        let begun = ContinuousClock.now
        while true {
            do {
                _ = try await client.daemon()
                return daemon
            } catch {
                // There is nothing to wait on before there is a socket.
                guard ContinuousClock.now - begun < .seconds(30) else { throw error }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
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

    /// Ends it with SIGTERM, and tells how it ended.
    func terminate() -> ChildProcess.End {
        self.process.signal(SIGTERM)
        defer { self.client.close() }
        return self.process.wait()
    }
}
