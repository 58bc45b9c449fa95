// SPDX-License-Identifier: Apache-2.0
/// Writes metrics in Prometheus' text format, version 0.0.4.
struct PrometheusText: Sendable {
    /// The kinds of metrics.
    enum Kind: String {
        case counter
        case gauge
    }

    /// The text so far.
    private(set) var text = ""

    /// Adds a metric with one value.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int64) {
        self.add(name, kind, help, [([], "\(value)")])
    }

    /// Adds a metric with one value for each set of labels.
    mutating func add(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        _ values: [(labels: [(String, String)], value: String)]
    ) {
        self.text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for (labels, value) in values {
            self.text += name
            if !labels.isEmpty {
                let parts = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }
                self.text += "{\(parts.joined(separator: ","))}"
            }
            self.text += " \(value)\n"
        }
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
