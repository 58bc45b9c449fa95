// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// `martlet stop`: stops the daemon.
struct StopCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop the daemon; running transfers resume at its next start."
    )

    @Flag(.force) var force = false

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        let client = try self.daemon.client()
        // Read first: a daemon that is already stopping does not respond to the method.
        let holder = DaemonLock.holder(of: client.state.lockPath)
        if let error = await self.ask(client) {
            guard holder != nil, error.code != .forbidden else { throw error }
            console.tell("martlet: \(error.description)")
        }
        try await Self.waitForEnd(of: holder, client.state)
        console.print("stopped")
        return ExitStatus.success
    }

    private func ask(_ client: ControlClient) async -> ControlError? {
        do throws(ControlError) {
            _ = try await client.call("martlet.stop", ["force": .bool(self.force)])
            return nil
        } catch {
            return error
        }
    }

    /// Waits until this process, or any if it is unknown, has released the lock; a newly started daemon does not count.
    private static func waitForEnd(of holder: Int32?, _ state: StateDirectory) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(30)
        while let process = DaemonLock.holder(of: state.lockPath), holder == nil || process == holder {
            if clock.now > deadline {
                throw ControlError(
                    .unreachable,
                    "the daemon (process \(process)) did not exit",
                    remedy: "see its log \(state.logPath), or end it with kill \(process)"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
