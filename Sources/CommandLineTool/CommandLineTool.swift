// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Platform

/// The entry point of the command line tool.
public enum CommandLineTool {
    /// Parses the process's arguments, runs the command and exits.
    ///
    /// Called by the name `martletd`, usually a link, the program is `martlet daemon`. Called by the name `aria2c`, it takes
    /// aria2's arguments.
    public static func main() -> Never {
        OpenFiles.fillStandardStreams()
        if let shortage = OpenFiles.shortage {
            OutputStream(STDERR_FILENO).write("martlet: \(shortage)\n")
            exit(ExitStatus.usage)
        }
        guard let arguments = InitialArguments.words else {
            OutputStream(STDERR_FILENO).write("martlet: the arguments cannot be read; mount /proc and start it again\n")
            exit(ExitStatus.usage)
        }
        InitialArguments.hide(SecretArguments.ranges(in: Array(arguments.dropFirst())).map { ($0.index + 1, $0.bytes) })
        let (status, output, errors) = self.run(self.words(of: arguments))
        OutputStream(STDOUT_FILENO).write(output)
        OutputStream(STDERR_FILENO).write(errors)
        exit(status)
    }

    /// The words after the program's name, with the subcommand that the name stands for.
    static func words(of arguments: [String]) -> [String] {
        let name = arguments.first?.split(separator: "/").last
        let words = Array(arguments.dropFirst())
        if name == "martletd" { return ["daemon"] + words }
        return name == Substring(Aria2Command.name) ? [Aria2Command.name] + words : words
    }

    /// Parses arguments and runs the command.
    ///
    /// - Returns: The exit status, and the text to print to standard output and to standard error.
    static func run(_ arguments: [String]) -> (status: Int32, output: String, errors: String) {
        if arguments.first == Aria2Command.name { return Aria2Command.run(Array(arguments.dropFirst())) }
        if let message = UnknownCommand.message(for: arguments) { return (ExitStatus.usage, "", message + "\n") }
        do {
            var command = try self.parse(arguments)
            try command.run()
            return (ExitStatus.success, "", "")
        } catch let code as ExitCode {
            return (code.rawValue, "", "")
        } catch let error as SyntaxError {
            return (ExitStatus.usage, "", self.usage(error, of: arguments) + "\n")
        } catch {
            let message = MartletCommand.fullMessage(for: error)
            // However the help of no particular command was requested.
            if message == MartletCommand.helpMessage() { return (ExitStatus.success, RootHelp.text, "") }
            let text = message.isEmpty ? "" : message + "\n"
            return MartletCommand.exitCode(for: error).isSuccess
                ? (ExitStatus.success, text, "") : (ExitStatus.usage, "", text + self.notes(for: arguments))
        }
    }

    /// Parses the arguments of a command alone: the options of all others need not be described for that.
    ///
    /// What cannot be parsed is passed through ``ArgumentPass``. A message about a value, or a help, names the whole command:
    /// it is left to the root command, which parses once more.
    private static func parse(_ arguments: [String]) throws -> any ParsableCommand {
        if let type = MartletCommand.command(arguments.first),
            let command = self.parse(type, Array(arguments.dropFirst()))
        {
            return command
        }
        guard let name = arguments.first, let type = MartletCommand.command(name) else {
            return try MartletCommand.parseAsRoot(arguments)
        }
        switch ArgumentPass.run(Array(arguments.dropFirst()), of: name) {
        case .unchanged: return try MartletCommand.parseAsRoot(arguments)
        case .words(let words): return try self.parse(type, words) ?? MartletCommand.parseAsRoot([name] + words)
        case .problem(let text): throw SyntaxError(text)
        }
    }

    private static func parse<Command: ParsableCommand>(
        _ type: Command.Type,
        _ arguments: [String]
    ) -> (any ParsableCommand)? {
        SoleCommand<Command>.command(arguments)
    }

    /// The message for a value that a command cannot use.
    static func usage(_ error: SyntaxError, of arguments: [String]) -> String {
        let command = arguments.first ?? ""
        return """
            Error: \(error.description)
            \(self.notes(for: arguments))  See 'martlet \(command) --help' for more information.
            """
    }

    /// A line for each option that other programs have with another meaning.
    private static func notes(for arguments: [String]) -> String {
        guard ["get", "put", "add"].contains(arguments.first) else { return "" }
        return ForeignOption.notes(for: arguments).map { "  Note: \($0)\n" }.joined()
    }
}
