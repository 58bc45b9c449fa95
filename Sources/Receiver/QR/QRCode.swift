// SPDX-License-Identifier: Apache-2.0
/// A QR code for a text: model 2, byte mode, error correction level M.
///
/// Pure value. The version is the smallest one that fits, the mask the one with the lowest penalty.
///
/// - Source: ISO/IEC 18004:2015.
package struct QRCode: Sendable, Hashable {
    /// The number of modules on a side, without the quiet zone.
    package let size: Int
    /// The version, 1 to 40.
    let version: Int
    /// The number of the mask, 0 to 7.
    let mask: Int
    private let grid: QRGrid

    /// The number of light modules that must surround the code.
    package static let quietZone = 4

    /// Encodes a text.
    ///
    /// - Returns: `nil` if it has more than 2,331 bytes in UTF-8.
    package init?(_ text: String) { self.init(text, masks: Array(0..<8)) }

    /// Encodes a text with the best of some masks.
    init?(_ text: String, masks: [Int]) {
        let bytes = Array(text.utf8)
        guard let version = (1...40).first(where: { QRBlocks($0).capacity >= bytes.count }) else { return nil }
        let blocks = QRBlocks(version)
        var plain = QRGrid(version: version)
        plain.drawFunctionPatterns()
        plain.draw(codewords: blocks.interleaved(blocks.codewords(of: bytes)))
        var best: (penalty: Int, mask: Int, grid: QRGrid)?
        for mask in masks {
            var grid = plain
            grid.apply(mask: mask)
            let penalty = masks.count > 1 ? grid.penalty : 0
            if penalty < best?.penalty ?? .max { best = (penalty, mask, grid) }
        }
        guard let best else { return nil }
        self.version = version
        self.size = plain.size
        self.mask = best.mask
        self.grid = best.grid
    }

    /// Whether a module is dark; modules outside the code are light.
    package func isDark(_ row: Int, _ column: Int) -> Bool {
        (0..<self.size).contains(row) && (0..<self.size).contains(column) && self.grid[row, column]
    }

    /// The code with its quiet zone as an SVG image, black on white.
    package var svg: String {
        let side = self.size + 2 * Self.quietZone
        var path = ""
        for row in 0..<self.size {
            var column = 0
            while column < self.size {
                var end = column
                while self.isDark(row, end) { end += 1 }
                if end > column {
                    path += "M\(column + Self.quietZone) \(row + Self.quietZone)h\(end - column)v1h-\(end - column)z"
                }
                column = max(end, column + 1)
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">\
            <path fill="#fff" d="M0 0h\(side)v\(side)h-\(side)z"/><path d="\(path)"/></svg>

            """
    }

    /// The code with its quiet zone as lines for a terminal: two rows of modules in a line, white on black.
    package var lines: [String] {
        let modules = -Self.quietZone..<self.size + Self.quietZone
        return stride(from: modules.lowerBound, to: modules.upperBound, by: 2)
            .map { row in
                let text = modules.map { column in
                    // A row that is missing below the last one is outside the code.
                    switch (self.isDark(row, column), self.isDark(row + 1, column)) {
                    case (false, false): "█"
                    case (false, true): "▀"
                    case (true, false): "▄"
                    case (true, true): " "
                    }
                }
                return text.joined()
            }
    }
}
