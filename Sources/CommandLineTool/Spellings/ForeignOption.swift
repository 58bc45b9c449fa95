// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// An option of curl, wget or aria2 as their users write it, and its treatment by `martlet get`, `put` and `add`.
///
/// A spelling works if these programs agree on its meaning, or only one of them has it. The others are answered: the
/// message names each reading and what to write for it. None is guessed.
struct ForeignOption: Sendable {
    /// Programs that have an option.
    struct Tools: OptionSet, Sendable {
        let rawValue: UInt8

        static let curl = Tools(rawValue: 1)
        static let wget = Tools(rawValue: 2)
        static let aria2 = Tools(rawValue: 4)

        /// The names, separated by commas.
        var names: String {
            [(Tools.curl, "curl"), (.wget, "wget"), (.aria2, "aria2")].filter { self.contains($0.0) }.map(\.1)
                .joined(separator: ", ")
        }
    }

    /// Whether an option has a value.
    enum Arity: Sendable {
        /// None.
        case flag
        /// The rest of the word, or the next word.
        case value
        /// `=true` or `=false`, or nothing.
        case truth
    }

    /// The treatment of an option.
    enum Meaning: Sendable {
        /// An option of ours with the same value.
        case option(String)
        /// Words of ours for a value, which is empty for a flag.
        case words(shown: String, @Sendable (String) throws(SyntaxError) -> [String])
        /// Nothing: it is so anyway. The text says what.
        case usual(String)
        /// A part of the credentials.
        case user, password
        /// Refused with what to write instead.
        case answer(String)
    }

    /// The spellings with their hyphens.
    let spellings: [String]
    /// The programs that have them.
    let tools: Tools
    /// Whether it has a value.
    let arity: Arity
    /// Its treatment.
    let meaning: Meaning

    init(_ spellings: String, _ tools: Tools, _ arity: Arity, _ meaning: Meaning) {
        self.spellings = spellings.split(separator: " ").map(String.init)
        self.tools = tools
        self.arity = arity
        self.meaning = meaning
    }

    static func named(_ spelling: String) -> ForeignOption? { Self.all.first { $0.spellings.contains(spelling) } }
}
