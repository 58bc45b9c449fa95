/// The lines at the foot of a terminal that are drawn again and again.
///
/// Pure: it turns lines into the bytes that bring the screen from its last state to the new one.
struct LiveRegion {
    private var widths: [Int] = []

    /// The bytes that print lines above the region and draw it anew, or take it away where `frame` is empty.
    ///
    /// - Parameters:
    ///   - above: Lines that stay.
    ///   - frame: The region's lines, each of fewer columns than the terminal has.
    ///   - columns: The terminal's columns now: after it was made narrower, older lines take several rows.
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
