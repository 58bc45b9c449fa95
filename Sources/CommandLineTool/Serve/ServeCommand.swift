import ArgumentParser
import Receiver

/// `martlet serve`: the source of its argument parser, help, completions and manual page.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Hand files out and take files in over HTTP.",
        discussion: """
            Downloads with ranges, digests and listings; uploads by PUT, POST, forms, tus 1.0 and the IETF draft for \
            resumable uploads. A file that is sent is readable when it is whole and on disk, never before. On loopback, \
            the default, programs of this machine may read and write; on any other address credentials are needed. \
            Sizes take K, M and G (powers of 1024); times are in seconds. SIGTERM and Ctrl-C let running requests end.
            """
    )

    @Argument(help: ArgumentHelp("The directory; may be left out with --share.", valueName: "dir"))
    var directory: String?

    @OptionGroup(title: "Address and encryption")
    var address: ServeAddressOptions

    @OptionGroup(title: "What is served and taken")
    var content: ServeContentOptions

    @OptionGroup(title: "Who may")
    var access: ServeAccessOptions

    @OptionGroup(title: "Limits")
    var limits: ServeLimitOptions

    func validate() throws {
        do { _ = try self.plan() } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        throw ExitCode(ServeRun.execute(try self.plan()))
    }

    /// The validated arguments; reads no file.
    func plan() throws(BadValue) -> ServePlan { try ServePlan(self) }

    /// Parses the arguments of `martlet serve`.
    ///
    /// - Throws: ``BadValue`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> ServePlan { try Self.parse(arguments).plan() }
}
