// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferEngine
import Files
import TransferCore

/// `martlet generate-manual`: prints or writes manual pages.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate-manual",
        abstract: "Print a manual page, for man -l - and for packages.",
        discussion: """
            Without a command, the page martlet(1), otherwise the command's, such as martlet-get(1). With --directory, \
            writes all of them as files, such as martlet-get.1.
            """
    )

    @Argument(
        help: ArgumentHelp("Command of the page.", valueName: "command"),
        completion: .list(MartletCommand.names)
    )
    var command: String?

    @Option(.manualDirectory) var directory: String?

    @Flag(.printsSpellings) var spellings = false

    @Flag(.printsOptions) var options = false

    func validate() throws {
        guard !self.spellings && !self.options || self.command == nil && self.directory == nil else {
            throw ValidationError("--spellings and --options print a table, not pages; leave the rest out")
        }
        guard !self.spellings || !self.options else {
            throw ValidationError("--spellings and --options cannot be used together; leave one out")
        }
        if let command = self.command, !MartletCommand.names.contains(command) {
            throw ValidationError("'\(DisplayText.clean(command))' is not a command; see martlet --help")
        }
        guard self.command == nil || self.directory == nil else {
            throw ValidationError("--directory writes the pages of all commands; leave the command out")
        }
        if self.directory?.isEmpty == true { throw ValidationError("--directory is empty; name a directory") }
    }

    func run() throws {
        if self.spellings { return print(SpellingsPage.text, terminator: "") }
        if self.options { return print(try OptionsPage.text(), terminator: "") }
        guard let directory = self.directory else {
            print(try ManualPage.current(self.command), terminator: "")
            return
        }
        do throws(StorageError) {
            _ = try DirectoryHandle.open(directory, creating: true)
        } catch {
            throw ValidationError(error.message)
        }
        for command in [nil] + MartletCommand.names.map(Optional.some) {
            let page = try ManualPage.current(command)
            let path = FilePath.join(directory, ManualPage.name(of: command) + ".1")
            do throws(StorageError) {
                try AtomicFile.replace(path, with: Array(page.utf8), mode: 0o644)
            } catch {
                throw ValidationError(error.message)
            }
        }
    }
}

extension ManualPage {
    /// The name of a page without its section: `martlet`, or `martlet-get`.
    static func name(of command: String?) -> String { "martlet" + (command.map { "-\($0)" } ?? "") }

    /// The description of this program.
    ///
    /// - Throws: `DecodingError` if ArgumentParser's description has an unexpected format.
    static func tool() throws -> ToolDescription.Command { try self.tool(MartletCommand._dumpHelp()) }

    /// A manual page of this program; `nil` for the one of all commands.
    ///
    /// - Throws: `DecodingError` if ArgumentParser's description has an unexpected format.
    static func current(_ command: String? = nil) throws -> String {
        let tool = try self.tool()
        guard let command else { return self.page(of: tool) }
        guard let found = (tool.subcommands ?? []).first(where: { $0.commandName == command }) else { return "" }
        return self.page(of: found, in: tool)
    }
}
