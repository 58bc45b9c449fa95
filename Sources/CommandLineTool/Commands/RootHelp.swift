// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The help of `martlet` without a command: the commands by task.
///
/// ArgumentParser's own would end each group's heading in "SUBCOMMANDS". Lines have at most 79 columns.
enum RootHelp {
    /// The text.
    static var text: String {
        var text = """
            \(MartletCommand.configuration.abstract)

              martlet demo       shows it in 20 seconds, without a network
              martlet get URL    downloads a file; if interrupted, run it again

            USAGE: \(MartletCommand.configuration.usage ?? "")

            """
        for group in MartletCommand.groups {
            text += "\n\(group.name.uppercased()):\n"
            for command in group.subcommands where command.configuration.shouldDisplay {
                text += self.line(command._commandName, command.configuration.abstract)
            }
        }
        return text + self.foot
    }

    private static let foot = """
          help        Show the options of a command: martlet help get

        OPTIONS:
          --version   Show the version.
          -h, --help  Show this help, or that of a command: martlet get --help
          --generate-completion-script SHELL
                      Print completions for bash, zsh or fish.

        Examples: ./martlet example NAME, in a checkout, runs a program that uses the
        library. ./martlet example lists the names.

        """

    /// The column of the descriptions.
    private static let column = 14
    private static let width = 79

    /// One command with its description, wrapped.
    static func line(_ name: String, _ description: String) -> String {
        let indent = String(repeating: " ", count: self.column)
        var line = "  " + name
        var text = ""
        // A name that reaches the column of the descriptions has a line for itself.
        if line.count > self.column - 2 {
            text = line + "\n"
            line = indent
        } else {
            line += indent.dropFirst(line.count)
        }
        var isFirst = true
        for word in description.split(separator: " ") {
            if !isFirst, line.count + 1 + word.count > self.width {
                text += line + "\n"
                line = indent
                isFirst = true
            }
            line += (isFirst ? "" : " ") + word
            isFirst = false
        }
        return text + line + "\n"
    }
}
