// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

/// Real daemons that start again with the options of their last start.
@Suite(.timeLimit(.minutes(2)))
struct RememberingTests {
    private func directory(of daemon: DaemonUnderTest) async throws -> String? {
        try await daemon.client.daemon()["dir"]?.string
    }

    @Test("A killed daemon starts again with its options, until others replace them or they are forgotten")
    func kills() async throws {
        let temporary = try TemporaryDirectory()
        let state = try StateDirectory(temporary.path("state"))
        let first = try await DaemonUnderTest.start(temporary)
        #expect(try await self.directory(of: first) == temporary.path("files"))
        first.kill()
        // Created, so that a later start can notice that it is gone.
        #expect(temporary.contains("files"))

        for _ in 0..<2 {
            let again = try await DaemonUnderTest.start(temporary, options: [])
            #expect(try await self.directory(of: again) == temporary.path("files"))
            #expect(try await again.client.daemon()["listen"]?.string == nil)
            again.kill()
        }

        let other = try await DaemonUnderTest.start(
            temporary,
            options: ["--dir", temporary.path("b"), "--listen", "none"]
        )
        other.kill()
        #expect(
            try RememberedOptions.read(state)?.arguments == ["--dir=" + temporary.path("b"), "--listen=none"]
        )

        let running = try await DaemonUnderTest.start(temporary, options: [])
        #expect(try RememberedOptions.forget(state))
        // It keeps them, and does not write them again.
        #expect(try await self.directory(of: running) == temporary.path("b"))
        #expect(running.terminate() == .exited(0))
        #expect(try RememberedOptions.read(state) == nil)
    }

    @Test("Options with which it could not start are not remembered, and a gone directory ends the next start")
    func invalid() async throws {
        let temporary = try TemporaryDirectory()
        let state = try StateDirectory(temporary.path("state"))
        let listener = try await ScriptedServer.start { _ in .response(200) }
        let words = [DaemonUnderTest.program, "daemon", "--state-dir", state.path]
        func run(_ more: String...) throws -> ChildProcess.End {
            let process = try ChildProcess.start(words + more, environment: [:])
            process.write([])
            return process.wait()
        }
        #expect(try run("--listen", "127.0.0.1:\(listener.port)", "--log-level", "critical") == .exited(69))
        #expect(try RememberedOptions.read(state) == nil)

        let daemon = try await DaemonUnderTest.start(temporary)
        daemon.kill()
        #expect(rename(temporary.path("files"), temporary.path("elsewhere")) == 0)
        #expect(try run() == .exited(28))
        #expect(!temporary.contains("files"))
        #expect(rename(temporary.path("elsewhere"), temporary.path("files")) == 0)
        try await DaemonUnderTest.start(temporary, options: []).kill()
    }
}
