// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferEngine
import Control
import Platform
import Receiver

/// `martlet links`: lists and removes the links of `martlet serve`.
struct LinksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: "List or remove the share links of martlet serve.",
        discussion: """
            Lists the links of all directories and addresses that this user serves, one per line: link, file, downloads, \
            end, and 'password' if it has one, separated by tabs. Works while the servers run: a removed link is refused from its next request on.
            """
    )

    @Option(.removedLink) var remove: [String] = []

    func run() throws {
        throw ExitCode(self.execute())
    }

    /// Lists or removes links.
    ///
    /// - Returns: The exit status.
    func execute(environment: (String) -> String? = StateDirectory.environment) -> Int32 {
        let output = OutputStream(STDOUT_FILENO)
        let errors = OutputStream(STDERR_FILENO)
        do {
            let directory = try ServeLinks.directory(environment: environment)
            guard !self.remove.isEmpty else {
                for item in try StoredLinks.list(in: directory) { output.write(Self.line(item) + "\n") }
                return ExitStatus.success
            }
            var status = ExitStatus.success
            for link in self.remove where try !StoredLinks.revoke(link, in: directory) {
                errors.write("martlet: there is no link '\(DisplayText.clean(link))'; see: martlet links\n")
                status = ExitStatus.usage
            }
            return status
        } catch {
            errors.write("martlet: \(DisplayText.clean("\(error)"))\n")
            return ExitStatus.usage
        }
    }

    static func line(_ item: StoredLinks.Item) -> String {
        let limit = item.limit.map { "\(item.completed) of \($0) downloads" } ?? "any downloads"
        return ([item.link, item.file, limit, item.end] + (item.hasPassword ? ["password"] : []))
            .map { DisplayText.clean($0) }.joined(separator: "\t")
    }
}
