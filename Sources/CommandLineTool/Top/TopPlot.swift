// SPDX-License-Identifier: Apache-2.0
/// Draws numbers as a bar chart of characters.
struct TopPlot {
    /// The values, one per column; `nil` where there is none.
    var values: [Double?]
    /// The value of the full height.
    var peak: Double
    /// The height in rows.
    var rows: Int
    /// Whether block characters are used.
    var unicode: Bool

    private static let blocks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let ascii: [Character] = [" ", ".", ".", ":", ":", "|", "|", "#", "#"]

    /// The lines from the top, each with one character per value.
    var lines: [String] {
        let characters = self.unicode ? Self.blocks : Self.ascii
        let full = max(0, self.rows) * 8
        let levels = self.values.map { value -> Int in
            guard let value, value > 0, self.peak > 0 else { return 0 }
            // A small value is still visible.
            return max(1, Int((min(1, value / self.peak) * Double(full)).rounded()))
        }
        return (0..<max(0, self.rows)).reversed()
            .map { row in String(levels.map { characters[($0 - row * 8).clamped(to: 0...8)] }) }
    }
}
