// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import TransferCore

/// The start of a daemon by a command that needs one, and what the command says about it.
enum DaemonStart {
    /// Starts a daemon if none is running, and says so on standard error.
    ///
    /// - Throws: `ControlError` if it cannot be started or reached.
    static func ensure(_ client: ControlClient, _ console: Console, isQuiet: Bool = false) async throws(ControlError) {
        guard try await DaemonLauncher().startIfNeeded(client) else { return }
        let daemon = try await client.daemon()
        if !isQuiet { console.tell(self.line(daemon, client.state)) }
        for line in self.warnings(daemon, client.state, remembers: true) { console.tell(line) }
    }

    /// The line about a daemon that was started: where it listens, and how to stop it.
    static func line(_ daemon: JSON, _ state: StateDirectory) -> String {
        let process = daemon["pid"]?.integer ?? 0
        let places = [state.socketPath] + [daemon["listen"]?.string].compactMap(\.self)
        return "martlet: started a daemon (process \(process)), which listens on \(places.joined(separator: " and ")); "
            + "martlet stop\(state.option) stops it"
    }

    /// The lines about a daemon's options that a user must know of, even if nothing else is printed.
    ///
    /// - Parameters:
    ///   - daemon: The response of `martlet.daemon`.
    ///   - state: The state directory.
    ///   - remembers: Whether the daemon was started without options.
    /// - Returns: The lines.
    static func warnings(_ daemon: JSON, _ state: StateDirectory, remembers: Bool) -> [String] {
        var lines: [String] = []
        let remembered = remembers ? (try? RememberedOptions.read(state)) ?? nil : nil
        if remembered != nil {
            lines.append(
                "martlet: it has the options of its last start; see martlet daemon\(state.option) --show-options"
            )
        }
        if remembered?.hadToken == true {
            lines.append(
                "martlet: the token of that start is not remembered; it requires the one in \(state.secretPath)"
            )
        }
        if let listen = daemon["listen"]?.string, let listening = try? DaemonSettings.Listening(listen),
            listening.exposedAddress != nil
        {
            lines.append("martlet: other machines can reach it on \(listen)")
        }
        return lines
    }
}
