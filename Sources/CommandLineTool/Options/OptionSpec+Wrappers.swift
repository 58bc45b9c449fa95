// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

// The property wrappers of an entry of the table: a command declares which options it has, and not what they are.

extension OptionSpec {
    /// The names on the command line.
    var names: NameSpecification {
        NameSpecification(
            self.letters.map { .customShort($0, allowingJoined: !self.isFlag) } + [.customLong(self.name)]
        )
    }

    /// Whether it has no value.
    var isFlag: Bool { Value.self == Bool.self }

    /// The text of the help.
    var help: ArgumentHelp {
        ArgumentHelp(
            ArgumentHelp.StringLiteralType(self.standard.map { "\(self.summary) (default: \($0))" } ?? self.summary),
            discussion: self.details ?? "",
            valueName: self.isFlag ? nil : self.syntax.valueName
        )
    }

    /// The completion of its value.
    var completion: CompletionKind? {
        switch self.syntax.completion {
        case .none: nil
        case .file: .file()
        case .directory: .directory
        case .words(let words): .list(words)
        }
    }
}

extension Option {
    /// An option that may be absent.
    init<T: Sendable>(_ spec: OptionSpec<T>) where Value == T? {
        self.init(name: spec.names, help: spec.help, completion: spec.completion) { try spec.syntax.parsed($0) }
    }

    /// An option that may be repeated.
    init<T: Sendable>(wrappedValue: [T], _ spec: OptionSpec<T>) where Value == [T] {
        self.init(wrappedValue: wrappedValue, name: spec.names, help: spec.help, completion: spec.completion) {
            try spec.syntax.parsed($0)
        }
    }
}

extension Option where Value: Sendable {
    /// An option with a default.
    init(wrappedValue: Value, _ spec: OptionSpec<Value>) {
        self.init(wrappedValue: wrappedValue, name: spec.names, help: spec.help, completion: spec.completion) {
            try spec.syntax.parsed($0)
        }
    }
}

extension Flag where Value == Bool {
    /// A flag.
    init(wrappedValue: Bool, _ spec: OptionSpec<Bool>) {
        self.init(wrappedValue: wrappedValue, name: spec.names, help: spec.help)
    }
}

extension Flag where Value == Bool? {
    /// A flag that may be absent, and has a negation.
    init(_ spec: OptionSpec<Bool>) {
        self.init(name: spec.names, inversion: .prefixedNo, help: spec.help)
    }
}

extension OptionSyntax {
    /// Parses a value given by the user.
    ///
    /// - Throws: ``SyntaxError`` with the text, the problem and what to write.
    func parsed(_ text: String) throws(SyntaxError) -> Value {
        do throws(SyntaxError) { return try self.value(text) } catch { throw SyntaxError(error, of: text) }
    }
}

extension SyntaxError {
    /// Describes why a text is not a value.
    init(_ problem: SyntaxError, of text: String) {
        let message = DisplayText.clean(problem.message)
        let remedy = problem.remedy.map { "; write \($0)" } ?? ""
        self.init(problem.code == .optionValue ? "\"\(DisplayText.clean(text))\" \(message)\(remedy)" : message)
    }
}
