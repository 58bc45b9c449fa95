// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control

/// The options of a list's entries: those of neighbours are usually the same, and then parsed once and shared.
struct CheckedOptions {
    private var last: (json: JSON, options: TransferOptions)?

    /// Returns the options in an object; see ``TransferOptions/init(checking:)``.
    mutating func options(_ json: JSON) throws(ControlError) -> TransferOptions {
        if let last, last.json == json { return last.options }
        let options = try TransferOptions(checking: json)
        self.last = (json, options)
        return options
    }
}

extension TransferOptions {
    /// Parses options from a client: drops unknown names and those without effect, validates values and normalizes them.
    ///
    /// An empty value counts as missing, except for options whose empty text removes a default.
    ///
    /// - Throws: `badParameter` that names the option, also for an unsupported option of aria2 that would change the
    ///   result.
    init(checking json: JSON) throws(ControlError) {
        self.init()
        try Aria2OptionTable.check(json)
        let given = TransferOptions(json: json)
        for name in given.names {
            let option = QueueOption(name)
            var values: [String] = []
            for text in given[all: name] {
                // aria2.getOption returns header fields as lines, and web clients send them back.
                let parts = name.hasSeveral ? text.split(whereSeparator: \.isNewline).map(String.init) : [text]
                for part in parts where !part.isEmpty || option.mayBeEmpty {
                    do throws(SyntaxError) {
                        values.append(try option.rule.value(part))
                    } catch {
                        throw Self.error(name, part, error)
                    }
                }
            }
            self[all: name] = values
        }
    }

    private static func error(_ name: OptionName, _ value: String, _ problem: SyntaxError) -> ControlError {
        let shown = name.isSecret ? "its value" : "\"\(value.prefix(64))\""
        return ControlError(
            .badParameter,
            "We encountered a problem while processing the option '--\(name.rawValue)'. "
                + "\(shown) \(problem.message): expected \(problem.remedy ?? "another")",
            remedy: problem.remedy.map { "give \($0)" } ?? ""
        )
    }
}
