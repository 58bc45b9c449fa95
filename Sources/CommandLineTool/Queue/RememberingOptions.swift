// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferEngine
import Control
import Daemon

/// Options of `martlet daemon` for what it remembers.
struct RememberingOptions: ParsableArguments {
    @Flag(.showOptions) var showOptions = false

    @Flag(.forgetOptions) var forgetOptions = false

    /// Whether a start is not what was requested.
    var isGiven: Bool { self.showOptions || self.forgetOptions }

    /// Shows or forgets the options of a state directory.
    ///
    /// - Returns: The exit status.
    /// - Throws: `ControlError` if they cannot be read or forgotten.
    func perform(_ state: StateDirectory, _ console: Console) throws(ControlError) -> Int32 {
        if self.showOptions { return try self.show(state, console) }
        let hadAny = try RememberedOptions.forget(state)
        console.print(hadAny ? "forgotten" : "no options are remembered")
        if hadAny, let process = DaemonLock.holder(of: state.lockPath) {
            console.tell("martlet: the daemon that runs (process \(process)) keeps its options until it stops")
        }
        return ExitStatus.success
    }

    private func show(_ state: StateDirectory, _ console: Console) throws(ControlError) -> Int32 {
        guard let options = try RememberedOptions.read(state) else {
            console.tell("martlet: no options are remembered in \(state.path)")
            return ExitStatus.success
        }
        console.print(
            (["martlet daemon\(state.option)"] + [options.text].filter { !$0.isEmpty }).joined(separator: " ")
        )
        if options.hadToken {
            console.tell("martlet: the token of the last start is not remembered; later ones use \(state.secretPath)")
        }
        return ExitStatus.success
    }
}
