import ArgumentParser
import Control

/// Which daemon is spoken to.
struct DaemonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's state directory. (default: $MARTLET_STATE_DIR, or martlet in the user's state directory)",
            valueName: "dir"
        ),
        completion: .directory
    )
    var stateDir: String?

    /// A client of the daemon; nothing is asked yet.
    ///
    /// - Throws: `ControlError` where no directory can be told.
    func client() throws(ControlError) -> ControlClient { ControlClient(try StateDirectory(self.stateDir)) }
}

/// Which transfers a command is for.
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
    /// - Throws: ``BadValue`` where it says nothing or two things.
    func selection() throws(BadValue) -> ControlSelection {
        guard self.all else {
            guard !self.ids.isEmpty else { throw BadValue("there is no id; write one (see martlet list), or --all") }
            guard self.session == nil else { throw BadValue("--session goes with --all; leave it out") }
            return .ids(self.ids)
        }
        guard self.ids.isEmpty else { throw BadValue("ids and --all contradict each other; leave one out") }
        return .all(session: self.session)
    }

    /// Does something to the selection, and says to how many it was done.
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
