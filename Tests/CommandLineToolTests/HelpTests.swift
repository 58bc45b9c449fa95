// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import CommandLineTool

@Suite("The help of martlet")
struct HelpTests {
    @Test("The help lists every command once, by task, in at most 79 columns")
    func commands() {
        let (status, help, errors) = CommandLineTool.run(["--help"])
        #expect(status == 0 && errors.isEmpty)
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(MartletCommand.names.count == 21)
        for name in MartletCommand.names + ["help"] {
            #expect(lines.dropFirst(6).count { $0 == "  \(name)" || $0.hasPrefix("  \(name) ") } == 1, "\(name)")
        }
        for heading in [
            "DOWNLOAD:", "UPLOAD:", "TRANSFER IN THE BACKGROUND:", "SHARE AND RECEIVE FILES:", "AUTOMATE:", "MORE:",
            "OPTIONS:",
        ] {
            #expect(lines.contains { $0 == heading }, "\(heading)")
        }
        #expect(help.contains("./martlet example NAME"))
        for line in lines { #expect(line.count <= 79, "\(line)") }
    }

    @Test("Each task has examples, which martlet accepts")
    func examples() throws {
        let lines = RootHelp.text.split(separator: "\n")
        #expect(RootHelp.examples.count == 5)
        for name in RootHelp.examples.keys { #expect(lines.contains { $0 == name.uppercased() + ":" }, "\(name)") }
        for (line, _) in RootHelp.examples.values.joined() {
            let words = line.split(separator: "|")[0].split(separator: " ").dropFirst().map(String.init)
                .map { word in
                    switch word {
                    case "URL": "http://h/a"
                    case "FILE...": "a"
                    case "T.csv", "R", "DIR", "NAME", "LIST", "FILE", "COMMAND": word
                    default: word
                    }
                }
            #expect(throws: Never.self, "\(line)") { _ = try QueueRun.command(words) }
        }
    }

    @Test(
        "Without a command, and with a request for help, the same text is printed",
        arguments: [
            [], ["-h"], ["--help"], ["help"],
        ]
    )
    func requests(arguments: [String]) {
        let (status, output, errors) = CommandLineTool.run(arguments)
        #expect(status == 0 && errors.isEmpty)
        #expect(output == RootHelp.text)
        // The first lines show what to try.
        let start = output.split(separator: "\n").prefix(3)
        #expect(start.contains { $0.hasPrefix("  martlet demo ") })
        #expect(start.contains { $0.hasPrefix("  martlet get URL ") })
    }

    @Test("Help of a command is that command's", arguments: [["get", "--help"], ["help", "get"], ["get", "-h"]])
    func command(arguments: [String]) {
        let (status, output, _) = CommandLineTool.run(arguments)
        #expect(status == 0 && output.contains("--stall-timeout"))
    }

    @Test(
        "A wrong command exits with 28 and a suggestion",
        arguments: [
            (["hlep"], "'hlep' is not a command; did you mean martlet help?"),
            (["help", "gte"], "'gte' is not a command; did you mean martlet get?"),
            (["Lsit"], "did you mean martlet list?"),
            (["dameon", "--detach"], "did you mean martlet daemon?"),
            (["manual"], "'manual' is not a command\n"),
            (["example", "blocking"], "write ./martlet example NAME in a checkout"),
            (["https://h/a"], "write martlet get https://h/a"),
            (["--hlep"], "Unknown option '--hlep'"),
            (["--retry", "3", "get", "https://h/a"], "written after the command: martlet get --retry"),
            (["wget", "https://h/a"], "did you mean martlet get?"), (["upload", "a"], "did you mean martlet put?"),
            (["get", "http//h/a"], "write http://h/a"), (["get", "https:/h/a"], "write https://h/a"),
        ]
    )
    func wrongCommands(arguments: [String], message: String) {
        let (status, output, errors) = CommandLineTool.run(arguments)
        #expect(status == 28 && output.isEmpty)
        #expect(errors.contains(message), "\(errors)")
        #expect(errors.split(separator: "\n").count <= 3)
    }

    @Test("A description is wrapped below its first word, and a long name has its own line")
    func wrapping() {
        let words = Array(repeating: "words", count: 20).joined(separator: " ")
        let lines = RootHelp.line("name", words).split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix("  name        words"))
        #expect(lines[1].hasPrefix("              words"))
        #expect(RootHelp.line("generate-manual", "Text.") == "  generate-manual\n              Text.\n")
    }

    @Test("The distance counts insertions, deletions, substitutions and swaps")
    func distance() {
        for (first, second, distance) in [
            ("", "get", 3), ("get", "get", 0), ("hlep", "help", 1), ("ad", "add", 1), ("putt", "put", 1),
            ("gat", "get", 1),
        ] {
            #expect(UnknownCommand.distance(first, second) == distance, "\(first) \(second)")
        }
        #expect(UnknownCommand.nearest(to: "zzz") == nil)
    }
}
