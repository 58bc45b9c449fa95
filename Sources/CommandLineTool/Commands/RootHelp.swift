// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The help of `martlet` without a command: the commands by task.
///
/// ArgumentParser's own would end each group's heading in "SUBCOMMANDS". Lines have at most 79 columns.
enum RootHelp {
    static var text: String {
        var text = """
            \(MartletCommand.configuration.abstract)

              martlet demo       shows it in 20 seconds, without a network
              martlet get URL    downloads a file; if interrupted, run it again

            USAGE: \(MartletCommand.configuration.usage ?? "")

            """
        for group in MartletCommand.groups {
            text += "\n\(group.name.uppercased()):\n"
            for (line, meaning) in self.examples[group.name] ?? [] { text += self.line(line, meaning, column: 42) }
            for command in group.subcommands where command.configuration.shouldDisplay {
                text += self.line(command._commandName, command.configuration.abstract)
            }
        }
        return text + self.foot
    }

    /// The groups of commands, by what people want to do.
    static let examples: [String: [(line: String, meaning: String)]] = [
        "Download": [
            ("martlet get URL", "one file"), ("martlet get URL -o NAME", "under a name of your own"),
            ("martlet get -i LIST -d DIR -j 16", "many files, 16 at once"),
            ("martlet get -q -o - URL | tar xz", "into a pipe"),
        ],
        "Upload": [("martlet put FILE... URL", "files; PUT, POST, tus")],
        "Transfer in the background": [
            ("martlet add URL", "returns at once"), ("martlet top", "watch and change the queue"),
            ("martlet wait --all", "until all has ended"),
        ],
        "Share and receive files": [
            ("martlet serve DIR", "on this machine"), ("martlet serve --share FILE", "prints a link to one file"),
        ],
        "Automate": [
            ("martlet get --json URL", "events as JSON lines"),
            ("martlet get --manifest T.csv --report R", "a table, a report of each row"),
            ("martlet daemon --on-finish COMMAND", "runs a command after each"),
        ],
    ]

    private static let foot = """
          help        Show the options of a command: martlet help get

        OPTIONS:
          --version   Show the version.
          -h, --help  Show this help, or that of a command: martlet get --help
          --generate-completion-script SHELL
                      Print completions for bash, zsh or fish, also of ids and files.

        Manual: martlet generate-manual COMMAND | man -l -

        Examples: ./martlet example NAME, in a checkout, runs a program that uses the
        library. ./martlet example lists the names.

        """

    /// The column of the descriptions.
    static let column = 14
    private static let width = 79

    /// One command with its description, wrapped.
    static func line(_ name: String, _ description: String, column: Int = Self.column) -> String {
        let indent = String(repeating: " ", count: column)
        var line = "  " + name
        var text = ""
        // A name that reaches the column of the descriptions has a line for itself.
        if line.count > column - 2 {
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
