// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import Receiver

/// `martlet serve`: the source of its argument parser, help, completions and manual page.
struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve a directory over HTTP: downloads, uploads and share links.",
        discussion: """
            Downloads with ranges, digests and listings; uploads with PUT, POST, forms, tus 1.0 and the IETF draft for \
            resumable uploads. An uploaded file becomes readable only when it is complete and on disk. On loopback, \
            the default, local programs may read and write; on other addresses credentials are required, \
            except for share links. Sizes accept \
            K, M and G (powers of 1024); times are in seconds. SIGTERM and Ctrl-C let running requests finish.
            """
    )

    @Argument(
        help: ArgumentHelp("Directory to serve; optional with --share.", valueName: "dir"),
        completion: .directory
    )
    var directory: String?

    @OptionGroup(title: "Address and encryption")
    var address: ServeAddressOptions

    @OptionGroup(title: "Content")
    var content: ServeContentOptions

    @OptionGroup(title: "Access control")
    var access: ServeAccessOptions

    @OptionGroup(title: "Limits")
    var limits: ServeLimitOptions

    func validate() throws {
        do { _ = try self.plan() } catch { throw ValidationError(error.description) }
    }

    func run() throws {
        throw ExitCode(ServeRun.execute(try self.plan()))
    }

    /// The validated arguments; reads no file.
    func plan() throws(SyntaxError) -> ServePlan { try ServePlan(self) }

    /// Parses the arguments of `martlet serve`.
    ///
    /// - Throws: ``SyntaxError`` or ArgumentParser's error.
    static func plan(_ arguments: [String]) throws -> ServePlan { try Self.parse(arguments).plan() }
}
