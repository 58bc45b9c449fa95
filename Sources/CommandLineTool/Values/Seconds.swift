// SPDX-License-Identifier: Apache-2.0
/// Parses a time in seconds.
enum Seconds {
    /// Parses `30`, `0.5`, `90s`; zero means no limit.
    ///
    /// - Throws: ``BadValue`` if the text is negative, not a number, or longer than a year.
    static func parse(_ text: String) throws(BadValue) -> Duration {
        var digits = Substring(text)
        if digits.last == "s" { digits.removeLast() }
        guard digits.first?.isNumber == true, digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let seconds = Double(digits), seconds.isFinite, seconds <= 366 * 86400
        else {
            throw BadValue(
                "\"\(DisplayText.clean(text))\" is not a time; write seconds, such as 30 or 0.5 (0 for no limit)"
            )
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }
}

/// Parses a whole number within bounds.
enum WholeNumber {
    /// Parses a number from `range`.
    ///
    /// - Throws: ``BadValue`` if the text is not a whole number or is out of range.
    static func parse(_ text: String, in range: ClosedRange<Int>) throws(BadValue) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw BadValue(
                "\"\(DisplayText.clean(text))\" is not a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}

/// Parses one of a set of words.
enum Choice {
    /// Returns the choice with this name.
    ///
    /// - Throws: ``BadValue`` with a list of the choices.
    static func parse<Value>(_ text: String, among choices: [Value]) throws(BadValue) -> Value {
        guard let choice = choices.first(where: { "\($0)" == text }) else {
            let known = choices.map { "\($0)" }.joined(separator: ", ")
            throw BadValue("\"\(DisplayText.clean(text))\" is unknown; write one of \(known)")
        }
        return choice
    }
}
