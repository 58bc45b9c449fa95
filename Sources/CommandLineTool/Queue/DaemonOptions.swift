// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// Options to select a daemon.
struct DaemonOptions: ParsableArguments {
    @Option(.stateDir) var stateDir: String?

    /// Creates a client of the daemon; does not connect yet.
    ///
    /// - Throws: `ControlError` if the state directory cannot be determined.
    func client() throws(ControlError) -> ControlClient { ControlClient(try StateDirectory(self.stateDir)) }
}

/// Options to select the transfers of a command.
struct SelectionOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids of the transfers, or unique prefixes.", valueName: "id"),
        completion: IDCompletion.kind
    )
    var ids: [String] = []

    @Flag(.all) var all = false

    @Option(.session) var session: String?

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    /// The selection.
    ///
    /// - Throws: ``SyntaxError`` if nothing is selected or the options cannot be used together.
    func selection() throws(SyntaxError) -> ControlSelection {
        guard self.all else {
            guard !self.ids.isEmpty else { throw SyntaxError("no id given; write one (see martlet list), or --all") }
            guard self.session == nil else { throw SyntaxError("--session requires --all; add --all") }
            return .ids(self.ids)
        }
        guard self.ids.isEmpty else { throw SyntaxError("ids and --all cannot be used together; leave one out") }
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
