// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// A command that is parsed without the root command and the other commands.
///
/// ArgumentParser looks for requests of a completion script unless there is a super-command, and for help options if they
/// have names. Both cost as much as several groups of options. Here they are unknown options, and the root command, which
/// parses what is invalid here, handles them.
struct SoleCommand<Command: ParsableCommand>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: Command._commandName, _superCommandName: "martlet", helpNames: [])
    }

    @OptionGroup var command: Command

    /// Returns the command, if the arguments are valid.
    static func command(_ arguments: [String]) -> Command? {
        (try? Self.parseAsRoot(arguments) as? Self)?.command
    }
}
