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
            Prints each file's id as soon as it is stored: from then on, only removing it takes it out of the queue. \
            Without --directory files go to the daemon's directory. Exit statuses: 0 if all were added (with --wait: \
            if all files are complete, otherwise aria2's for the last failure), 28 for a bad option, argument or line, \
            69 if no daemon can be reached.
            With --upload, sends files instead: the arguments are files followed by the URL; if that ends in a slash, \
            each file's name is appended, except with POST. The daemon reads the files when their transfers start, so \
            do not move them; interrupted uploads resume as with martlet put.
            """
    )

    @Argument(help: ArgumentHelp("URLs of the files; with --upload, files followed by the URL.", valueName: "url"))
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

    @Flag(help: "Do not start a daemon if none is running.")
    var noStart = false

    /// Options for the sources and destinations of files.
    struct Files: ParsableArguments {
        @Option(
            name: .shortAndLong,
            help: ArgumentHelp(
                "Read URLs (with --upload, file names) from a file, or standard input if it is '-'; see martlet get.",
                valueName: "file"
            ),
            completion: .file()
        )
        var inputFile: String?

        @Option(
            name: [.customShort("o", allowingJoined: true), .long],
            help: ArgumentHelp("File name; for one URL only.", valueName: "name"),
            completion: .file()
        )
        var output: String?

        @Option(
            name: [.customShort("d", allowingJoined: true), .long],
            help: ArgumentHelp("Directory for the files. (default: the daemon's)", valueName: "dir"),
            completion: .directory
        )
        var directory: String?

        @Option(
            help: ArgumentHelp(
                "What to do if the file exists: auto, update, skip, resume, rename, overwrite or fail. (default: auto)",
                valueName: "what"
            ),
            completion: .list(DownloadOptions.IfExists.allCases.map(\.rawValue)),
            transform: { try Choice.parse($0, among: DownloadOptions.IfExists.allCases) }
        )
        var ifExists: DownloadOptions.IfExists?

        @Flag(
            name: [.customShort("N"), .long],
            help: "Fetch a file only if the server has another version than the existing one; see martlet get."
        )
        var timestamping = false

        @Option(
            help: ArgumentHelp(
                "What to do if another process is downloading the file: wait, fail or rename. (default: wait)",
                valueName: "what"
            ),
            completion: .list(IfRunningRule.allCases.map(\.rawValue)),
            transform: { try Choice.parse($0, among: IfRunningRule.allCases) }
        )
        var ifRunning: IfRunningRule?

        @Option(
            help: ArgumentHelp("Expected digest of the file, as ALGORITHM:DIGEST.", valueName: "digest"),
            transform: { try ChecksumArgument.parse($0) }
        )
        var checksum: ExpectedDigest?
    }

    /// Options for the place in the queue and the output.
    struct Queue: ParsableArguments {
        @Flag(help: "Add the transfers paused.")
        var paused = false

        @Option(
            help: ArgumentHelp("Priority; higher values start first. (default: 0)", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: -1_000_000...1_000_000) }
        )
        var priority: Int?

        @Option(
            help: ArgumentHelp("Queue position of the first transfer, from 0. (default: the end)", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 0...Int(Int32.max)) }
        )
        var position: Int?

        @Option(
            help: ArgumentHelp("Id of the transfer, for one file only: 16 hexadecimal digits.", valueName: "id"),
            transform: { try Self.id($0) }
        )
        var id: GID?

        @Flag(help: "Print one JSON object per transfer instead of its id; see Docs/rpc.md.")
        var json = false

        @Flag(help: "Wait until all added transfers have ended; the exit status is that of martlet wait.")
        var wait = false

        @Flag(name: .shortAndLong, help: "Do not print ids.")
        var quiet = false

        private static func id(_ text: String) throws(BadValue) -> GID {
            guard let id = GID(text) else {
                throw BadValue("\"\(DisplayText.clean(text))\" is not an id; write 16 hexadecimal digits, not all 0")
            }
            return id
        }
    }

    /// The options of `martlet get` that apply to a single file.
    struct Fetching: ParsableArguments {
        @Option(
            name: [.customShort("H"), .long],
            help: ArgumentHelp(
                "Header field for every request, as 'Name: value'; may be repeated.",
                valueName: "field"
            ),
            transform: { text in try RequestOptions.HeaderPair(text) }
        )
        var header: [RequestOptions.HeaderPair] = []

        @Option(help: ArgumentHelp("The Referer field.", valueName: "url"))
        var referer: String?

        @Option(name: [.customShort("A"), .long], help: ArgumentHelp("The User-Agent field.", valueName: "text"))
        var userAgent: String?

        @Option(help: ArgumentHelp("Cookies to send, as 'name=value; name=value'.", valueName: "cookies"))
        var cookie: String?

        @Option(help: ArgumentHelp("Proxy, as http://user:password@host:port.", valueName: "url"))
        var proxy: String?

        @Option(
            name: [.customShort("x", allowingJoined: true), .customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("Connections per file.", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 1...1024) }
        )
        var connections: Int?

        @Option(
            help: ArgumentHelp("Another URL of the same file, for one URL only; may be repeated.", valueName: "url")
        )
        var mirror: [String] = []

        @Option(
            help: ArgumentHelp("Maximum bytes per second for each file.", valueName: "size"),
            transform: { try ByteSize.parse($0) }
        )
        var limitRate: Int64?

        @Option(
            help: ArgumentHelp("Retries without progress before giving up.", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 0...1_000_000) }
        )
        var retries: Int?

        @Option(
            help: ArgumentHelp("Maximum seconds for one file from its start.", valueName: "seconds"),
            transform: { try WholeNumber.parse($0, in: 0...366 * 86400) }
        )
        var maxTime: Int?

        @Option(
            help: ArgumentHelp(
                "Fail a transfer that is slower than this many bytes per second for ten seconds, if it can be continued.",
                valueName: "size"
            ),
            transform: { try ByteSize.parse($0) }
        )
        var minRate: Int64?

        @Flag(help: "Refuse hosts at loopback, private and other special addresses; see martlet get.")
        var denyPrivateAddresses = false

        @Option(
            help: ArgumentHelp(
                "Seconds to wait while the host or the network is unreachable. (default: the daemon's, 86400)",
                valueName: "seconds"
            ),
            transform: { try WholeNumber.parse($0, in: 0...366 * 86400) }
        )
        var outageTimeout: Int?
    }

    func execute(_ console: Console) async throws -> Int32 {
        let plan = try self.plan()
        let client = try self.daemon.client()
        if self.noStart {
            try await client.daemon()
        } else {
            try await DaemonLauncher().startIfNeeded(client)
        }
        var run = AddRun(plan, client, console)
        return try await run.execute()
    }
}
