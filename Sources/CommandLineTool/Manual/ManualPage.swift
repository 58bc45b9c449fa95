// SPDX-License-Identifier: Apache-2.0
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
    /// Renders ArgumentParser's description of the tool.
    ///
    /// - Throws: `DecodingError` if the description has an unexpected format.
    static func render(_ description: String) throws -> String {
        let tool = try JSONDecoder().decode(ToolDescription.self, from: Data(description.utf8)).command
        let name = tool.commandName
        var page = ".TH \(name.uppercased()) 1 \"\" \"\(name) \(MartletVersion.text)\" \"User Commands\"\n"
        page += ".SH NAME\n\(name) \\- \(self.escaped((tool.abstract ?? "").asNameLine))\n.SH SYNOPSIS\n"
        let commands = (tool.subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
        for command in commands { page += self.synopsis(command, of: name) }
        page += ".B \(name) help\n[\\fICOMMAND\\fR]\n.br\n.B \(name)\n\\-\\-version | \\-\\-help\n"
        page += self.description
        for command in commands { page += self.section(command, of: name) }
        return page + self.foot
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

    private static func section(_ command: ToolDescription.Command, of tool: String) -> String {
        var page = ".SH \"\(tool) \(self.escaped(command.commandName))\"\n\(self.escaped(command.abstract ?? ""))\n"
        if let discussion = command.discussion { page += ".PP\n\(self.escaped(discussion))\n" }
        var title: String?
        for argument in command.arguments ?? [] where self.isOption(argument) {
            let section = argument.sectionTitle ?? "Options"
            if section != title {
                title = section
                page += ".SS \"\(self.escaped(section))\"\n"
            }
            page += ".TP\n\(self.names(argument))\n\(self.escaped(argument.abstract ?? ""))\n"
            if let values = argument.allValues, !values.isEmpty {
                page += "One of \(self.escaped(values.joined(separator: ", "))).\n"
            }
            if let value = argument.defaultValue { page += "(default: \(self.escaped(value)))\n" }
            if let discussion = argument.discussion { page += ".RS\n\(self.escaped(discussion))\n.RE\n" }
        }
        return page
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
        Every command also has the options
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
            The statuses up to 32 are those of aria2c; 65, 69 and 73 are those of sysexits.h. If several transfers failed,
            the status is that of the last failure.

            """
        for (status, meaning) in ManualTables.statuses { page += self.term("\(status)", meaning, macro: ".B") }
        page += ".SH ENVIRONMENT\n" + self.entries(ManualTables.variables, macro: ".B")
        page += ".SS \"Variables of commands that martlet runs\"\n"
        page += "They are set for the \\-\\-refresh\\-command, the daemon's commands on events, and wake commands.\n"
        page += self.entries(ManualTables.commandVariables, macro: ".B")
        page += ".SH FILES\n" + self.entries(ManualTables.files, macro: ".I")
        page += ".SS \"In the state directory\"\n" + self.entries(ManualTables.stateFiles, macro: ".I")
        page += ".SH EXAMPLES\n" + self.entries(ManualTables.examples, macro: ".B")
        page += ".SH \"SEE ALSO\"\n"
        let related = ManualTables.related.map { page in
            let parts = page.split(separator: "(")
            return ".BR \(self.escaped(String(parts[0]))) (\(parts[1])"
        }
        return page + related.joined(separator: " ,\n") + "\n"
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
