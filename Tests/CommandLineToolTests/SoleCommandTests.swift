// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Testing

@testable import CommandLineTool

@Suite("Commands that are parsed alone")
struct SoleCommandTests {
    @Test(
        "the values are those that the root command parses",
        arguments: [
            ["http://h/a"],
            ["-q", "-o", "name", "-x4", "--if-exists=rename", "http://h/a"],
            ["http://h/a", "-H", "A: b", "--header", "C: d", "--retries", "0", "--", "http://h/b"],
            ["--priority", "high", "http://h/a"],
            ["-i", "list", "--deny-private-addresses", "--allow-addresses", "10.1.0.0/16", "--limit-rate", "2M"],
        ]
    )
    func values(arguments: [String]) throws {
        let alone = try #require(SoleCommand<GetCommand>.command(arguments))
        let asRoot = try #require(try MartletCommand.parseAsRoot(["get"] + arguments) as? GetCommand)
        #expect("\(alone)" == "\(asRoot)")
    }

    @Test(
        "what the root command has to answer is not parsed",
        arguments: [
            "--help", "-h", "--help-hidden", "--version", "--unknown", "--generate-completion-script",
            "--experimental-dump-help", "--retries=many", "--output",
        ]
    )
    func answers(argument: String) {
        let isParsed = SoleCommand<GetCommand>.command(["http://h/a", argument]) != nil
        #expect(!isParsed)
    }
}
