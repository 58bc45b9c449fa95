// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Platform
import TransferCore

/// The programs that a run without the RPC starts on events: `--on-download-complete` and the others.
///
/// - Source: aria2c(1), "Event Hook".
struct Aria2Hooks: Sendable {
    /// The programs by event.
    let programs: [Aria2Hook: String]

    /// Reads the settings.
    init(_ settings: Aria2Settings) {
        var programs: [Aria2Hook: String] = [:]
        for hook in Aria2Hook.allCases {
            programs[hook] = settings.text(hook.rawValue).flatMap { $0.isEmpty ? nil : $0 }
        }
        self.programs = programs
    }

    /// Starts the program of the first event that has one; does not wait for its end.
    ///
    /// - Parameters:
    ///   - hooks: The events: the own one of an end comes before `stop`.
    ///   - id: The file's identifier.
    ///   - path: The file's path, or nothing.
    /// - Returns: The reason why it could not be started, or `nil`.
    func run(_ hooks: [Aria2Hook], _ id: GID, path: String) -> String? {
        guard let program = hooks.lazy.compactMap({ self.programs[$0] }).first else { return nil }
        do {
            let child = try ChildProcess.start([program, id.description, "1", path], environment: [:])
            child.write([])
            try SystemThread.run { _ = child.wait() }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
