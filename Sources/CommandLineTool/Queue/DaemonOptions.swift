import ArgumentParser
import Control

/// Options to select a daemon.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's state directory. (default: $MARTLET_STATE_DIR, or martlet in the user's state directory)",
            valueName: "dir"
        ),
        completion: .directory
    )
    var stateDir: String?

    /// Creates a client of the daemon; does not connect yet.
    ///
    /// - Throws: `ControlError` if the state directory cannot be determined.
    func client() throws(ControlError) -> ControlClient { ControlClient(try StateDirectory(self.stateDir)) }
}

/// Options to select the transfers of a command.
struct SelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The transfers' ids, or unique beginnings of them.", valueName: "id"))
    var ids: [String] = []

    @Flag(help: "All transfers of the queue, as far as it makes sense for them.")
    var all = false

    @Option(help: ArgumentHelp("With --all: those of this background session.", valueName: "name"))
    var session: String?

    @OptionGroup(title: "The daemon")
    var daemon: DaemonOptions

    /// The selection.
    ///
    /// - Throws: ``BadValue`` if the options are empty or contradict each other.
    func selection() throws(BadValue) -> ControlSelection {
        guard self.all else {
            guard !self.ids.isEmpty else { throw BadValue("there is no id; write one (see martlet list), or --all") }
            guard self.session == nil else { throw BadValue("--session goes with --all; leave it out") }
            return .ids(self.ids)
        }
        guard self.ids.isEmpty else { throw BadValue("ids and --all contradict each other; leave one out") }
        return .all(session: self.session)
    }

    /// Calls a method for the selection and prints the number of transfers affected.
    func perform(
        _ method: String,
        _ done: String,
        _ console: Console,
        _ more: [JSON.Member] = []
    ) async throws -> Int32 {
        let count = try await self.daemon.client().perform(method, on: try self.selection(), more)
        console.print("\(count) \(done)")
        return ExitStatus.success
    }
}
