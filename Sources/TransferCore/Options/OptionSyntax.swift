// SPDX-License-Identifier: Apache-2.0
/// How the values of an option are written: on a command line, in a file of URLs, over RPC.
package struct OptionSyntax<Value: Sendable>: Sendable {
    /// The placeholder of a value in help texts, such as `seconds`.
    package let valueName: String
    /// The completion of a value in a shell.
    package let completion: OptionCompletion
    private let parse: @Sendable (String) throws(OptionProblem) -> Value
    private let write: @Sendable (Value) -> String

    /// Creates a syntax.
    ///
    /// - Parameters:
    ///   - valueName: The placeholder of a value.
    ///   - completion: The completion in a shell.
    ///   - parse: Parses a text.
    ///   - write: Writes a value so that `parse` returns it.
    package init(
        _ valueName: String,
        completion: OptionCompletion = .none,
        parse: @escaping @Sendable (String) throws(OptionProblem) -> Value,
        write: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.valueName = valueName
        self.completion = completion
        self.parse = parse
        self.write = write
    }

    /// Parses a value.
    ///
    /// - Throws: ``OptionProblem`` if the text is not one.
    package func value(_ text: String) throws(OptionProblem) -> Value { try self.parse(text) }

    /// The text of a value.
    package func text(_ value: Value) -> String { self.write(value) }

    /// The same syntax with another placeholder.
    package func named(_ valueName: String) -> Self {
        Self(valueName, completion: self.completion, parse: self.parse, write: self.write)
    }
}

/// The completion of an option's value in a shell.
package enum OptionCompletion: Sendable, Hashable {
    /// Nothing.
    case none
    /// Names of files.
    case file
    /// Names of directories.
    case directory
    /// Words.
    case words([String])
}

/// The reason for which a text is not a value of an option.
package struct OptionProblem: Error, Sendable, Hashable {
    /// The words after the text in a message, such as `is not a size`; or the whole message.
    package let complaint: String
    /// The accepted form, such as `a number of bytes such as 500K`, or `nil` if the complaint says it.
    package let wanted: String?
    /// Whether the complaint is the whole message.
    package let isWhole: Bool

    /// Creates a problem whose message begins with the text.
    package init(_ complaint: String, write wanted: String? = nil) {
        self.complaint = complaint
        self.wanted = wanted
        self.isWhole = false
    }

    /// Creates a problem with its own message.
    package init(message: String) {
        self.complaint = message
        self.wanted = nil
        self.isWhole = true
    }
}
