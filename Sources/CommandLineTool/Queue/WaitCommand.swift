// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// `martlet wait`: waits until transfers have ended.
struct WaitCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until transfers have ended.",
        discussion: """
            The exit status is 0 if every file is complete, otherwise that of a failure, the first in the order of \
            martlet(1), and 7 if a transfer was removed, or is paused when --all returns. Waits across restarts of the \
            daemon. Without a terminal, prints a line every 10 s while transfers run, unless -q is given.
            """
    )

    @Argument(
        help: ArgumentHelp("Ids of the transfers, or unique prefixes.", valueName: "id"),
        completion: IDCompletion.kind
    )
    var ids: [String] = []

    @Flag(.all.described("Wait until no transfer is waiting or running.")) var all = false

    @Flag(.quiet.described("Do not show progress or failures.")) var quiet = false

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        guard self.all == self.ids.isEmpty else {
            throw SyntaxError("give either ids or --all")
        }
        let client = try self.daemon.client()
        let run = WaitRun(client, console, isQuiet: self.quiet)
        if self.all { return try await run.waitForAll() }
        return try await run.wait(for: try await client.show(self.ids).map(\.id))
    }
}
