// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import TransferEngine

/// The page `Docs/Options.md`, made from the table of options and the definitions of the commands.
enum OptionsPage {
    /// The commands whose options are listed together.
    private static let commands = ["get", "put", "add"]

    /// The options of the queue that are not those of a transfer on the command line, and the commands that have them.
    private static let others = [
        ("add", OptionEntry(OptionSpec.queuePriority)), ("daemon", OptionEntry(OptionSpec.maxConcurrentDownloads)),
        ("limit", OptionEntry(OptionSpec.downloads)), ("limit", OptionEntry(OptionSpec.queueRate)),
        ("daemon", OptionEntry(OptionSpec.maxDownloadResult)), ("daemon", OptionEntry(OptionSpec.saveSession)),
        ("daemon", OptionEntry(OptionSpec.saveSessionInterval)), ("daemon", OptionEntry(OptionSpec.notify)),
    ]

    /// - Throws: `DecodingError` if ArgumentParser's description has an unexpected format.
    static func text() throws -> String {
        let tool = try ManualPage.tool()
        let commands = Self.commands.compactMap { name in tool.subcommands?.first { $0.commandName == name } }
        var page = """
            # Options

            Every option of `martlet get`, `put` and `add`, and every option of the daemon's queue. The texts are those of
            the help, which says more (`martlet help get`). Other programs' names are in [Spellings](Spellings.md), the
            methods of the daemon in [rpc](rpc.md). This page is made from the source: `martlet generate-manual --options`.

            ## On the command line

            *Queue* is the name of the same option in the daemon's queue.

            """
        var known: Set<String> = []
        var section = ""
        for command in commands {
            for argument in command.arguments ?? [] where argument.shouldDisplay && argument.kind != "positional" {
                guard let names = argument.names, let name = names.last(where: { $0.kind == "long" })?.name,
                    name != "help", name != "version", known.insert(name).inserted
                else { continue }
                let title = argument.sectionTitle ?? "Other options"
                if title != section { page += "\n### \(title)\n\n" + Self.head }
                section = title
                page += Self.row(argument, name, commands)
            }
        }
        page += """

            ## In the queue

            These are the members of `options` in the RPC, and the indented lines of a list (`-i`). Those of aria2 have
            aria2's meaning. *While it runs*: a change does not interrupt a running transfer.

            | option | values | default | command line | applies to |
            |---|---|---|---|---|

            """
        for name in OptionName.allCases { page += Self.row(name) }
        return page
    }

    private static let head = "| option | of | default | effect | queue |\n|---|---|---|---|---|\n"

    private static func row(
        _ argument: ToolDescription.Argument,
        _ name: String,
        _ commands: [ToolDescription.Command]
    ) -> String {
        let spellings = (argument.names ?? []).map { "`\($0.kind == "long" ? "--" : "-")\($0.name)`" }
        let value = argument.kind == "flag" ? "" : " *\(argument.valueName ?? "value")*"
        let users = commands.filter { command in
            (command.arguments ?? []).contains { $0.names?.contains { $0.name == name } == true }
        }
        var effect = argument.abstract ?? ""
        var standard = ""
        if effect.hasSuffix(")"), let range = effect.ranges(of: " (default: ").last {
            standard = String(effect[range.upperBound...].dropLast())
            effect = String(effect[..<range.lowerBound])
        } else if let text = argument.defaultValue, argument.kind != "flag" {
            standard = text
        }
        let stored = OptionEntry.all.first { $0.name == name }.map { "`\($0.stored)`" } ?? ""
        let cells = [
            spellings.joined(separator: ", ") + value, users.map(\.commandName).joined(separator: ", "), standard,
            effect, stored,
        ]
        return "| " + cells.map(Self.escaped).joined(separator: " | ") + " |\n"
    }

    private static func row(_ name: OptionName) -> String {
        let option = QueueOption(name)
        let own =
            OptionEntry.all.filter { $0.stored == name.rawValue }.map { "`--\($0.name)`" }
            + Self.others.filter { $0.1.stored == name.rawValue }.map { "`\($0.0) --\($0.1.name)`" }
        let scope =
            switch option.scope {
            case .transfer: "a transfer"
            case .running: "a transfer, while it runs"
            case .addition: "adding"
            case .queue: "the queue"
            }
        let values =
            option.rule.accepted + (name.hasSeveral ? "; several" : "") + (option.mayBeEmpty ? "; or empty" : "")
        let cells = ["`\(name.rawValue)`", values, option.standard ?? "", own.joined(separator: ", "), scope]
        return "| " + cells.map(Self.escaped).joined(separator: " | ") + " |\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("|", with: "\\|").replacing("<", with: "&lt;").replacing("\n", with: " ")
    }
}
