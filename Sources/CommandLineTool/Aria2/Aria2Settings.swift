// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// The options that were given, by name, and the arguments that are not options.
///
/// Pure value: it parses words as getopt_long(3) does, which aria2 uses, and the lines of its configuration file.
struct Aria2Settings: Sendable, Equatable {
    /// The values by name.
    private(set) var values: [String: [String]] = [:]
    /// The URIs.
    private(set) var arguments: [String] = []
    /// The warnings of the configuration file.
    private(set) var warnings: [String] = []

    /// The line after a missing or an unknown letter.
    private static let failed = "Exception: errorCode=28 Failed to parse command-line options.\n"

    static let usage = """
        Usage: aria2c [OPTIONS] [URI | MAGNET | TORRENT_FILE | METALINK_FILE]...
        See 'aria2c -h'.
        """

    /// Creates settings without options.
    init() {}

    /// Parses the words of a command line.
    ///
    /// - Throws: ``Aria2Error`` for an unknown, ambiguous, refused or wrong option.
    init(parsing words: [String]) throws(Aria2Error) {
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            if word == "--" {
                self.arguments += words[index...]
                return
            }
            if word.hasPrefix("--") {
                try self.parseLong(word, words, &index)
            } else if word.hasPrefix("-"), word != "-" {
                try self.parseShort(word, words, &index)
            } else {
                self.arguments.append(word)
            }
        }
    }

    private mutating func parseLong(_ word: String, _ words: [String], _ index: inout Int) throws(Aria2Error) {
        let equals = word.firstIndex(of: "=")
        let name = String(word[word.index(word.startIndex, offsetBy: 2)..<(equals ?? word.endIndex)])
        let option = try Self.option(name, word)
        if let equals { return try self.set(option, String(word[word.index(after: equals)...])) }
        if option.isValueOptional { return try self.set(option, option.values == .flag ? "true" : "") }
        guard index < words.count else {
            throw Aria2Error(
                status: ExitStatus.usage,
                "aria2c: option '--\(option.name)' requires an argument\n" + Self.usage
            )
        }
        try self.set(option, words[index])
        index += 1
    }

    private mutating func parseShort(_ word: String, _ words: [String], _ index: inout Int) throws(Aria2Error) {
        let letter = word[word.index(after: word.startIndex)]
        let rest = String(word.dropFirst(2))
        guard let option = Aria2OptionList.letter(letter) else {
            let shown = DisplayText.clean(String(letter))
            throw Aria2Error(
                status: ExitStatus.usage,
                "aria2c: invalid option -- '\(shown)'\n" + Self.failed + Self.usage
            )
        }
        if option.isValueOptional {
            return try self.set(option, rest.isEmpty && option.values == .flag ? "true" : rest)
        }
        if !rest.isEmpty { return try self.set(option, rest) }
        guard index < words.count else {
            throw Aria2Error(
                status: ExitStatus.usage,
                "aria2c: option requires an argument -- '\(letter)'\n" + Self.failed + Self.usage
            )
        }
        try self.set(option, words[index])
        index += 1
    }

    /// The option of a long name or of a unique beginning of one.
    private static func option(_ name: String, _ word: String) throws(Aria2Error) -> Aria2Option {
        if let option = Aria2OptionList.named(name) { return option }
        let found = name.isEmpty ? [] : Aria2OptionList.beginning(with: name)
        if found.count == 1 { return found[0] }
        let shown = DisplayText.clean(word)
        if found.count > 1 {
            let names = found.map { "'--\($0.name)'" }.joined(separator: " ")
            throw Aria2Error(
                status: ExitStatus.usage,
                "aria2c: option '\(shown)' is ambiguous; possibilities: \(names)\n" + self.usage
            )
        }
        let near = Aria2OptionList.all.map { ($0.name, UnknownCommand.distance(name.lowercased(), $0.name)) }
            .filter { $0.1 * 3 <= $0.0.utf8.count + 2 }.sorted { $0.1 < $1.1 }.prefix(3)
        let advice = near.isEmpty ? "" : "\n\nDid you mean:" + near.map { "\n\t--\($0.0)" }.joined()
        throw Aria2Error(
            status: ExitStatus.usage,
            "aria2c: unrecognized option '\(name.utf8.count > 200 ? "--…" : shown)'\n" + self.usage + advice
        )
    }

    private mutating func set(_ option: Aria2Option, _ value: String) throws(Aria2Error) {
        if case .refused(let harmless, let remedy) = option.effect {
            if value == harmless { return }
            throw Aria2Error(
                status: ExitStatus.usage,
                "aria2c: the option '--\(option.name)' is not supported by martlet: \(remedy)\n" + Self.usage
            )
        }
        try option.check(value)
        if option.isRepeated {
            self.values[option.name, default: []].append(value)
        } else {
            self.values[option.name] = [value]
        }
    }

    /// The words for another process that runs in the foreground, without the token.
    var words: [String] {
        let kept = self.values.filter { !["daemon", "rpc-secret", "rpc-passwd"].contains($0.key) }
        let options = kept.sorted { $0.key < $1.key }.flatMap { name, values in values.map { "--\(name)=\($0)" } }
        return options + ["--"] + self.arguments
    }

    // MARK: The configuration file

    /// Adds a line of the configuration file; options that have been given already are kept.
    ///
    /// - Parameters:
    ///   - line: `name=value`, a comment that begins with `#`, or nothing.
    ///   - home: The user's home directory, for `${HOME}`.
    /// - Throws: ``Aria2Error`` for a wrong value or a refused option.
    mutating func add(configuration line: String, home: String?) throws(Aria2Error) {
        let line = line.trimmingBlanks
        guard !line.isEmpty, !line.hasPrefix("#") else { return }
        let equals = line.firstIndex(of: "=")
        let name = line[..<(equals ?? line.endIndex)].trimmingBlanks
        var value = equals.map { line[line.index(after: $0)...].trimmingBlanks } ?? ""
        guard let option = Aria2OptionList.named(name) else {
            if self.warnings.count < 64 { self.warnings.append("Unknown option: \(DisplayText.clean(line))") }
            return
        }
        if let home, value.hasPrefix("${HOME}") { value = home + value.dropFirst("${HOME}".count) }
        try self.set(option, value)
    }

    /// These settings over others: options that are set here replace the same ones there.
    func over(_ others: Aria2Settings) -> Aria2Settings {
        var all = self
        all.values = others.values.merging(self.values) { $1 }
        all.warnings = others.warnings + self.warnings
        return all
    }

    // MARK: Reading

    /// The last value of an option.
    func text(_ name: String) -> String? { self.values[name]?.last }

    /// The value of a flag, or `nil` if it was not given.
    func flag(_ name: String) -> Bool? { self.text(name).map { $0 == "true" } }

    /// A number, or `nil` if it was not given.
    func number(_ name: String) -> Int? { self.text(name).flatMap { Int($0) } }

    /// The options of each download.
    var downloadOptions: TransferOptions { self.options { if case .download(let name) = $0 { name } else { nil } } }

    var queueOptions: TransferOptions { self.options { if case .queue(let name) = $0 { name } else { nil } } }

    private func options(_ name: (Aria2Option.Effect) -> OptionName?) -> TransferOptions {
        var options = TransferOptions()
        for option in Aria2OptionList.all {
            guard let values = self.values[option.name], let name = name(option.effect) else { continue }
            options[all: name] = values
        }
        return options
    }
}
