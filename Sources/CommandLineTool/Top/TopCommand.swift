// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// `martlet top`: shows the daemon's transfers on the terminal, and changes them.
struct TopCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch and control the daemon's transfers on the terminal.",
        discussion: """
            Shows the transfers with their progress, the reasons why they wait or failed, and the total rate of the last \
            minutes. The most important keys are in the last line; ? shows all. The details (enter) have the ids for \
            other commands.
            """
    )

    @Option(.interval) var interval = 1.0

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func run() throws {
        // Before there are other threads: all of them have to block the signals.
        _ = SignalWatcher(more: TopRun.signals)
        throw ExitCode(QueueRun.wait { await QueueRun.status(of: self, Console()) })
    }

    func execute(_ console: Console) async throws -> Int32 {
        if let problem = TopTerminal.problem { throw SyntaxError(problem) }
        let run = try TopRun(TopClient(try self.daemon.client()), interval: self.interval)
        return try await run.run(SignalWatcher(more: TopRun.signals))
    }
}
