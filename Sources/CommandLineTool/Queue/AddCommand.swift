// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import TransferCore
import TransferEngine

/// `martlet add`: adds transfers to the daemon's queue.
struct AddCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add files to the queue; starts the daemon if none is running.",
        discussion: """
            Prints each file's id as soon as it is stored, on a terminal with the path that the file will have: from \
            then on, only removing it takes it out of the queue. If a daemon is started, standard error says where it \
            listens. \
            Without --directory files go to the daemon's directory. Exit statuses: 0 if all were added (with --wait: \
            if all files are complete, otherwise as martlet wait), 28 for a bad option, argument or line, 69 if no \
            daemon can be reached.
            With --upload, sends files instead: the arguments are files followed by the URL; if that ends in a slash, \
            each file's name is appended, except with POST. The daemon reads the files when their transfers start, so \
            do not move them; interrupted uploads resume as with martlet put.
            """
    )

    @Argument(
        help: ArgumentHelp("URLs of the files; with --upload, files followed by the URL.", valueName: "url"),
        completion: .file()
    )
    var urls: [String] = []

    @OptionGroup(title: "Input and output")
    var files: Files

    @OptionGroup(title: "Queue")
    var queue: Queue

    @OptionGroup(title: "Requests and retries")
    var fetching: Fetching

    @OptionGroup(title: "Uploads")
    var uploading: Uploading

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    @Flag(.noStart) var noStart = false

    func execute(_ console: Console) async throws -> Int32 {
        let plan = try self.plan()
        let access: AddAccess
        do {
            access = try AddAccess(plan.access)
        } catch is CancellationError {
            return ExitStatus.interrupted
        }
        for warning in access.warnings { console.tell("warning: \(warning)") }
        let client = try self.daemon.client()
        if self.noStart {
            try await client.daemon()
        } else {
            try await DaemonStart.ensure(client, console, isQuiet: self.queue.quiet)
        }
        var run = AddRun(plan, access, client, console)
        return try await run.execute()
    }
}
