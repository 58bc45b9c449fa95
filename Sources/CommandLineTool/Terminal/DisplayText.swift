// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// Makes untrusted text safe for a terminal, and shortens text to a number of columns.
enum DisplayText {
    /// Replaces all control, format and line-separating characters.
    ///
    /// Otherwise a name could move the cursor, change the window title or reverse the direction of text.
    static func clean(_ text: String, asciiOnly: Bool = false) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isDisplayable && (!asciiOnly || scalar.isASCII) {
                cleaned.append(scalar)
            } else {
                cleaned.append(asciiOnly ? "?" : "\u{FFFD}")
            }
        }
        return String(cleaned)
    }

    /// Shortens the text to `columns` by omitting its middle: the end of a name is as significant as its start.
    static func elided(_ text: String, to columns: Int, mark: String = "…") -> String {
        guard columns > 0 else { return "" }
        guard DisplayWidth.of(text) > columns else { return text }
        let room = columns - DisplayWidth.of(mark)
        guard room > 1 else { return self.start(of: text, within: columns) }
        let front = self.start(of: text, within: (room + 1) / 2)
        let back = self.end(of: text, within: room - DisplayWidth.of(front))
        return front + mark + back
    }

    /// The text with a width of exactly `columns`, elided or padded with spaces.
    static func fitted(_ text: String, to columns: Int, mark: String = "…") -> String {
        let short = self.elided(text, to: columns, mark: mark)
        return short + String(repeating: " ", count: max(0, columns - DisplayWidth.of(short)))
    }

    /// The longest prefix that fits in `columns`.
    static func start(of text: String, within columns: Int) -> String {
        var used = 0
        var kept = ""
        for character in text {
            used += DisplayWidth.of(character)
            if used > columns { break }
            kept.append(character)
        }
        return kept
    }

    private static func end(of text: String, within columns: Int) -> String {
        var used = 0
        var kept: [Character] = []
        for character in text.reversed() {
            used += DisplayWidth.of(character)
            if used > columns { break }
            kept.append(character)
        }
        return String(kept.reversed())
    }
}
