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
        CommandGroup(name: "Download", subcommands: [GetCommand.self]),
        CommandGroup(name: "Upload", subcommands: [PutCommand.self]),
        CommandGroup(
            name: "Transfer in the background",
            subcommands: [
                AddCommand.self, ListCommand.self, ShowCommand.self, TopCommand.self, WebCommand.self, WaitCommand.self,
                PauseCommand.self, ResumeCommand.self, RetryCommand.self, RemoveCommand.self, ForgetCommand.self,
                MoveCommand.self, LimitCommand.self,
            ]
        ),
        CommandGroup(name: "Share and receive files", subcommands: [ServeCommand.self, LinksCommand.self]),
        CommandGroup(name: "Automate", subcommands: [DaemonCommand.self, StopCommand.self]),
        CommandGroup(name: "More", subcommands: [DemoCommand.self, ManualCommand.self]),
    ]

    /// The names of all commands.
    static var names: [String] { Self.groups.flatMap(\.subcommands).map { $0._commandName } }

    static func command(_ name: String?) -> (any ParsableCommand.Type)? {
        self.groups.lazy.flatMap(\.subcommands).first { $0._commandName == name }
    }
}
