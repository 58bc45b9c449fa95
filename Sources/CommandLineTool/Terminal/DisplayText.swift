/// Text from outside made fit for a terminal: no control characters, no more columns than there is room for.
enum DisplayText {
    /// The text with every control, format and line-separating character replaced.
    ///
    /// A name could otherwise move the cursor, change the title or turn the line's direction.
    static func clean(_ text: String, asciiOnly: Bool = false) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if self.isHarmless(scalar) && (!asciiOnly || scalar.isASCII) {
                cleaned.append(scalar)
            } else {
                cleaned.append(asciiOnly ? "?" : "\u{FFFD}")
            }
        }
        return String(cleaned)
    }

    /// The text within `columns`, its middle left out where it is longer: the end of a name tells as much as its start.
    static func elided(_ text: String, to columns: Int, mark: String = "…") -> String {
        guard columns > 0 else { return "" }
        guard DisplayWidth.of(text) > columns else { return text }
        let room = columns - DisplayWidth.of(mark)
        guard room > 1 else { return self.start(of: text, within: columns) }
        let front = self.start(of: text, within: (room + 1) / 2)
        let back = self.end(of: text, within: room - DisplayWidth.of(front))
        return front + mark + back
    }

    /// The text within exactly `columns`, elided or filled with spaces.
    static func fitted(_ text: String, to columns: Int, mark: String = "…") -> String {
        let short = self.elided(text, to: columns, mark: mark)
        return short + String(repeating: " ", count: max(0, columns - DisplayWidth.of(short)))
    }

    /// The text's start within `columns`.
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

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        // The joiner holds emoji together; the other format characters hide or turn text.
        case .format: scalar.value == 0x200D
        default: true
        }
    }
}
