// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// One option of transfers: its names, the syntax of its values, its documentation and its effect.
///
/// Every option of `martlet get`, `put` and `add` is an entry of this kind; the property wrappers of the commands, the
/// options that `add` passes to the daemon, and what the daemon reads are made from it. A file's entries are those of one
/// subject: `OptionSpec+Failures.swift` has retries and timeouts.
package struct OptionSpec<Value: Sendable>: Sendable {
    /// The long name without hyphens, such as `stall-timeout`.
    package private(set) var name: String
    /// The letters that stand for it, without hyphens; their values may follow without a space.
    package let letters: [Character]
    package let syntax: OptionSyntax<Value>
    /// Its effect, in a sentence.
    package private(set) var summary: String
    /// The default, for the help.
    package private(set) var standard: String?
    /// More about it, in sentences.
    package private(set) var details: String?
    /// The daemon's name for it, aria2's if aria2 has it, and the text of a value there; `nil` if the daemon has none.
    package private(set) var stored: Stored?
    /// Sets the option of a transfer; `nil` if a command applies it otherwise.
    package let effect: Effect?

    /// The form of an option in the daemon's queue and RPC.
    package struct Stored: Sendable {
        package let name: String
        package let text: @Sendable (Value) -> String
    }

    /// The effect of a value on the options of a transfer.
    package typealias Effect = @Sendable (inout DownloadOptions, Value) -> Void

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - name: The long name.
    ///   - letters: The letters.
    ///   - syntax: The syntax of values.
    ///   - summary: What it does, in a sentence.
    ///   - standard: What applies without it.
    ///   - details: More about it.
    ///   - stored: The daemon's name for it.
    ///   - effect: Sets the option of a transfer.
    package init(
        _ name: String,
        letters: String = "",
        _ syntax: OptionSyntax<Value>,
        _ summary: String,
        standard: String? = nil,
        details: String? = nil,
        stored: String? = nil,
        effect: Effect? = nil
    ) {
        self.name = name
        self.letters = Array(letters)
        self.syntax = syntax
        self.summary = summary
        self.standard = standard
        self.details = details
        self.stored = stored.map { Stored(name: $0, text: { syntax.text($0) }) }
        self.effect = effect
    }

    /// The same option with another description, for a command in which it is for something else or has another default.
    package func described(_ summary: String, standard: String? = nil, details: String? = nil) -> Self {
        var other = self
        other.summary = summary
        other.standard = standard
        other.details = details
        return other
    }

    /// The same option under another long name.
    package func named(_ name: String) -> Self {
        var other = self
        other.name = name
        return other
    }

    /// The same option with another default.
    package func standard(_ text: String?) -> Self {
        self.described(self.summary, standard: text, details: self.details)
    }

    /// The same option with another text of its values for the daemon than that of the syntax.
    func storing(_ text: @escaping @Sendable (Value) -> String) -> Self {
        var other = self
        other.stored = self.stored.map { Stored(name: $0.name, text: text) }
        return other
    }

    /// Applies a value, if there is one.
    package func apply(_ value: Value?, to options: inout DownloadOptions) {
        if let value, let effect { effect(&options, value) }
    }
}
