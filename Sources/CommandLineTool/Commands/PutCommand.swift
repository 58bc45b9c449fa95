import ArgumentParser
import TransferCore
import TransferEngine

/// `martlet put`: the source of its argument parser, help, completions and manual page.
struct PutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Send files over HTTP and HTTPS.",
        discussion: """
            The last argument is the URL; one that ends in a slash gets each file's name, but by POST, where the server \
            chooses. What was interrupted goes on where the server has it, if the server speaks tus 1.0 or the IETF's \
            resumable uploads: run the same command again. A file that changed meanwhile is refused. Files are named in \
            UTF-8. Sizes take K, M and G (powers of 1024); times are in seconds. Exit statuses are those of martlet get: 0 only when every file is there, 28 for a bad option or \
            argument, 130 after Ctrl-C, otherwise that of the last failure.
            """
    )

    @Argument(help: ArgumentHelp("The files, '-' for standard input, and at last the URL.", valueName: "file… url"))
    var arguments: [String] = []

    @OptionGroup(title: "What is sent, and how")
    var sending: SendingOptions

    @OptionGroup(title: "Requests")
    var requests: RequestOptions

    @OptionGroup(title: "Failures and times")
    var failures: FailureOptions

    @OptionGroup(title: "What is shown")
    var display: DisplayOptions

    func validate() throws {
        // Without a URL, an unknown option is the likelier mistake; ArgumentParser reports it after this.
        guard !self.arguments.isEmpty else { return }
        do { _ = try self.plan() } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        throw ExitCode(PutRun.execute(try self.plan()))
    }

    /// Parses the arguments of `martlet put`.
    ///
    /// - Throws: ``BadValue`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> PutPlan { try Self.parse(arguments).plan() }
}

/// Options for the files to send and the rate.
struct SendingOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Send the files named in this file, one a line, or in standard input where it is '-'.",
            valueName: "file"
        ),
        completion: .file()
    )
    var inputFile: String?

    @OptionGroup
    var content: ContentOptions

    @Option(
        help: ArgumentHelp(
            "Send each part's digest by this algorithm, where the server speaks tus and takes it.",
            valueName: "algorithm"
        ),
        completion: .list(DigestAlgorithm.allCases.map(\.rawValue)),
        transform: { try ChecksumArgument.algorithm($0) }
    )
    var checksum: DigestAlgorithm?

    @Flag(help: "Keep nothing from which another run could go on.")
    var noState = false

    @Flag(help: "Write what the server answered to what it took to standard output when all is done.")
    var answer = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("The most files at once. (default: 5)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var jobs: Int = 5

    @Option(
        help: ArgumentHelp("The most connections to one host. (default: --jobs)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var perHost: Int?

    @Option(
        help: ArgumentHelp("The most bytes a second for the whole run. (default: 0, no limit)", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var limitRate: Int64 = 0
}
