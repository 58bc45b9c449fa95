// SPDX-License-Identifier: Apache-2.0
/// The message for an unknown command.
enum UnknownCommand {
    /// The message, or `nil` if the arguments start with a command or an option.
    static func message(for arguments: [String]) -> String? {
        guard let word = arguments.first == "help" ? arguments.dropFirst().first : arguments.first else { return nil }
        let shown = DisplayText.clean(word)
        if word.hasPrefix("-"), arguments.first == word,
            let command = arguments.first(where: MartletCommand.names.contains)
        {
            return "Error: options are written after the command: martlet \(command) \(shown) …"
        }
        guard !word.hasPrefix("-"), !self.names.contains(word) else { return nil }
        if word.contains("://") { return "Error: '\(shown)' is not a command; write martlet get \(shown)" }
        let advice =
            if word == "example" {
                "; write ./martlet example NAME in a checkout"
            } else {
                (self.meanings[word.lowercased()] ?? self.nearest(to: word)).map { "; did you mean martlet \($0)?" }
                    ?? ""
            }
        return "Error: '\(shown)' is not a command\(advice)\n  See 'martlet --help' for all commands."
    }

    /// Our commands for words of other programs.
    private static let meanings = [
        "curl": "get", "wget": "get", "aria2c": "get", "download": "get", "fetch": "get", "upload": "put",
        "send": "put",
        "queue": "list", "ls": "list", "status": "list", "info": "show", "rm": "remove", "delete": "remove",
        "cancel": "remove", "start": "resume", "unpause": "resume", "restart": "retry", "kill": "stop", "quit": "stop",
        "shutdown": "stop", "share": "serve", "ui": "web", "page": "web", "man": "generate-manual",
    ]

    private static var names: [String] { MartletCommand.names + ["help"] }

    /// The command's name that a word resembles: at most one edit per three letters, rounded up.
    static func nearest(to word: String) -> String? {
        guard word.utf8.count <= 20 else { return nil }
        let ranked = self.names.map { (name: $0, distance: self.distance(word.lowercased(), $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance * 3 <= best.name.utf8.count + 2 ? best.name : nil
    }

    /// The number of insertions, deletions, substitutions and swaps of neighbours between two words.
    ///
    /// - Source: optimal string alignment (Damerau, Levenshtein).
    static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.utf8), Array(second.utf8))
        guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
        var rows = [Array(0...b.count)]
        for i in 1...a.count {
            var row = [i]
            for j in 1...b.count {
                var least = min(
                    rows[i - 1][j] + 1,
                    row[j - 1] + 1,
                    rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
                )
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    least = min(least, rows[i - 2][j - 2] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
