// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// An entry of the table of options that the daemon's queue also has, without the type of its values: for documents, and to
/// compare the command line with the queue.
package struct OptionEntry: Sendable {
    /// The long name on the command line, without hyphens.
    package let name: String
    /// The daemon's name.
    package let stored: String
    /// The text for the daemon of a value that is written as on the command line; `nil` if it is not a value.
    package let storedText: @Sendable (String) -> String?

    /// Creates an entry.
    ///
    /// - Parameter spec: The option with its type.
    /// - Precondition: The daemon has the option.
    package init<Value>(_ spec: OptionSpec<Value>) {
        self.name = spec.name
        self.stored = spec.stored?.name ?? ""
        self.storedText = { text in (try? spec.syntax.value(text)).flatMap { spec.stored?.text($0) } }
    }

    /// All of them, by subject.
    package static let all = Self.files + Self.requests + Self.connections + Self.failures
}
