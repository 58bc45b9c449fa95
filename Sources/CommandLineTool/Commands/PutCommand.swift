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
            the server chooses. Interrupted uploads resume if the server supports tus 1.0 or the IETF draft for \
            resumable uploads: run the same command again. A file that has changed since is refused. File names are \
            sent as UTF-8. Sizes accept K, M and G (powers of 1024); times are in seconds. Exit statuses are those of \
            martlet get: 0 only if every file is complete, 28 for a bad option or argument, 130 after Ctrl-C; after \
            several failures the first in the order of martlet(1). Without a terminal, a line every 10 s shows the \
            progress, unless -q or --no-progress is given.
            """
    )

    @Argument(
        help: ArgumentHelp("Files, or '-' for standard input, followed by the URL.", valueName: "file… url"),
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
            "Send the files listed in this file, one per line, or in standard input if it is '-'.",
            valueName: "file"
        ),
        completion: .file()
    )
    var inputFile: String?

    @OptionGroup
    var content: ContentOptions

    @Option(
        help: ArgumentHelp(
            "Send the digest of each part with this algorithm if the server supports tus checksums.",
            valueName: "algorithm"
        ),
        completion: .list(DigestAlgorithm.allCases.map(\.rawValue)),
        transform: { try ChecksumArgument.algorithm($0) }
    )
    var checksum: DigestAlgorithm?

    @Flag(help: "Do not store the state for resuming in a later run.")
    var noState = false

    @Flag(help: "Write the contents of successful responses to standard output at the end.")
    var answer = false

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Maximum concurrent files. (default: 5)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var jobs: Int = 5

    @Option(
        help: ArgumentHelp("Maximum connections per host. (default: --jobs)", valueName: "number"),
        transform: { try WholeNumber.parse($0, in: 1...10000) }
    )
    var perHost: Int?

    @Option(
        help: ArgumentHelp("Maximum bytes per second for the whole run. (default: 0, no limit)", valueName: "size"),
        transform: { try ByteSize.parse($0) }
    )
    var limitRate: Int64 = 0
}
