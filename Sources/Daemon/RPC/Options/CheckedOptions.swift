internal import Control

extension TransferOptions {
    /// Reads options that somebody sent: unknown names are left out, values are checked and brought to one form.
    ///
    /// An empty value is as if the option had not been given, but for texts.
    ///
    /// - Throws: `badParameter` that names the option.
    init(checking json: JSON) throws(ControlError) {
        self.init()
        let given = TransferOptions(json: json)
        for name in given.names {
            let rule = OptionRule.of(name)
            var values: [String] = []
            for text in given[all: name] {
                // getOption gives header fields as lines, and pages send that back.
                let parts = name.hasSeveral ? text.split(whereSeparator: \.isNewline).map(String.init) : [text]
                for part in parts where !part.isEmpty || name.mayBeEmpty {
                    do throws(OptionProblem) {
                        values.append(try rule.value(part))
                    } catch {
                        throw Self.error(name, part, error)
                    }
                }
            }
            self[all: name] = values
        }
    }

    private static func error(_ name: OptionName, _ value: String, _ problem: OptionProblem) -> ControlError {
        let shown = name.isSecret ? "its value" : "\"\(value.prefix(64))\""
        return ControlError(
            .badParameter,
            "We encountered a problem while processing the option '--\(name.rawValue)'. "
                + "\(shown) is not what it takes: \(problem.wanted)",
            remedy: "give \(problem.wanted)"
        )
    }
}

extension OptionName {
    /// Whether an empty value says something: it takes a default off.
    fileprivate var mayBeEmpty: Bool {
        switch self {
        case .referer, .userAgent, .allProxy, .httpProxy, .httpsProxy, .noProxy, .httpUser, .httpPassword: true
        case .description, .userInfo: true
        default: false
        }
    }
}
