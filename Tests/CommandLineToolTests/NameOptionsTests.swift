// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Control
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import CommandLineTool

@Suite("Names, updates and lists of digests")
struct NameOptionsTests {
    @Test("--timestamping is --if-exists update")
    func timestamping() throws {
        #expect(try plan("-N", "http://h/a").options.ifExists == .update)
        #expect(try plan("--timestamping", "-o", "b", "http://h/a").options.ifExists == .update)
        #expect(try plan("--if-exists", "update", "http://h/a").options.ifExists == .update)
        for arguments in [["-N", "--if-exists", "skip"], ["-N", "-o", "-"], ["--if-exists", "update", "-o", "-"]] {
            #expect(throws: (any Error).self) { try GetCommand.plan(arguments + ["http://h/a"]) }
        }
    }

    @Test("--checksums-from is a file, standard input or a URL")
    func checksums() throws {
        #expect(try plan("http://h/a").checksums == nil)
        #expect(try plan("--checksums-from", "SHA256SUMS", "http://h/a").checksums == .file("SHA256SUMS"))
        #expect(try plan("--checksums-from", "-", "http://h/a").checksums?.name == "standard input")
        let remote = try plan("--checksums-from", "https://h/x/SHA256SUMS", "http://h/a").checksums
        #expect(remote == .url(try HTTPURL("https://h/x/SHA256SUMS")) && remote?.name == "SHA256SUMS")
        for list in [
            ["-", "-i", "-"], ["", "http://h/a"], ["ftp://h/SUMS", "http://h/a"], ["a", "--manifest", "t.csv"],
        ] {
            #expect(throws: (any Error).self) { try GetCommand.plan(["--checksums-from"] + list) }
        }
    }

    @Test("a file of --checksums-from may be compared and unchanged, and the summary says both")
    func summary() {
        var summary = Summary(finished: 1, skipped: 4, unchanged: 3, verified: 2, elapsed: .seconds(1))
        #expect(summary.lines()[0].hasPrefix("1 finished, 3 unchanged, 1 skipped, 0 failed, 2 verified; "))
        summary.unchanged = 0
        summary.verified = nil
        #expect(summary.lines()[0].hasPrefix("1 finished, 4 skipped, 0 failed; "))
    }

    @Test("add -o asks for the name itself; aria2's clients get a number, as from aria2")
    func add() throws {
        func options(_ arguments: String...) throws -> [String?] {
            let transfer = try #require(AddCommand.parse(arguments).plan().transfers.first)
            return [transfer.options[.ifExists], transfer.options[.autoFileRenaming]]
        }
        #expect(try options("http://h/a") == [nil, nil])
        #expect(try options("-o", "b", "http://h/a") == ["auto", "false"])
        #expect(try options("-o", "b", "--if-exists", "rename", "http://h/a") == ["rename", "false"])
        #expect(try options("-N", "-o", "b", "http://h/a") == ["update", "false"])
        #expect(throws: (any Error).self) { try options("-N", "--if-exists", "skip", "http://h/a") }
    }

    @Test("a warning tells what is not sent, for the first of each kind")
    func leftOut() {
        var files = LeftOutFiles()
        for number in 0..<12 {
            let line = files.add("d/\(number)", .link)
            #expect(line == (number < 10 ? "not sent: d/\(number) is a symbolic link" : nil))
        }
        #expect(files.add("d/e", .emptyDirectory) == "not sent: d/e is an empty directory")
        #expect(files.rest == ["not sent: 2 more, each a symbolic link"])
    }
}
