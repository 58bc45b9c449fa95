import ArgumentParser
import Control

/// `martlet wait`: waits until transfers have ended.
struct WaitCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Return when transfers have ended.",
        discussion: """
            The exit status is 0 when every file is there, otherwise aria2's for the last failure, and 7 where one was \
            removed, or is paused when --all returns. A restart of the daemon is waited for.
            """
    )

    @Argument(help: ArgumentHelp("The transfers' ids, or unique beginnings of them.", valueName: "id"))
    var ids: [String] = []

    @Flag(help: "Wait until nothing waits or runs any more.")
    var all = false

    @Flag(name: .shortAndLong, help: "Draw no progress, and tell no failures.")
    var quiet = false

    @OptionGroup(title: "The daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        guard self.all == self.ids.isEmpty else {
            throw BadValue("write the ids to wait for, or --all alone")
        }
        let client = try self.daemon.client()
        let run = WaitRun(client, console, isQuiet: self.quiet)
        if self.all { return try await run.waitForAll() }
        return try await run.wait(for: try await client.show(self.ids).map(\.id))
    }
}
