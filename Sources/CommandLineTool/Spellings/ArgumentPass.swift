// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// A pass over arguments that a command could not parse: it translates the spellings of other programs, and finds what no
/// program has, before any value is judged.
///
/// Pure value. It runs only after parsing failed, so that arguments in our own spelling cost nothing.
struct ArgumentPass {
    enum Result: Equatable {
        /// Nothing to translate: the problem is one of our own options.
        case unchanged
        /// The arguments in our spelling.
        case words([String])
        /// The problems, a line each.
        case problem(String)
    }

    /// The options of the command with their hyphens, and whether they have values.
    private let native: [String: Bool]
    /// The name of the command.
    private let command: String
    /// Whether the command transfers files, so that the spellings of other programs are known.
    private let isTransfer: Bool

    private var words: ArraySlice<String> = []
    private var output: [String] = []
    private var problems: [String] = []
    private var isChanged = false
    private var user: String?
    private var password: String?

    /// Creates a pass for a command.
    ///
    /// - Parameters:
    ///   - command: The name of the command.
    ///   - native: Its options with their hyphens, and whether they have values.
    init(command: String, native: [String: Bool]) {
        self.command = command
        self.native = native
        self.isTransfer = ["get", "put", "add"].contains(command)
    }

    /// Translates arguments.
    static func run(_ words: [String], command: String, native: [String: Bool]) -> Result {
        var pass = ArgumentPass(command: command, native: native)
        return pass.run(words)
    }

    private mutating func run(_ words: [String]) -> Result {
        self.words = words[...]
        while let word = self.words.popFirst() {
            if word == "--" {
                self.output.append(word)
                self.output += self.words
                break
            }
            if word == "-" || !word.hasPrefix("-") {
                self.output.append(word)
            } else if word.hasPrefix("--") {
                self.long(word)
            } else {
                self.short(word)
            }
        }
        self.addCredentials()
        if !self.problems.isEmpty { return .problem(self.problems.joined(separator: "\n")) }
        return self.isChanged ? .words(self.output) : .unchanged
    }

    private mutating func long(_ word: String) {
        let equals = word.firstIndex(of: "=")
        let name = String(word[..<(equals ?? word.endIndex)])
        let value = equals.map { String(word[word.index(after: $0)...]) }
        if let hasValue = self.native[name] {
            self.output.append(word)
            if hasValue, value == nil { self.takeValue() }
        } else if self.isTransfer, let option = ForeignOption.named(name) {
            self.apply(option, name, value)
        } else {
            self.unknown(name)
        }
    }

    private mutating func short(_ word: String) {
        // wget has options of one hyphen and two letters.
        if self.isTransfer, word.count == 3, let option = ForeignOption.named(word) {
            self.apply(option, word, nil)
            return
        }
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            // The value of a letter is the rest of the word; as in getopt(3), an equals sign is part of it.
            if let hasValue = self.native[name] {
                if hasValue, letters.isEmpty {
                    self.output.append(name)
                    self.takeValue()
                } else if hasValue {
                    self.output.append(name + letters)
                    return
                } else {
                    self.output.append(name)
                }
            } else if self.isTransfer, let target = Self.joined(name, letters), self.native[target] != nil {
                self.isChanged = true
                self.output.append("\(target)=\(letters)")
                return
            } else if self.isTransfer, let option = ForeignOption.named(name) {
                let hasValue = option.arity == .value && !letters.isEmpty
                self.apply(option, name, hasValue ? String(letters) : nil)
                if hasValue { return }
            } else {
                self.unknown(name)
                return
            }
        }
    }

    /// Passes on the value of one of our options.
    private mutating func takeValue() {
        guard let next = self.words.first, next == "-" || !next.hasPrefix("-") else { return }
        self.output.append(next)
        self.words.removeFirst()
    }

    /// Our option for a letter with a joined number or size, which only aria2 has: `-s16`, `-k1M`.
    private static func joined(_ letter: String, _ value: Substring) -> String? {
        guard let first = value.utf8.first, ASCII.isDigit(first) else { return nil }
        return ["-s": "--connections", "-k": "--min-split-size"][letter]
    }

    private mutating func apply(_ option: ForeignOption, _ name: String, _ given: String?) {
        self.isChanged = true
        if case .answer(let text) = option.meaning {
            if option.arity == .value, given == nil { _ = self.words.popFirst() }
            self.problems.append("\(name): \(text)")
            return
        }
        var value = given ?? ""
        switch option.arity {
        case .flag where given != nil:
            self.problems.append("\(name) has no value; leave out '=\(DisplayText.clean(value))'")
            return
        case .truth where given != nil && value != "true" && value != "false":
            self.problems.append("\(name) is true or false; write \(name)=true or \(name)=false")
            return
        case .value where given == nil:
            guard let next = self.words.popFirst() else {
                self.problems.append("\(name) needs a value")
                return
            }
            value = next
        case .flag, .truth, .value: break
        }
        self.apply(option.meaning, name, value, isFlag: option.arity == .flag)
    }

    private mutating func apply(_ meaning: ForeignOption.Meaning, _ name: String, _ value: String, isFlag: Bool) {
        switch meaning {
        case .option(let target): self.add(isFlag ? [target] : ["\(target)=\(value)"], for: name)
        case .words(_, let translate):
            do throws(SyntaxError) {
                self.add(try translate(value), for: name)
            } catch {
                self.problems.append("\(name): \(SyntaxError(error, of: value))")
            }
        case .usual(let text):
            if value == "false" {
                self.problems.append("\(name)=false: \(text), always; leave it out")
            }
        case .user: self.user = value
        case .password: self.password = value
        case .answer: break
        }
    }

    /// Adds words of ours, if the command has their options.
    private mutating func add(_ words: [String], for name: String) {
        for word in words where self.native[String(word.prefix { $0 != "=" })] == nil {
            self.problems.append("\(name): martlet \(self.command) has no such option")
            return
        }
        self.output += words
    }

    private mutating func addCredentials() {
        if let user {
            self.add(["--user=\(user)" + (self.password.map { ":\($0)" } ?? "")], for: "--http-user")
        } else if let password, let index = self.output.indices.last(where: { self.isUser($0) }) {
            // wget's user is ours, its password is not.
            self.output[index] += ":" + password
        } else if self.password != nil {
            self.problems.append("a password needs a user; write --user NAME, and it is asked for, or --netrc")
        }
    }

    /// Whether a word of the output is a user name without a password: after `--user`, or with it.
    private func isUser(_ index: Int) -> Bool {
        let word = self.output[index]
        guard !word.contains(":") else { return false }
        return word.hasPrefix("--user=") || index > 0 && self.output[index - 1] == "--user"
    }

    private mutating func unknown(_ name: String) {
        var text = "Unknown option '\(DisplayText.clean(name))'"
        if let nearest = self.nearest(to: name) { text += "; did you mean \(nearest)?" }
        self.problems.append(text)
    }

    /// The option that a name resembles, of ours or of another program.
    private func nearest(to name: String) -> String? {
        guard name.utf8.count > 3, name.utf8.count <= 40 else { return nil }
        var names = self.native.keys.filter { $0.hasPrefix("--") }
        if self.isTransfer {
            names += ForeignOption.all.filter { if case .answer = $0.meaning { false } else { true } }
                .flatMap(\.spellings).filter { $0.hasPrefix("--") }
        }
        // Of equally near names the first one, so that the answer is always the same.
        let ranked = names.sorted().map { (name: $0, distance: UnknownCommand.distance(name.lowercased(), $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance * 4 <= name.utf8.count ? best.name : nil
    }
}
