// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import TransferEngine

// Options for another process: as arguments for a daemon that is started, and as options in the daemon's queue.

extension OptionSpec {
    /// The option with its value, if there is one; joined by `=`, so that a leading dash of the value begins no option.
    func arguments(_ value: Value?) -> [String] { value.map { ["--\(self.name)=\(self.syntax.text($0))"] } ?? [] }

    /// The option with each of its values.
    func arguments(_ values: [Value]) -> [String] { values.flatMap { self.arguments($0) } }
}

extension OptionSpec<Bool> {
    /// The flag, if it is given.
    func arguments(_ isGiven: Bool) -> [String] { isGiven ? ["--\(self.name)"] : [] }
}

extension TransferOptions {
    /// Sets an option of the table, if there is a value; one that may have several gets one more.
    ///
    /// - Precondition: The daemon has the option.
    mutating func set<Value>(_ spec: OptionSpec<Value>, _ value: Value?) {
        guard let value, let stored = spec.stored, let name = OptionName(rawValue: stored.name) else { return }
        if name.hasSeveral {
            self[all: name].append(stored.text(value))
        } else {
            self[name] = stored.text(value)
        }
    }
}
