// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Generates the manual page with roff's man macros from the definitions of the argument parser.
///
/// - Source: man-pages(7), groff_man(7).
enum ManualPage {
    /// Parses ArgumentParser's description of the tool.
    ///
    /// - Throws: `DecodingError` if the description has an unexpected format.
    static func tool(_ description: String) throws -> ToolDescription.Command {
        try JSONDecoder().decode(ToolDescription.self, from: Data(description.utf8)).command
    }

    /// The page of all commands.
    static func page(of tool: ToolDescription.Command) -> String {
        let name = tool.commandName
        var page = self.title(name, tool)
        page += ".SH SYNOPSIS\n"
        let commands = (tool.subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
        for command in commands { page += self.synopsis(command, of: name) }
        page += ".B \(name) help\n[\\fICOMMAND\\fR]\n.br\n.B \(name)\n\\-\\-version | \\-\\-help\n"
        page += self.description
        page += ".SH COMMANDS\n"
        for group in MartletCommand.groups {
            page += ".SS \"\(self.escaped(group.name))\"\n"
            for command in group.subcommands {
                let text = self.escaped(command.configuration.abstract)
                page += ".TP\n.BR \(self.escaped(self.name(of: command._commandName))) (1)\n\(text)\n"
            }
        }
        return page + self.foot
    }

    /// The page of one command.
    static func page(of command: ToolDescription.Command, in tool: ToolDescription.Command) -> String {
        let full = "\(tool.commandName) \(command.commandName)"
        let name = self.name(of: command.commandName)
        var page = self.title(name, command)
        page += ".SH SYNOPSIS\n" + self.synopsis(command, of: tool.commandName)
        page += ".SH DESCRIPTION\n\(self.escaped(command.abstract ?? ""))\n"
        if let discussion = command.discussion { page += ".PP\n\(self.escaped(discussion))\n" }
        page += self.options(command)
        page +=
            ".SH \"EXIT STATUS\"\n0 for success. The statuses, and their order if there are several reasons for one, "
        page += "are listed in\n.BR \(tool.commandName) (1).\n"
        let examples = ManualTables.examples.filter { entry in
            entry.names.contains { $0.contains(full + " ") || $0.hasSuffix(full) }
        }
        if !examples.isEmpty { page += ".SH EXAMPLES\n" + self.entries(examples, macro: ".B") }
        let others = MartletCommand.groups.first { group in
            group.subcommands.contains { $0._commandName == command.commandName }
        }
        let related = (others?.subcommands ?? []).map { self.name(of: $0._commandName) }.filter { $0 != name }
        return page + self.references(["\(tool.commandName)(1)"] + related.sorted().map { "\($0)(1)" })
    }

    private static func title(_ name: String, _ command: ToolDescription.Command) -> String {
        let text = self.escaped((command.abstract ?? "").asNameLine)
        return ".TH \(self.escaped(name.uppercased())) 1 \"\" \"martlet \(MartletVersion.text)\" \"User Commands\"\n"
            + ".SH NAME\n\(self.escaped(name)) \\- \(text)\n"
    }

    /// The section SEE ALSO.
    private static func references(_ pages: [String]) -> String {
        let related = pages.map { page in
            let parts = page.split(separator: "(")
            return ".BR \(self.escaped(String(parts[0]))) (\(parts[1])"
        }
        return ".SH \"SEE ALSO\"\n" + related.joined(separator: " ,\n") + "\n"
    }

    private static func synopsis(_ command: ToolDescription.Command, of tool: String) -> String {
        var line = ".B \(tool) \(self.escaped(command.commandName))\n"
        if (command.arguments ?? []).contains(where: self.isOption) { line += "[\\fIoptions\\fR]" }
        for argument in command.arguments ?? [] where argument.shouldDisplay && argument.kind == "positional" {
            let name = (argument.valueName ?? "value").uppercased().replacing("…", with: "...")
            let value = "\\fI\(self.escaped(name))\\fR"
            // A name such as "FILE... URL" shows itself what is repeated.
            let isRepeated = argument.isRepeating && !name.contains("...")
            line += " " + (argument.isOptional ? "[\(value)]" : value) + (isRepeated ? "..." : "")
        }
        return line + (line.hasSuffix("\n") ? ".br\n" : "\n.br\n")
    }

    /// Whether an argument is an option of its command, not one that all commands have.
    private static func isOption(_ argument: ToolDescription.Argument) -> Bool {
        guard argument.shouldDisplay, argument.kind != "positional" else { return false }
        return !(argument.names ?? []).contains { $0.name == "help" || $0.name == "version" }
    }

    /// The sections of the arguments and options of a command.
    private static func options(_ command: ToolDescription.Command) -> String {
        let arguments = (command.arguments ?? []).filter { $0.shouldDisplay && $0.kind == "positional" }
        var page = ""
        if !arguments.isEmpty { page += ".SH ARGUMENTS\n" }
        for argument in arguments {
            let name = (argument.valueName ?? "value").uppercased().replacing("…", with: "...")
            page += ".TP\n\\fI\(self.escaped(name))\\fR\n" + self.text(argument)
        }
        page += ".SH OPTIONS\n"
        var title: String?
        for argument in command.arguments ?? [] where self.isOption(argument) {
            let section = argument.sectionTitle ?? "Options"
            if section != title {
                title = section
                page += ".SS \"\(self.escaped(section))\"\n"
            }
            page += ".TP\n\(self.names(argument))\n" + self.text(argument)
        }
        return page + ".SS \"Help\"\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow the options.\n"
    }

    private static func text(_ argument: ToolDescription.Argument) -> String {
        var text = "\(self.escaped(argument.abstract ?? ""))\n"
        if let values = argument.allValues, !values.isEmpty {
            text += "One of \(self.escaped(values.joined(separator: ", "))).\n"
        }
        if let value = argument.defaultValue { text += "(default: \(self.escaped(value)))\n" }
        if let discussion = argument.discussion { text += ".RS\n\(self.escaped(discussion))\n.RE\n" }
        return text
    }

    private static func names(_ argument: ToolDescription.Argument) -> String {
        let names = (argument.names ?? []).sorted { $0.kind == "short" && $1.kind != "short" }
            .map { "\\fB" + self.escaped(($0.kind == "long" ? "--" : "-") + $0.name) + "\\fR" }
            .joined(separator: ", ")
        guard argument.kind == "option", let value = argument.valueName else { return names }
        return names + " \\fI\(self.escaped(value))\\fR"
    }

    /// Escapes text that roff would interpret as a request or an escape.
    static func escaped(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                // Unescaped, `-`, `~` and `^` are typographic characters, which cannot be pasted into a shell.
                let plain = line.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("~", with: "\\(ti")
                    .replacing("^", with: "\\(ha")
                return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : String(plain)
            }
            .joined(separator: "\n")
    }

    private static let description = """
        .SH DESCRIPTION
        Martlet downloads and uploads files, and resumes them after interruptions of any kind: a dropped connection, a
        full disk, a killed process.
        .B martlet get
        and
        .B martlet put
        transfer files and end.
        .B martlet daemon
        has a queue that survives restarts; the other commands control it.
        .B martlet serve
        lets others download and upload files.
        .PP
        Each command has a manual page of its own, and the options
        .BR \\-\\-help ,
        which lists its options, and
        .BR \\-\\-version .
        .PP
        .B martlet \\-\\-generate\\-completion\\-script
        .I SHELL
        prints the completions for bash, zsh or fish.

        """

    private static var foot: String {
        var page = """
            .SH "EXIT STATUS"
            The statuses up to 32 are those of aria2c; 65, 69 and 73 are those of sysexits.h. A run with several reasons
            ends with the first in the following order, whichever came last. Those at its end may be cured by another run.
            .PP
            \(self.escaped(ExitOrder.text))
            .PP
            With a table, failed rows count as 65, because its report has each of them.

            """
        for (status, meaning) in ManualTables.statuses { page += self.term("\(status)", meaning, macro: ".B") }
        page += ".SH ENVIRONMENT\n" + self.entries(ManualTables.variables, macro: ".B")
        page += ".SS \"Variables of commands that martlet runs\"\n"
        page += "They are set for the \\-\\-refresh\\-command, the daemon's commands on events, and wake commands.\n"
        page += self.entries(ManualTables.commandVariables, macro: ".B")
        page += ".SH FILES\n" + self.entries(ManualTables.files, macro: ".I")
        page += ".SS \"In the state directory\"\n" + self.entries(ManualTables.stateFiles, macro: ".I")
        page += ".SH EXAMPLES\n" + self.entries(ManualTables.examples, macro: ".B")
        let own = MartletCommand.names.map { self.name(of: $0) + "(1)" }.sorted()
        return page + self.references(own + ManualTables.related)
    }

    private static func entries(_ entries: [ManualTables.Entry], macro: String) -> String {
        entries.map { self.term($0.names.joined(separator: ", "), $0.text, macro: macro) }.joined()
    }

    private static func term(_ name: String, _ text: String, macro: String) -> String {
        let term = name.contains(" ") ? "\"\(self.escaped(name))\"" : self.escaped(name)
        return ".TP\n\(macro) \(term)\n\(self.escaped(text))\n"
    }
}

extension String {
    /// The text with a lower-case first letter and without a final full stop.
    fileprivate var asNameLine: String {
        self.prefix(1).lowercased() + self.dropFirst().dropLast(self.hasSuffix(".") ? 1 : 0)
    }
}
