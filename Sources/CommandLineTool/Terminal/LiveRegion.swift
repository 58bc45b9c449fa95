// SPDX-License-Identifier: Apache-2.0
/// The lines at the bottom of a terminal that are redrawn.
///
/// Pure: it computes the bytes that update the screen from the previous state to the new one.
struct LiveRegion {
    private var widths: [Int] = []

    /// Returns the bytes that print lines above the region and redraw it; an empty `frame` removes it.
    ///
    /// - Parameters:
    ///   - above: Lines to print permanently.
    ///   - frame: The region's lines, each narrower than the terminal.
    ///   - columns: The terminal's current width: if it has shrunk, previous lines occupy several rows.
    /// - Returns: The bytes.
    mutating func draw(above: [String], frame: [String], columns: Int) -> String {
        if above.isEmpty && frame.isEmpty && self.widths.isEmpty { return "" }
        var text = "\r"
        let rows = self.widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
        if rows > 1 { text += "\u{1B}[\(rows - 1)A" }
        for line in above { text += line + "\u{1B}[K\n" }
        for (index, line) in frame.enumerated() { text += line + "\u{1B}[K" + (index < frame.count - 1 ? "\n" : "") }
        text += "\u{1B}[J"
        self.widths = frame.map { DisplayWidth.of($0) }
        return text
    }
}
