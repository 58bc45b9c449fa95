// SPDX-License-Identifier: Apache-2.0
/// The text of a notification on the desktop.
///
/// - Source: Desktop Notifications Specification 1.3.
package struct DesktopNotification: Hashable, Sendable {
    /// The name of the application.
    package var application: String
    /// The title, plain text.
    package var summary: String
    /// The text below it, in which `&`, `<` and `>` are escaped.
    package var body: String
    /// Whether it reports a failure.
    package var isFailure: Bool

    /// Creates a notification from texts that may be from outside: their control characters are replaced, their length
    /// is limited, and they do not become markup.
    package init(application: String, summary: String, body: String, isFailure: Bool) {
        self.application = Self.clean(application, limit: 64)
        self.summary = Self.clean(summary, limit: 120)
        self.body = Self.escaped(Self.clean(body, limit: 400))
        self.isFailure = isFailure
    }

    /// Makes a text one line of at most `limit` characters without control and formatting characters; the middle of a
    /// longer one is left out.
    package static func clean(_ text: String, limit: Int) -> String {
        var cleaned = String.UnicodeScalarView()
        // A character may have any number of scalars.
        let scalars = text.unicodeScalars
        let isLong = scalars.count > limit * 8
        let parts = isLong ? Array(scalars.prefix(limit * 4)) + scalars.suffix(limit * 4) : Array(scalars)
        for scalar in parts {
            if scalar.isDisplayable {
                cleaned.append(scalar)
            } else {
                cleaned.append(scalar.value == 0x0A || scalar.value == 0x09 ? " " : "\u{FFFD}")
            }
        }
        let line = String(cleaned)
        guard line.count > limit || line.unicodeScalars.count > limit * 4 else { return line }
        let half = max(1, (limit - 1) / 2)
        let short = "\(line.prefix(half))…\(line.suffix(half))"
        // Characters with very many combining marks.
        return short.unicodeScalars.count > limit * 4 ? String(short.unicodeScalars.prefix(limit * 4)) : short
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
