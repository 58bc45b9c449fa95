// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore

extension ArgumentPass {
    /// Translates the arguments of a command.
    static func run(_ words: [String], of command: String) -> Result {
        guard !words.contains("--help"), !words.contains("-h") else { return .unchanged }
        return Self.run(words, command: command, native: self.options(of: command))
    }

    /// The options of a command with their hyphens, and whether they have values.
    static func options(of command: String) -> [String: Bool] {
        var options = ["--help": false, "-h": false, "--version": false, "--generate-completion-script": true]
        guard let type = MartletCommand.command(command), let description = try? JSON(parsing: type._dumpHelp()) else {
            return options
        }
        for argument in description["command"]?["arguments"]?.array ?? [] {
            let hasValue = argument["kind"]?.string == "option"
            for name in argument["names"]?.array ?? [] {
                guard let text = name["name"]?.string else { continue }
                options[(name["kind"]?.string == "long" ? "--" : "-") + text] = hasValue
            }
        }
        return options
    }
}
