import ArgumentParser
import Control
import TransferCore
import TransferEngine

/// `martlet add`: adds transfers to the daemon's queue.
struct AddCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add files to the daemon's queue; it is started if none runs.",
        discussion: """
            Each file's id is printed once it is stored: from then on nothing but its removal takes it from the queue. \
            Without --directory files go to the daemon's. Exit statuses: 0 when all were added (with --wait: when all files \
            are there, otherwise aria2's for the last failure), 28 for a bad option, argument or line, 69 where no daemon \
            can be reached.
            With --upload files are sent instead: the arguments are the files and, last, the URL; one that ends in a slash \
            gets each file's name, but by POST. The daemon reads the files when their turn comes, so they must stay where they are; \
            what was interrupted goes on as for martlet put.
            """
    )

    @Argument(help: ArgumentHelp("The files' URLs; with --upload the files, and at last the URL.", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Input and output")
    var files: Files

    @OptionGroup(title: "The queue")
    var queue: Queue

    @OptionGroup(title: "How they are fetched")
    var fetching: Fetching

    @OptionGroup(title: "Uploads")
    var uploading: Uploading

    @OptionGroup(title: "The daemon")
    var daemon: DaemonOptions

    @Flag(help: "Do not start a daemon where none runs.")
    var noStart = false

    /// Options for the sources and destinations of files.
    struct Files: ParsableArguments {
        @Option(
            name: .shortAndLong,
            help: ArgumentHelp(
                "Read URLs (with --upload files' names) from a file, or from standard input where it is '-'; see martlet get.",
                valueName: "file"
            ),
            completion: .file()
        )
        var inputFile: String?

        @Option(
            name: [.customShort("o", allowingJoined: true), .long],
            help: ArgumentHelp("The file's name; for one URL only.", valueName: "name"),
            completion: .file()
        )
        var output: String?

        @Option(
            name: [.customShort("d", allowingJoined: true), .long],
            help: ArgumentHelp("The directory for the files. (default: the daemon's)", valueName: "dir"),
            completion: .directory
        )
        var directory: String?

        @Option(
            help: ArgumentHelp(
                "What to do where a file of that name is there: auto, skip, resume, rename, overwrite or fail. (default: auto)",
                valueName: "what"
            ),
            completion: .list(DownloadOptions.IfExists.allCases.map(\.rawValue)),
            transform: { try Choice.parse($0, among: DownloadOptions.IfExists.allCases) }
        )
        var ifExists: DownloadOptions.IfExists?

        @Option(
            help: ArgumentHelp("The digest the file must have, as ALGORITHM:DIGEST.", valueName: "digest"),
            transform: { try ChecksumArgument.parse($0) }
        )
        var checksum: ExpectedDigest?
    }

    /// Options for the place in the queue and the output.
    struct Queue: ParsableArguments {
        @Flag(help: "Add them paused.")
        var paused = false

        @Option(
            help: ArgumentHelp("Greater goes first. (default: 0)", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: -1_000_000...1_000_000) }
        )
        var priority: Int?

        @Option(
            help: ArgumentHelp("The place of the first in the line, from 0. (default: the end)", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 0...Int(Int32.max)) }
        )
        var position: Int?

        @Option(
            help: ArgumentHelp("The id that the only file is to have: 16 hexadecimal digits.", valueName: "id"),
            transform: { try Self.id($0) }
        )
        var id: GID?

        @Flag(help: "Print one JSON object for each instead of its id; see Docs/rpc.md.")
        var json = false

        @Flag(help: "Return when all of them have ended, with the exit status of martlet wait.")
        var wait = false

        @Flag(name: .shortAndLong, help: "Print no ids.")
        var quiet = false

        private static func id(_ text: String) throws(BadValue) -> GID {
            guard let id = GID(text) else {
                throw BadValue("\"\(DisplayText.clean(text))\" is no id; write 16 hexadecimal digits, not all 0")
            }
            return id
        }
    }

    /// The options of `martlet get` that apply to a single file.
    struct Fetching: ParsableArguments {
        @Option(
            name: [.customShort("H"), .long],
            help: ArgumentHelp(
                "A header field for every request, as 'Name: value'; may be repeated.",
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

        @Option(help: ArgumentHelp("The proxy, as http://user:password@host:port.", valueName: "url"))
        var proxy: String?

        @Option(
            name: [.customShort("x", allowingJoined: true), .customShort("s", allowingJoined: true), .long],
            help: ArgumentHelp("The connections for one file.", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 1...1024) }
        )
        var connections: Int?

        @Option(
            help: ArgumentHelp("Another URL of the same file, for one URL only; may be repeated.", valueName: "url")
        )
        var mirror: [String] = []

        @Option(
            help: ArgumentHelp("The most bytes a second for each file.", valueName: "size"),
            transform: { try ByteSize.parse($0) }
        )
        var limitRate: Int64?

        @Option(
            help: ArgumentHelp("Attempts beyond the first that bring nothing new.", valueName: "number"),
            transform: { try WholeNumber.parse($0, in: 0...1_000_000) }
        )
        var retries: Int?

        @Option(
            help: ArgumentHelp("The most seconds for one file from its start.", valueName: "seconds"),
            transform: { try WholeNumber.parse($0, in: 0...366 * 86400) }
        )
        var maxTime: Int?

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
