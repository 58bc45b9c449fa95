// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

/// `martlet`: the root command.
struct MartletCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "martlet",
        abstract: "Transfer files over HTTP and HTTPS, and resume them after interruptions.",
        usage: "martlet COMMAND [OPTIONS] [ARGUMENTS]",
        version: "martlet \(MartletVersion.text)",
        groupedSubcommands: Self.groups
    )

    /// The commands by task, in the order of the help and of the manual.
    static let groups = [
        CommandGroup(name: "Transfers", subcommands: [GetCommand.self, PutCommand.self]),
        CommandGroup(
            name: "The daemon's queue",
            subcommands: [
                AddCommand.self, ListCommand.self, ShowCommand.self, TopCommand.self, WaitCommand.self,
                PauseCommand.self, ResumeCommand.self, RetryCommand.self, RemoveCommand.self, ForgetCommand.self,
                MoveCommand.self, LimitCommand.self, WebCommand.self, DaemonCommand.self, StopCommand.self,
            ]
        ),
        CommandGroup(name: "Serving", subcommands: [ServeCommand.self, LinksCommand.self]),
        CommandGroup(name: "More", subcommands: [DemoCommand.self, ManualCommand.self]),
    ]

    /// The names of all commands.
    static var names: [String] { Self.groups.flatMap(\.subcommands).map { $0._commandName } }

    /// The command of a name.
    static func command(_ name: String?) -> (any ParsableCommand.Type)? {
        self.groups.lazy.flatMap(\.subcommands).first { $0._commandName == name }
    }
}

/// `martlet generate-manual`: prints the manual page, for packagers.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate-manual",
        abstract: "Print the manual page, for man -l - and for packages."
    )

    @Flag(help: "Print the table of the options of curl, wget and aria2 instead, as Markdown.")
    var spellings = false

    func run() throws {
        print(self.spellings ? SpellingsPage.text : try ManualPage.current(), terminator: "")
    }
}

extension ManualPage {
    /// The manual page of this program.
    ///
    /// - Throws: `DecodingError` if ArgumentParser's description has an unexpected format.
    static func current() throws -> String { try self.render(MartletCommand._dumpHelp()) }
}
