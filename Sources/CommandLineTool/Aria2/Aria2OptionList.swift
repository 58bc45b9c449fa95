// SPDX-License-Identifier: Apache-2.0
import Control

/// The table of aria2's options.
enum Aria2OptionList {
    /// All options, in the order of the help.
    static let all: [Aria2Option] = Self.downloads + Self.runs + Self.unused + Self.otherProtocols + Self.refused

    private static let byName = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.name, $0) })

    /// The option of a name, or `nil`.
    static func named(_ name: String) -> Aria2Option? { self.byName[name] }

    /// The option of a letter, or `nil`.
    static func letter(_ letter: Character) -> Aria2Option? { self.all.first { $0.letter == letter } }

    /// The options whose names begin with a text.
    static func beginning(with text: String) -> [Aria2Option] { self.all.filter { $0.name.hasPrefix(text) } }

    // MARK: Making entries

    static let anyNumber: ClosedRange<Int64> = 0...Int64.max

    static func download(
        _ name: OptionName,
        _ values: Aria2Option.Values,
        _ letter: Character? = nil,
        isRepeated: Bool = false
    ) -> Aria2Option {
        Aria2Option(
            name: name.rawValue,
            letter: letter,
            values: values,
            effect: .download(name),
            isRepeated: isRepeated
        )
    }

    static func queue(_ name: OptionName, _ values: Aria2Option.Values, _ letter: Character? = nil) -> Aria2Option {
        Aria2Option(name: name.rawValue, letter: letter, values: values, effect: .queue(name))
    }

    static func run(
        _ name: String,
        _ values: Aria2Option.Values,
        _ letter: Character? = nil,
        isRepeated: Bool = false
    ) -> Aria2Option {
        Aria2Option(name: name, letter: letter, values: values, effect: .run, isRepeated: isRepeated)
    }

    static func none(_ name: String, _ values: Aria2Option.Values, _ letter: Character? = nil) -> Aria2Option {
        Aria2Option(name: name, letter: letter, values: values, effect: .none)
    }

    static func other(_ name: String, _ values: Aria2Option.Values, _ letter: Character? = nil) -> Aria2Option {
        Aria2Option(name: name, letter: letter, values: values, effect: .otherProtocol)
    }

    static func refused(
        _ name: String,
        _ values: Aria2Option.Values,
        letter: Character? = nil,
        unless value: String? = nil,
        _ remedy: String
    ) -> Aria2Option {
        Aria2Option(name: name, letter: letter, values: values, effect: .refused(unless: value, remedy))
    }
}
