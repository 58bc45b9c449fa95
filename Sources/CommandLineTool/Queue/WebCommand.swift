// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control
import Platform

/// `martlet web`: opens the daemon's page in the browser.
struct WebCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Open the daemon's page in the browser.",
        discussion: """
            Prints a link to the page, which is valid once and for 60 seconds, and opens it if there is a display. \
            Starts the daemon if it is not running.
            """
    )

    @Flag(.noOpen) var noOpen = false

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        let client = try self.daemon.client()
        try await DaemonStart.ensure(client, console)
        guard let link = try await client.call("martlet.pageTicket", [:])["url"]?.string else {
            throw ControlError(
                .protocolMismatch,
                "the daemon returned no link",
                remedy: "restart it with martlet stop, so that both are of the same version"
            )
        }
        console.print(link)
        if !self.noOpen, let opener = Self.opener { self.open(link, with: opener, console) }
        return ExitStatus.success
    }

    /// The program that opens a URL in the user's browser; `nil` without a display.
    private static var opener: String? {
        #if os(macOS)
        return "/usr/bin/open"
        #else
        let displays = ["DISPLAY", "WAYLAND_DISPLAY"].compactMap { StateDirectory.environment($0) }
        return displays.contains { !$0.isEmpty } ? "xdg-open" : nil
        #endif
    }

    /// Opens the link; the user can open a link that could not be opened here.
    private func open(_ link: String, with opener: String, _ console: Console) {
        do throws(ControlError) {
            let process = try ChildProcess.start([opener, link], environment: [:])
            // Not waited for: some openers run as long as the browser.
            process.write([])
        } catch {
            console.tell("martlet: \(error.description); open the link yourself")
        }
    }
}
