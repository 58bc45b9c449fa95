// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser

/// `martlet get`: the source of its argument parser, help, completions and manual page.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetch files over HTTP and HTTPS.",
        discussion: """
            Interrupted downloads resume where they stopped if the same command is run again. Sizes accept K, M and G \
            (powers of 1024); times are in seconds. Without a terminal, a line every 10 s shows the progress, unless \
            -q or --no-progress is given. Exit statuses are aria2's: 0 only if every file is complete, 28 for a bad \
            option or argument, 130 after Ctrl-C; after several failures the first in the order \
            \(ExitOrder.text). With a table, 65 if rows failed; 73 if another run writes the report.
            """
    )

    @Argument(help: ArgumentHelp("URLs of the files.", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Input and output")
    var files: FileOptions

    @OptionGroup(title: "Existing files and digests")
    var names: NameOptions

    @OptionGroup(title: "Tables, reports and shards")
    var datasets: DatasetOptions

    @OptionGroup(title: "Connections and rates")
    var connections: ConnectionOptions

    @OptionGroup(title: "Requests")
    var requests: RequestOptions

    @OptionGroup(title: "Politeness")
    var politeness: PolitenessOptions

    @OptionGroup(title: "Retries and timeouts")
    var failures: FailureOptions

    @OptionGroup(title: "Output")
    var display: DisplayOptions

    func run() throws {
        throw ExitCode(GetRun.execute(try self.plan()))
    }

    /// Parses the arguments of `martlet get`.
    ///
    /// - Throws: ``SyntaxError`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> GetPlan { try Self.parse(arguments).plan() }
}
