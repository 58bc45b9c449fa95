// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

/// `martlet`: the root command.
struct MartletCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "martlet",
        abstract: "Transfer files over HTTP and HTTPS, and resume them after interruptions.",
        version: "martlet \(MartletVersion.text)",
        subcommands: [
            GetCommand.self, PutCommand.self, ServeCommand.self, LinksCommand.self, DemoCommand.self,
            ManualCommand.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "The daemon's queue:",
                subcommands: [
                    DaemonCommand.self, AddCommand.self, ListCommand.self, ShowCommand.self, TopCommand.self,
                    WaitCommand.self,
                    PauseCommand.self, ResumeCommand.self, RetryCommand.self, RemoveCommand.self, ForgetCommand.self,
                    MoveCommand.self, LimitCommand.self, WebCommand.self, StopCommand.self,
                ]
            )
        ]
    )
}

/// `martlet generate-manual`: prints the manual page, for packagers.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate-manual",
        abstract: "Print the manual page.",
        shouldDisplay: false
    )

    func run() throws {
        print(try ManualPage.current(), terminator: "")
    }
}

extension ManualPage {
    /// The manual page of this program.
    ///
    /// - Throws: `DecodingError` if ArgumentParser's description has an unexpected format.
    static func current() throws -> String { try self.render(MartletCommand._dumpHelp()) }
}
