import ArgumentParser

/// `martlet get`: the source of its argument parser, help, completions and manual page.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetch files over HTTP and HTTPS.",
        discussion: """
            What was interrupted goes on where it stopped: run the same command again. Sizes take K, M and G \
            (powers of 1024); times are in seconds. Exit statuses are aria2's: 0 only when every file is there, \
            28 for a bad option or argument, 130 after Ctrl-C, otherwise that of the last failure.
            """
    )

    @Argument(help: ArgumentHelp("The files' URLs.", valueName: "url"))
    var urls: [String] = []

    @OptionGroup(title: "Input and output")
    var files: FileOptions

    @OptionGroup(title: "Connections and rates")
    var connections: ConnectionOptions

    @OptionGroup(title: "Requests")
    var requests: RequestOptions

    @OptionGroup(title: "Failures and times")
    var failures: FailureOptions

    @OptionGroup(title: "What is shown")
    var display: DisplayOptions

    func validate() throws {
        // Without a URL, an unknown option is the likelier mistake; ArgumentParser reports it after this.
        guard !self.urls.isEmpty || self.files.inputFile != nil else { return }
        do { _ = try self.plan() } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        throw ExitCode(GetRun.execute(try self.plan()))
    }

    /// Parses the arguments of `martlet get`.
    ///
    /// - Throws: ``BadValue`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> GetPlan { try Self.parse(arguments).plan() }
}
