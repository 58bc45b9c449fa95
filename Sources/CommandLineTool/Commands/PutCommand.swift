// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// `martlet put`: the source of its argument parser, help, completions and manual page.
struct PutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Upload files over HTTP and HTTPS.",
        discussion: """
            The last argument is the URL; if it ends in a slash, each file's name is appended, except with POST, where \
            the server chooses. A directory is sent with the files below it: DIR with its name, DIR/ without. \
            Interrupted uploads resume if the server supports tus 1.0 or the IETF draft for resumable uploads: run the same command again. A file that has changed since is refused. File names are \
            sent as UTF-8. Sizes accept K, M and G (powers of 1024); times are in seconds. Exit statuses are those of \
            martlet get: 0 only if every file is complete, 28 for a bad option or argument, 130 after Ctrl-C; after \
            several failures the first in the order of martlet(1). Without a terminal, a line every 10 s shows the \
            progress, unless -q or --no-progress is given.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Files, directories, or '-' for standard input, followed by the URL.",
            valueName: "file… url"
        ),
        completion: .file()
    )
    var arguments: [String] = []

    @OptionGroup(title: "Content and requests")
    var sending: SendingOptions

    @OptionGroup(title: "Requests")
    var requests: RequestOptions

    @OptionGroup(title: "Retries and timeouts")
    var failures: FailureOptions

    @OptionGroup(title: "Output")
    var display: DisplayOptions

    func run() throws {
        throw ExitCode(PutRun.execute(try self.plan()))
    }

    /// Parses the arguments of `martlet put`.
    ///
    /// - Throws: ``SyntaxError`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> PutPlan { try Self.parse(arguments).plan() }
}

/// Options for the files to send and the rate.
struct SendingOptions: ParsableArguments {
    @Option(
        .inputFile.described(
            "Send the files listed in this file, one per line, or in standard input if it is '-'.",
            details: "The directories of relative paths are kept; an absolute path is sent under its last name."
        )
    )
    var inputFile: String?
    @OptionGroup var content: ContentOptions
    @Option(.uploadChecksum.named("checksum")) var checksum: DigestAlgorithm?
    @Flag(.noState) var noState = false
    @Flag(.answer) var answer = false
    @Option(.jobs.described("Maximum concurrent files.", standard: "5")) var jobs: Int = 5
    @Option(.perHost.standard("--jobs")) var perHost: Int?
    @Option(.limitRate) var limitRate: Int64 = 0
}
