// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import TransferEngine

/// An option of aria2c 1.36: its name, its values, and what it does here.
///
/// - Source: `aria2c --help=#all` of aria2 1.36.
struct Aria2Option: Sendable {
    /// The values that an option accepts.
    enum Values: Sendable, Equatable {
        /// `true` or `false`; without a value, `true`.
        case flag
        /// A whole number.
        case number(ClosedRange<Int64>)
        /// A whole number, optionally followed by K or M.
        case size(ClosedRange<Int64>)
        /// One of the words.
        case words([String])
        /// Any text.
        case text
        /// A header field.
        case field
        /// An algorithm, `=` and a digest.
        case digest
        /// Any text, or no value.
        case optionalText
    }

    enum Effect: Sendable, Equatable {
        /// It is one of each download's options.
        case download(OptionName)
        /// It is one of the queue's options.
        case queue(OptionName)
        /// It is a setting of the run, see ``Aria2Settings``.
        case run
        /// It changes nothing: this program has no such mechanism, or always does it.
        case none
        /// It is for BitTorrent, Metalink or FTP, which are refused themselves.
        case otherProtocol
        /// It would change the result, and is refused unless its value is this one; the text is the alternative.
        case refused(unless: String?, String)
    }

    /// The long name, without dashes.
    let name: String
    /// The short name, or `nil`.
    var letter: Character?
    /// The accepted values.
    let values: Values
    let effect: Effect
    /// Whether several values are kept instead of the last one.
    var isRepeated = false

    /// Whether the value may be left out; it is then given only with `=`, or joined to the letter.
    var isValueOptional: Bool { self.values == .flag || self.values == .optionalText }

    /// The option with its letter and a placeholder, as in the help.
    var usage: String {
        let value =
            switch self.values {
            case .flag: "[=true|false]"
            case .number: "=N"
            case .size: "=SIZE"
            case .words(let words): "=" + words.joined(separator: "|")
            case .text: "=VALUE"
            case .field: "=HEADER"
            case .digest: "=TYPE=DIGEST"
            case .optionalText: "[=VALUE]"
            }
        return " " + (self.letter.map { "-\($0), " } ?? "") + "--\(self.name)\(value)"
    }

    /// Checks a value.
    ///
    /// - Throws: ``Aria2Error`` with exit status 28.
    func check(_ value: String) throws(Aria2Error) {
        switch self.values {
        case .flag:
            guard value == "true" || value == "false" else {
                throw self.problem("\(self.name) must be either 'true' or 'false'.")
            }
        case .number(let range):
            guard let number = Int64(value), !value.hasPrefix("+") else {
                throw self.problem("Bad number \(DisplayText.clean(value))")
            }
            guard range.contains(number) else { throw self.problem(self.limits(range)) }
        case .size(let range):
            guard let number = Self.size(value) else { throw self.problem("Bad number \(DisplayText.clean(value))") }
            guard range.contains(number) else { throw self.problem(self.limits(range)) }
        case .words(let words):
            guard words.contains(value) else {
                throw self.problem("\(self.name) must be one of the following: " + words.joined(separator: " "))
            }
        case .field:
            do throws(SyntaxError) {
                _ = try OptionSpec.header.syntax.parsed(value)
            } catch {
                throw self.problem(error.description)
            }
        case .digest:
            do throws(SyntaxError) {
                _ = try OptionSpec.checksum.syntax.parsed(value)
            } catch {
                throw self.problem(error.description)
            }
        case .text, .optionalText:
            guard !value.utf8.contains(0), !value.utf8.contains(0x0A) else {
                throw self.problem("the value contains a line break or a NUL; remove it")
            }
        }
    }

    /// A number of bytes: `1048576`, `1024K`, `1M`.
    static func size(_ text: String) -> Int64? {
        let shift: Int64 =
            switch text.last {
            case "K", "k": 10
            case "M", "m": 20
            default: 0
            }
        guard let number = Int64(shift == 0 ? text : String(text.dropLast())), number >= 0, !text.hasPrefix("+") else {
            return nil
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? nil : bytes
    }

    private func limits(_ range: ClosedRange<Int64>) -> String {
        range.upperBound == Int64.max
            ? "\(self.name) must be greater than or equal to \(range.lowerBound)."
            : "\(self.name) must be between \(range.lowerBound) and \(range.upperBound)."
    }

    private func problem(_ reason: String) -> Aria2Error {
        Aria2Error(
            status: ExitStatus.usage,
            """
            Exception: errorCode=28 We encountered a problem while processing the option '--\(self.name)'.
              -> errorCode=1 \(reason)
            Usage:
            \(self.usage)
            """
        )
    }
}

/// An error that ends `aria2c` before it starts: the text for standard error, and the exit status.
struct Aria2Error: Error, Equatable {
    /// The exit status.
    let status: Int32
    /// Lines of text.
    let text: String

    /// Creates an error.
    init(status: Int32, _ text: String) {
        self.status = status
        self.text = text
    }

    /// The error of aria2 for an argument or a file that it cannot use, with exit status 1.
    static func exception(_ reason: String) -> Aria2Error {
        Aria2Error(status: 1, "Exception caught\nException: errorCode=1 \(reason)\n")
    }
}
