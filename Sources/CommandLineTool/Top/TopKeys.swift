// SPDX-License-Identifier: Apache-2.0
/// The keys of `martlet top`, for its footer and its help page.
enum TopKeys {
    /// The keys and what they do, grouped.
    static let all: [(title: String, keys: [(key: String, effect: String)])] = [
        (
            "Moving",
            [
                ("up, down, j, k", "select the previous or next transfer"),
                ("page up, page down", "a screen up or down"),
                ("home, end, g, G", "the first or last transfer"),
                ("1-6, tab, left, right", "only transfers in a state"),
                ("/", "only transfers with words in their name or URL"),
                ("s", "sort: newest first, by name, largest first"),
                ("enter", "details of the selected transfer"),
                ("esc", "back; then: remove the marks; then: remove the filter"),
            ]
        ),
        (
            "The marked transfers, or the selected one",
            [
                ("space", "mark, or remove the mark"),
                ("a", "mark all on the screen"),
                ("p", "pause"),
                ("r", "resume; for an unreachable host: try now"),
                ("t", "retry failed or removed ones"),
                ("d, delete", "remove, or remove from the history; asks first"),
                ("+, K, shift-up", "one place to the front of the queue"),
                ("-, J, shift-down", "one place to the end of the queue"),
                ("<, >", "first or last in the queue"),
                ("u", "give the selected transfer a new URL; its data is kept"),
            ]
        ),
        (
            "The whole queue",
            [
                ("P, R", "pause or resume all"),
                ("T", "retry all failed"),
                ("D", "remove all; in Failed and Done: clear the history; asks first"),
                ("l", "limits: total rate, concurrent transfers, hosts"),
            ]
        ),
        ("Others", [("?", "this page"), ("ctrl-l", "redraw"), ("ctrl-z", "suspend"), ("q, ctrl-c", "quit")]),
    ]

    /// The lines of the help page.
    static func help(width: Int) -> [String] {
        var lines: [String] = []
        for group in self.all {
            if !lines.isEmpty { lines.append("") }
            lines.append(group.title)
            for (key, effect) in group.keys {
                let column = width >= 60 ? 26 : 18
                let line = "  " + key + String(repeating: " ", count: max(1, column - 2 - key.utf8.count)) + effect
                lines += TopText.wrapped(line, columns: width, indent: column)
            }
        }
        return lines
    }

    /// The keys of the footer, the most important first.
    static func footer(_ mode: TopMode) -> [(key: String, effect: String)] {
        switch mode {
        case .list:
            [
                ("q", "quit"), ("?", "keys"), ("p", "pause"), ("r", "resume"), ("t", "retry"), ("d", "remove"),
                ("enter", "details"), ("/", "filter"), ("+-", "move"), ("l", "limits"), ("space", "mark"),
                ("u", "new URL"), ("s", "sort: newest first, by name, largest first"), ("P R", "all"),
            ]
        case .details:
            [
                ("q", "back"), ("?", "keys"), ("p", "pause"), ("r", "resume"), ("t", "retry"), ("d", "remove"),
                ("u", "new URL"), ("up down", "scroll"),
            ]
        case .limits: [("q", "back"), ("enter", "change"), ("up down", "select")]
        case .help: [("q", "back"), ("up down", "scroll")]
        }
    }
}
