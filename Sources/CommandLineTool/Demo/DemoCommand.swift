// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Control

/// `martlet demo`: shows on this machine what happens when transfers are killed.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show in 20 s how transfers survive kill -9; needs no network.",
        discussion: """
            Starts a server on a free port of this machine. Kills a download and runs the same command again; replaces \
            a file on the server while a part of the old one was downloaded; kills a daemon with a list of files. \
            Compares all digests. Everything is in a temporary directory, which is removed at the end. The exit status \
            is 0 only if every step held.
            """
    )

    @Option(
        help: ArgumentHelp("Size of the large file. (default: 48M)", valueName: "size", visibility: .hidden),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var size: Int64?

    @Option(
        help: ArgumentHelp("Bytes per second. (default: 10M)", valueName: "size", visibility: .hidden),
        transform: { try OptionSyntax.size.parsed($0) }
    )
    var rate: Int64?

    @Option(help: ArgumentHelp("The process with which the program ends.", visibility: .hidden))
    var parent: Int32?

    @Option(help: ArgumentHelp("The program's working directory.", visibility: .hidden))
    var directory = "/"

    @Argument(parsing: .postTerminator, help: ArgumentHelp("A program and its arguments.", visibility: .hidden))
    var program: [String] = []

    func validate() throws {
        do { _ = try self.plan() } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        if let parent = self.parent { try ParentLink.become(self.program, in: self.directory, of: parent) }
        throw ExitCode(DemoRun.execute(try self.plan()))
    }

    /// The validated options.
    func plan() throws(SyntaxError) -> DemoPlan {
        var plan = DemoPlan()
        if let size = self.size { plan.size = size }
        if let rate = self.rate { plan.rate = rate }
        guard plan.size >= DemoPlan.smallestSize, plan.rate >= 64 << 10 else {
            throw SyntaxError("--size must be at least 4M, and --rate at least 64K")
        }
        guard self.parent != nil || self.program.isEmpty else { throw SyntaxError("the demo has no arguments") }
        return plan
    }

    /// Parses the arguments of `martlet demo`.
    ///
    /// - Throws: ``SyntaxError`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> DemoPlan { try Self.parse(arguments).plan() }
}
