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

    /// Options for the sources and destinations of files.
    struct Files: ParsableArguments {
        @Option(
            .inputFile.described(
                "Read URLs (with --upload, file names) from a file, or standard input if it is '-'; see martlet get."
            )
        )
        var inputFile: String?
        @Option(.output.described("File name; for one URL only.")) var output: String?
        @Option(.directory.described("Directory for the files.", standard: "the daemon's")) var directory: String?
        @Option(
            .ifExists.described(
                "What to do if the file already exists: auto, update, skip, resume, rename, overwrite or fail.",
                standard: "auto"
            )
        )
        var ifExists: IfExistsRule?
        @Flag(.timestamping) var timestamping = false
        @Option(
            .ifRunning.described(
                "What to do if another process is downloading the file: wait, fail or rename.",
                standard: "wait"
            )
        )
        var ifRunning: IfRunningRule?
        @Option(.checksum.described("Expected digest of the file, as ALGORITHM:DIGEST.")) var checksum: ExpectedDigest?
    }

    /// Options for the place in the queue and the output.
    struct Queue: ParsableArguments {
        @Flag(.paused) var paused = false
        @Option(.queuePriority) var priority: Int?
        @Option(.position) var position: Int?
        @Option(.id) var id: GID?
        @Flag(.json.described("Print one JSON object per transfer instead of its id; see Docs/rpc.md.")) var json =
            false
        @Flag(.wait) var wait = false
        @Flag(.quiet.described("Do not print ids.")) var quiet = false
    }

    /// The options of `martlet get` that apply to a single file.
    struct Fetching: ParsableArguments, LoginOptions {
        @Option(.header) var header: [HeaderLine] = []
        @Option(.referer) var referer: String?
        @Option(.userAgent) var userAgent: String?
        @Option(.cookie) var cookie: String?
        @Option(.user) var user: String?
        @Flag(.netrc) var netrc = false
        @Option(.netrcFile) var netrcFile: String?
        @Option(.bearerFile) var bearerFile: String?
        @Option(.loadCookies) var loadCookies: String?
        @Option(.proxy.described("Proxy, as http://user:password@host:port.")) var proxy: String?
        @Option(.connections) var connections: Int?
        @Option(.mirror.described("Another URL of the same file, for one URL only; may be repeated."))
        var mirror: [String] = []
        @Option(.limitRate.described("Maximum bytes per second for each file.")) var limitRate: Int64?
        @Option(.retries.standard(nil)) var retries: Int?
        @Option(.retryWait.standard("0")) var retryWait: Duration?
        @Option(.connectTimeout.standard("60")) var connectTimeout: Duration?
        @Option(.stallTimeout.standard("60")) var stallTimeout: Duration?
        @Option(.maxTime.standard(nil)) var maxTime: Duration?
        @Option(
            .minRate.described(
                "Fail a transfer that is slower than this many bytes per second for ten seconds, if it can be continued."
            )
        )
        var minRate: Int64?
        @Flag(
            .denyPrivateAddresses.described(
                "Refuse hosts at loopback, private and other special addresses; see martlet get."
            )
        )
        var denyPrivateAddresses = false
        @Option(
            .outageTimeout.described(
                "Seconds to wait while the host or the network is unreachable.",
                standard: "the daemon's, 86400"
            )
        )
        var outageTimeout: Duration?
    }

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
