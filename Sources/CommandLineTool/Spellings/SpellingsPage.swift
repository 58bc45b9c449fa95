// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The page `Docs/Spellings.md`, made from the table.
enum SpellingsPage {
    static var text: String {
        var page = """
            # Options of curl, wget and aria2

            For people who know these programs. `martlet get`, `put` and `add` accept the options in the first table with
            the meaning of the program that has them; those in the second are answered with what to write instead, because
            the programs disagree about them, or because martlet does not do it. Nothing is guessed. `martlet` called by the
            name `aria2c` takes aria2's arguments with aria2's meanings. This page is made from the source:
            `martlet generate-manual --spellings`.

            The options that both sides have under one name and with one meaning, such as `--user`, `--limit-rate`,
            `--max-time`, `--connect-timeout`, `--referer`, `-A` and `-i`, are in `martlet help get`.

            | option | of | here |
            |---|---|---|

            """
        for option in ForeignOption.all {
            guard let meaning = Self.meaning(option) else { continue }
            page += "| \(Self.names(option)) | \(option.tools.names) | \(meaning) |\n"
        }
        page += """

            ## Answered

            | option | of | answer |
            |---|---|---|

            """
        for option in ForeignOption.all {
            guard case .answer(let text) = option.meaning else { continue }
            page += "| \(Self.names(option)) | \(option.tools.names) | \(Self.escaped(text)) |\n"
        }
        page += """

            ## Ours with another meaning there

            | option | note |
            |---|---|

            """
        for (spelling, note) in ForeignOption.ours { page += "| `\(spelling)` | \(Self.escaped(note)) |\n" }
        return page
    }

    private static func names(_ option: ForeignOption) -> String {
        option.spellings.map { "`\($0)`" }.joined(separator: ", ")
    }

    private static func meaning(_ option: ForeignOption) -> String? {
        switch option.meaning {
        case .option(let name): "`\(name)`"
        case .words(let shown, _): Self.escaped(shown)
        case .usual(let text): "nothing to do: \(Self.escaped(text))"
        case .user: "`--user`"
        case .password: "with the user, `--user`"
        case .answer: nil
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("|", with: "\\|").replacing("<", with: "&lt;")
    }
}
