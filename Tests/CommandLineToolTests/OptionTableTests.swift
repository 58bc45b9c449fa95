// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Daemon
import Files
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

/// Compares the table of options with the commands' help, the daemon's queue and RPC, and the documents.
@Suite("One table of options")
struct OptionTableTests {
    /// A value of each kind, by the placeholder of the help.
    private static let samples = [
        "number": "7", "seconds": "7", "size": "700000", "name": "sample", "dir": "/sample", "what": "rename",
        "digest": "md5=00112233445566778899aabbccddeeff", "field": "X-Sample: 1", "url": "http://sample/",
        "text": "sample", "cookies": "sample=1", "id": "0123456789abcdef",
    ]

    private static func arguments(of command: String) throws -> [ToolDescription.Argument] {
        let found = try ManualPage.tool().subcommands?.first { $0.commandName == command }
        return try #require(found?.arguments).filter { $0.kind != "positional" }
    }

    private static func document(_ name: String) throws -> String {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let bytes = try AtomicFile.read("\(root)/Docs/\(name)", atMost: 1 << 20)
        return String(decoding: try #require(bytes, "\(name)"), as: UTF8.self)
    }

    private static func value(_ argument: ToolDescription.Argument) throws -> String? {
        guard argument.kind == "option" else { return nil }
        let placeholder = try #require(argument.valueName)
        let sample: String = try #require(Self.samples[placeholder], "a sample of <\(placeholder)>")
        return sample
    }

    @Test("Every option of add changes the options of the queue that the table says, and no other")
    func add() throws {
        /// Those that are no options of a transfer, that are combined with others, or that the daemon reads from elsewhere.
        let others: Set = [
            "input-file", "timestamping", "paused", "position", "id", "json", "wait", "quiet", "user", "netrc",
            "netrc-file",
            "bearer-file", "load-cookies", "mirror", "upload", "request", "type", "form", "protocol", "upload-checksum",
            "no-expect", "state-dir", "no-start", "help", "version", "priority",
        ]
        var compared = 0
        for argument in try Self.arguments(of: "add") {
            let name = try #require(argument.names?.last { $0.kind == "long" }?.name)
            let entry = OptionEntry.all.first { $0.name == name }
            #expect((entry == nil) == others.contains(name), "--\(name)")
            guard let entry else { continue }
            let value = try Self.value(argument)
            let words = ["http://h/a", value.map { "--\(name)=\($0)" } ?? "--\(name)"]
            let plan = try AddCommand.parse(words).plan()
            let options = try #require(plan.transfers.first).options
            let stored = try #require(OptionName(rawValue: entry.stored))
            let expected = try #require(entry.storedText(value ?? "true"))
            #expect(options[all: stored].last == expected, "--\(name)")
            // A name is exact, and connections are also those to one server.
            let related: Set<OptionName> = [.ifExists, .autoFileRenaming, .maxConnectionPerServer]
            #expect(
                Set(options.names).subtracting(related).subtracting([stored]).isEmpty,
                "--\(name): \(options.names)"
            )
            compared += 1
        }
        #expect(compared > 15)
    }

    @Test("The queue accepts what the command line stores, in the RPC as in a list")
    func queue() throws {
        let arguments = try Self.arguments(of: "get")
        for entry in OptionEntry.all {
            let name = try #require(OptionName(rawValue: entry.stored), "\(entry.name)")
            let argument = try #require(arguments.first { $0.names?.contains { $0.name == entry.name } == true })
            let text = try #require(entry.storedText(try Self.value(argument) ?? "true"))
            #expect(try QueueOption(name).rule.value(text) == text, "\(entry.name)")
            #expect(QueueOption(name).scope != .queue, "\(entry.name)")
        }
    }

    @Test(
        "A default of the queue is a value that it accepts, and equals the command line's where the option is the same"
    )
    func defaults() throws {
        for name in OptionName.allCases {
            let option = QueueOption(name)
            guard let standard = option.standard else { continue }
            #expect(try option.rule.value(standard) == standard, "\(name)")
        }
        #expect(QueueOption(.userAgent).standard == OptionSpec<String>.userAgent.standard)
        #expect(QueueOption(.timeout).standard == OptionSpec<Duration>.stallTimeout.standard)
    }

    @Test("The document of the options is that of the source")
    func published() throws {
        let page = try OptionsPage.text()
        #expect(try Self.document("Options.md") == page, "martlet generate-manual --options > Docs/Options.md")
        for command in ["get", "put", "add"] {
            for argument in try Self.arguments(of: command) where argument.shouldDisplay {
                let name = try #require(argument.names?.last?.name)
                #expect(name == "help" || name == "version" || page.contains("`--\(name)`"), "--\(name)")
            }
        }
    }

    @Test("The description of the RPC names every option of the queue")
    func rpc() throws {
        let page = try Self.document("rpc.md")
        for name in OptionName.allCases { #expect(page.contains("`\(name.rawValue)`"), "\(name.rawValue)") }
    }
}
