// SPDX-License-Identifier: Apache-2.0
/// Computes what to write to the terminal so that it shows a frame.
///
/// Pure: only the lines that differ from the last frame are written, so that little is sent over a slow connection.
///
/// - Source: ECMA-48 §8.3 (CUP, EL, ED, SGR); xterm's private modes.
struct TopPainter {
    private var shown = TopFrame()
    private let colour: Bool

    /// Switches to the alternate screen, hides the cursor, ends automatic wrapping and begins bracketed paste.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h\u{1B}[0m\u{1B}[2J"
    /// Restores the terminal; one without an alternate screen is cleared.
    static let leave = "\u{1B}[0m\u{1B}[2J\u{1B}[H\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Creates a painter of an empty terminal.
    init(colour: Bool) { self.colour = colour }

    /// The bytes that show a frame.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - repaints: Whether every line is written, because the terminal's content is not known.
    /// - Returns: The bytes; empty if nothing has changed.
    mutating func text(for frame: TopFrame, repaints: Bool = false) -> String {
        var text = ""
        let all = repaints || frame.lines.count != self.shown.lines.count
        if all { text += "\u{1B}[0m\u{1B}[2J" }
        for (row, line) in frame.lines.enumerated() where all || self.shown.lines[row] != line {
            // Erased first: after the last column, EL would erase the last character on some terminals.
            text += "\u{1B}[\(row + 1);1H" + (all ? "" : "\u{1B}[K") + self.text(of: line)
        }
        if frame.cursor != self.shown.cursor || !text.isEmpty {
            if let cursor = frame.cursor {
                text += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h"
            } else if self.shown.cursor != nil || all {
                text += "\u{1B}[?25l"
            }
        }
        self.shown = frame
        return text
    }

    private func text(of line: TopLine) -> String {
        var text = ""
        var current = ""
        for (index, span) in line.spans.enumerated() {
            var part = span.text
            let parameter = span.style.parameter(colour: self.colour)
            if index == line.spans.count - 1, parameter != TopStyle.reverse.parameter(colour: self.colour) {
                while part.utf8.last == 0x20 { part.removeLast() }
            }
            if parameter != current {
                text += "\u{1B}[0" + (parameter.isEmpty ? "" : ";" + parameter) + "m"
                current = parameter
            }
            text += part
        }
        return current.isEmpty ? text : text + "\u{1B}[0m"
    }
}
