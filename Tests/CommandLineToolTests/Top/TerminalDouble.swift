// SPDX-License-Identifier: Apache-2.0
@testable import CommandLineTool

/// A terminal that shows what is written to it, for the sequences that `martlet top` writes.
struct TerminalDouble {
    let columns: Int
    let rows: Int
    private(set) var cells: [[String]]
    private(set) var cursor = (row: 0, column: 0)
    private(set) var showsCursor = true
    /// The parameters of all SGR sequences.
    private(set) var attributes: Set<String> = []
    /// Sequences that it does not know.
    private(set) var unknown: [String] = []

    init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
        self.cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    /// The text of a row.
    func text(_ row: Int) -> String { self.cells[row].joined() }

    mutating func write(_ text: String) {
        var scalars = text.unicodeScalars[...]
        var run = String.UnicodeScalarView()
        while let scalar = scalars.popFirst() {
            guard scalar == "\u{1B}" else {
                run.append(scalar)
                continue
            }
            self.put(String(run))
            run = String.UnicodeScalarView()
            var sequence = ""
            while let next = scalars.popFirst() {
                sequence.unicodeScalars.append(next)
                if next != "[", (0x40...0x7E).contains(next.value) { break }
            }
            self.perform(sequence)
        }
        self.put(String(run))
    }

    private mutating func put(_ text: String) {
        for character in text {
            let width = DisplayWidth.of(character)
            guard self.rows > 0, self.columns > 0, self.cursor.column + width <= self.columns else { continue }
            self.cells[self.cursor.row][self.cursor.column] = String(character)
            for place in 1..<max(2, width) where width > 1 {
                self.cells[self.cursor.row][self.cursor.column + place] = ""
            }
            self.cursor.column += width
        }
    }

    private mutating func perform(_ sequence: String) {
        let parameters = sequence.dropFirst().dropLast()
        switch sequence.last {
        case "H":
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            self.cursor = numbers.count == 2 ? (numbers[0] - 1, numbers[1] - 1) : (0, 0)
        case "K":
            guard self.cursor.row < self.rows else { return }
            for column in min(self.cursor.column, self.columns)..<self.columns {
                self.cells[self.cursor.row][column] = " "
            }
        case "J": self.cells = Array(repeating: Array(repeating: " ", count: self.columns), count: self.rows)
        case "m": self.attributes.formUnion(parameters.split(separator: ";").map(String.init))
        case "h" where parameters == "?25": self.showsCursor = true
        case "l" where parameters == "?25": self.showsCursor = false
        default: self.unknown.append(sequence)
        }
    }
}
