// SPDX-License-Identifier: Apache-2.0
/// How the values of an option are written: on a command line, in a file of URLs, over RPC.
package struct OptionSyntax<Value: Sendable>: Sendable {
    /// The placeholder of a value in help texts, such as `seconds`.
    package let valueName: String
    /// The completion of a value in a shell.
    package let completion: OptionCompletion
    private let parse: @Sendable (String) throws(SyntaxError) -> Value
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
        parse: @escaping @Sendable (String) throws(SyntaxError) -> Value,
        write: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.valueName = valueName
        self.completion = completion
        self.parse = parse
        self.write = write
    }

    /// Parses a value.
    ///
    /// - Throws: ``SyntaxError`` if the text is not one.
    package func value(_ text: String) throws(SyntaxError) -> Value { try self.parse(text) }

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
    case words([String])
}
