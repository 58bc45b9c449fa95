// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("The manual page")
struct ManualTests {
    private static let page = Result { try ManualPage.current() }

    /// The text of all sources, without those that only tests use, and without the manual itself.
    ///
    /// strstr(3) finds a text in milliseconds, a regular expression in seconds.
    private struct Sources {
        private var text: [UInt8] = []

        init() throws {
            let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Sources"
            for path in try FileManager.default.subpathsOfDirectory(atPath: root)
            where path.hasSuffix(".swift") && !path.contains("/Manual/") && !path.hasPrefix("TransferTesting/") {
                self.text += try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)"))
            }
            self.text.append(0)
        }

        func contains(_ text: String) -> Bool { !self.texts(between: text, and: "").isEmpty }

        /// The texts between each occurrence of a text and the next occurrence of another one.
        func texts(between start: String, and end: String) -> [String] {
            var texts: [String] = []
            self.text.withUnsafeBytes { buffer in
                guard var place = buffer.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
                while let first = strstr(place, start) {
                    place = UnsafePointer(first) + start.utf8.count
                    guard let last = strstr(place, end) else { return }
                    let bytes = UnsafeRawBufferPointer(start: place, count: UnsafePointer(last) - place)
                    texts.append(String(decoding: bytes, as: UTF8.self))
                }
            }
            return texts
        }
    }

    private static let sources = Result { try Sources() }

    @Test("It names every command and its page")
    func commands() throws {
        let page = try Self.page.get()
        for name in MartletCommand.names.map(ManualPage.escaped) {
            #expect(page.contains(".TP\n.BR martlet\\-\(name) (1)\n"), "\(name)")
            #expect(page.contains(".B martlet \(name)\n"), "\(name)")
        }
        for section in ["DESCRIPTION", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "EXAMPLES", "\"SEE ALSO\""] {
            #expect(page.contains(".SH \(section)\n"), "\(section)")
        }
        #expect(!page.contains("Show help information"))
        #expect(page.utf8.allSatisfy { $0 < 0x80 }, "roff needs escapes for other characters")
    }

    @Test("It has every exit status, in ascending order")
    func statuses() throws {
        let listed = ManualTables.statuses.map(\.status)
        #expect(listed == Set(listed).sorted())
        var used: Set<Int32> = [
            ExitStatus.success, ExitStatus.unfinished, ExitStatus.fileIO, ExitStatus.noSpace, ExitStatus.usage,
            ExitStatus.rowsFailed, ExitStatus.reportIsBusy, ExitStatus.interrupted, ExitStatus.noDaemon,
        ]
        for code in TransferFailure.Code.allCases { used.insert(Int32(Aria2ExitStatus(code).number)) }
        #expect(used == Set(listed))
        let page = try Self.page.get()
        for status in listed { #expect(page.contains(".TP\n.B \(status)\n"), "\(status)") }
    }

    @Test("It has every number that the sources declare as an exit status")
    func declaredStatuses() throws {
        let listed = Set(ManualTables.statuses.map(\.status))
        var count = 0
        for body in try Self.sources.get().texts(between: " ExitStatus {\n", and: "\n}\n") {
            for match in body.matches(of: /(?:Int32 = |case [^:\n]+: |default: )(\d+)\n/) {
                count += 1
                #expect(Int32(match.1).map { listed.contains($0) } == true, "\(match.1)")
            }
        }
        #expect(count >= 9)
    }

    @Test("It has every environment variable that the sources read or set, and no other")
    func variables() throws {
        let sources = try Self.sources.get()
        var named = Set(["environment(\"", "getenv(\""].flatMap { sources.texts(between: $0, and: "\"") })
        let ours = sources.texts(between: "\"MARTLET_", and: "\"").filter { !$0.contains(" ") }
        named.formUnion(ours.map { "MARTLET_" + $0 })
        let listed = Set((ManualTables.variables + ManualTables.commandVariables).flatMap(\.names))
        #expect(named.count > 20)
        // Set by the simulator, which is not installed.
        #expect(named.subtracting(listed) == ["SWIFT_DETERMINISTIC_HASHING"])
        // TZ is read by localtime(3).
        for name in listed.subtracting(["TZ"]) { #expect(sources.contains("\"\(name)\""), "\(name)") }
    }

    @Test("Its files have the names that the sources use")
    func usedFiles() throws {
        let sources = try Self.sources.get()
        let names = (ManualTables.files + ManualTables.stateFiles).flatMap(\.names)
        for suffix in [
            ".part", ".part.journal", ".martlet-bad", ".martlet-new", ".origin", ".martlet-reports", ".martlet-shards",
            "queue.sqlite", "rpc-secret", "martletd.log", "martletd.sock", "martletd.lock", "sessions", "spools",
            ".martlet-uploads", ".martlet.json", "daemon-options.json",
        ] {
            #expect(sources.contains("\"\(suffix)\""), "\(suffix)")
            #expect(names.contains { $0.contains(suffix) }, "\(suffix)")
        }
    }

    @Test("Each example is a command line that martlet accepts")
    func examples() throws {
        for example in ManualTables.examples {
            for name in example.names {
                // Longer lines are broken in a terminal of 80 columns.
                #expect(name.count <= 71, "\(name)")
                let command = name.split(separator: "|").first { $0.contains("martlet ") }.map(String.init)
                let words = try #require(command).split(separator: " ").drop { $0 != "martlet" }.dropFirst()
                    .prefix { $0 != ">" }
                    .map { $0 == "sha256:HEX" ? "sha256:" + String(repeating: "0", count: 64) : String($0) }
                #expect(throws: Never.self, "\(name)") { _ = try QueueRun.command(words) }
            }
        }
    }

    @Test("Every command has a page with its options, and what it names exists")
    func pages() throws {
        let tool = try ManualPage.tool()
        for name in MartletCommand.names {
            let page = try ManualPage.current(name)
            let title = ManualPage.escaped("martlet-\(name)")
            #expect(page.hasPrefix(".TH \(title.uppercased()) 1 "), "\(name)")
            for section in ["SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
                #expect(page.contains(".SH \(section)\n"), "\(name) \(section)")
            }
            #expect(page.contains(".SH NAME\n\(title) \\- "))
            #expect(page.utf8.allSatisfy { $0 < 0x80 }, "\(name): roff needs escapes for other characters")
            let command = try #require(tool.subcommands?.first { $0.commandName == name })
            for argument in command.arguments ?? [] where argument.shouldDisplay && argument.kind != "positional" {
                for option in argument.names ?? [] where option.kind == "long" && option.name != "version" {
                    #expect(page.contains("\\fB" + ManualPage.escaped("--" + option.name) + "\\fR"), "\(option.name)")
                }
            }
            for reference in page.split(separator: "\n") where reference.hasPrefix(".BR martlet\\-") {
                let other = reference.dropFirst(".BR martlet\\-".count).prefix { $0 != " " }.replacing("\\-", with: "-")
                #expect(MartletCommand.names.contains(String(other)), "\(reference)")
            }
        }
        #expect(CommandLineTool.run(["generate-manual", "hlep"]).status == 28)
        #expect(CommandLineTool.run(["generate-manual", "get", "--directory", "d"]).status == 28)
    }

    @Test("All pages are written into a directory")
    func files() throws {
        let temporary = try TemporaryDirectory()
        #expect(CommandLineTool.run(["generate-manual", "--directory", temporary.path("man1")]).status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: temporary.path("man1"))
        #expect(Set(names) == Set(["martlet.1"] + MartletCommand.names.map { "martlet-\($0).1" }))
    }

    @Test("Text is escaped for roff")
    func escapes() {
        #expect(ManualPage.escaped("a-b ~/c^d") == "a\\-b \\(ti/c\\(had")
    }
}
