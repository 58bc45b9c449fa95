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
        for command in commands {
            page += ".B \(name) \(command.commandName)\n[\\fIoptions\\fR]"
            for argument in command.arguments ?? [] where argument.kind == "positional" {
                let value = "\\fI\(self.escaped((argument.valueName ?? "value").uppercased()))\\fR"
                page += " " + (argument.isOptional ? "[\(value)]" : value) + (argument.isRepeating ? "..." : "")
            }
            page += "\n.br\n"
        }
        page += ".B \(name)\n\\-\\-version | \\-\\-help\n"
        for command in commands { page += self.section(command, of: name) }
        page += self.foot
        return page
    }

    private static func section(_ command: ToolDescription.Command, of tool: String) -> String {
        var page = ".SH \"\(tool) \(command.commandName)\"\n\(self.escaped(command.abstract ?? ""))\n"
        if let discussion = command.discussion { page += ".PP\n\(self.escaped(discussion))\n" }
        var title: String?
        for argument in command.arguments ?? [] where argument.shouldDisplay && argument.kind != "positional" {
            let section = argument.sectionTitle ?? "Others"
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
                let plain = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
                return plain.hasPrefix(".") || plain.hasPrefix("'") ? "\\&" + plain : String(plain)
            }
            .joined(separator: "\n")
    }

    private static let foot = """
        .SH "EXIT STATUS"
        0 every file is complete; 1 unknown error; 2 timeout; 3 not found; 5 too slow; 6 network;
        7 unfinished transfers remain; 8 the server does not support resuming, which was required;
        9 no space on the device; 13 the file exists; 15 a file could not be opened; 16 a file could not be created;
        17 file input or output; 18 a directory could not be created; 19 name resolution;
        22 bad or unexpected response; 23 redirects; 24 authentication; 28 bad option or argument;
        29 the server is overloaded; 32 checksum mismatch; 130 ended by a signal.
        The status is that of the last failure of the run.
        .SH ENVIRONMENT
        .TP
        .B NO_COLOR
        If set and not empty, disables colours.
        .PP
        The environment of the \\-\\-refresh\\-command contains:
        .TP
        .B MARTLET_URL
        The URL that was refused, with its user information and query.
        .TP
        .B MARTLET_STATUS
        The status of the refusal: 401, 403 or 410.
        .SH FILES
        .TP
        .I NAME.part
        The data of NAME received so far.
        .TP
        .I NAME.part.journal
        The source and the progress of NAME.part. Keep both files to resume later.
        .TP
        .I NAME.martlet\\-bad
        A file that failed its checksum.

        """
}

extension String {
    /// The text with a lower-case first letter and without a final full stop.
    fileprivate var asNameLine: String {
        self.prefix(1).lowercased() + self.dropFirst().dropLast(self.hasSuffix(".") ? 1 : 0)
    }
}
