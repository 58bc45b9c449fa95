// SPDX-License-Identifier: Apache-2.0
/// The modules of a QR code.
///
/// - Source: ISO/IEC 18004:2015 §6.3, §7.7 to §7.10.
struct QRGrid: Sendable, Hashable {
    /// The version, 1 to 40.
    let version: Int
    /// The number of modules on a side.
    let size: Int
    private var dark: [Bool]
    /// The modules that codewords and masks leave alone.
    private var isFunction: [Bool]

    init(version: Int) {
        self.version = version
        self.size = 4 * version + 17
        self.dark = Array(repeating: false, count: self.size * self.size)
        self.isFunction = self.dark
    }

    /// Whether a module is dark.
    subscript(_ row: Int, _ column: Int) -> Bool { self.dark[row * self.size + column] }

    private mutating func set(_ row: Int, _ column: Int, _ isDark: Bool) {
        self.dark[row * self.size + column] = isDark
        self.isFunction[row * self.size + column] = true
    }

    // MARK: Function patterns

    /// Draws everything but codewords, and reserves the place of the format.
    mutating func drawFunctionPatterns() {
        for index in 0..<self.size {
            self.set(6, index, index % 2 == 0)
            self.set(index, 6, index % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, self.size - 4), (self.size - 4, 3)] { self.drawFinder(row, column) }
        let positions = self.alignmentPositions
        for row in positions {
            for column in positions {
                let isFinder =
                    row == 6 && (column == 6 || column == self.size - 7) || row == self.size - 7 && column == 6
                if !isFinder { self.drawAlignment(row, column) }
            }
        }
        self.drawFormat(mask: 0)
        self.drawVersion()
    }

    private mutating func drawFinder(_ row: Int, _ column: Int) {
        for down in -4...4 {
            for right in -4...4 {
                let distance = max(abs(down), abs(right))
                let (y, x) = (row + down, column + right)
                guard (0..<self.size).contains(y), (0..<self.size).contains(x) else { continue }
                self.set(y, x, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawAlignment(_ row: Int, _ column: Int) {
        for down in -2...2 {
            for right in -2...2 { self.set(row + down, column + right, max(abs(down), abs(right)) != 1) }
        }
    }

    /// The rows and columns of the centres of alignment patterns.
    ///
    /// - Source: ISO/IEC 18004:2015, annex E.
    var alignmentPositions: [Int] {
        guard self.version > 1 else { return [] }
        let count = self.version / 7 + 2
        let step = self.version == 32 ? 26 : (self.version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { self.size - 7 - $0 * step }.reversed()
    }

    /// Draws the format: level M and the mask.
    mutating func drawFormat(mask: Int) {
        // Level M is 00.
        var remainder = mask
        for _ in 0..<10 { remainder = (remainder << 1) ^ ((remainder >> 9) * 0x537) }
        let bits = (mask << 10 | remainder) ^ 0x5412
        func bit(_ index: Int) -> Bool { (bits >> index) & 1 == 1 }
        for index in 0..<6 { self.set(index, 8, bit(index)) }
        self.set(7, 8, bit(6))
        self.set(8, 8, bit(7))
        self.set(8, 7, bit(8))
        for index in 9..<15 { self.set(8, 14 - index, bit(index)) }
        for index in 0..<8 { self.set(8, self.size - 1 - index, bit(index)) }
        for index in 8..<15 { self.set(self.size - 15 + index, 8, bit(index)) }
        self.set(self.size - 8, 8, true)
    }

    private mutating func drawVersion() {
        guard self.version >= 7 else { return }
        var remainder = self.version
        for _ in 0..<12 { remainder = (remainder << 1) ^ ((remainder >> 11) * 0x1F25) }
        let bits = self.version << 12 | remainder
        for index in 0..<18 {
            let (near, far) = (index / 3, self.size - 11 + index % 3)
            self.set(near, far, (bits >> index) & 1 == 1)
            self.set(far, near, (bits >> index) & 1 == 1)
        }
    }

    // MARK: Codewords

    /// Places codewords in pairs of columns, from the right, upwards and downwards in turn.
    mutating func draw(codewords: [UInt8]) {
        var index = 0
        for (row, column) in self.dataModules {
            guard index < codewords.count * 8 else { return }
            self.dark[row * self.size + column] = (codewords[index / 8] >> UInt8(7 - index % 8)) & 1 == 1
            index += 1
        }
    }

    /// The modules for codewords in their order.
    private var dataModules: [(Int, Int)] {
        var modules: [(Int, Int)] = []
        var isUpwards = true
        var right = self.size - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<self.size {
                let row = isUpwards ? self.size - 1 - step : step
                for column in [right, right - 1] where !self.isFunction[row * self.size + column] {
                    modules.append((row, column))
                }
            }
            isUpwards.toggle()
            right -= 2
        }
        return modules
    }

    /// Inverts the modules of a mask, and draws the format.
    mutating func apply(mask: Int) {
        for row in 0..<self.size {
            for column in 0..<self.size where !self.isFunction[row * self.size + column] {
                if Self.isInverted(mask, row, column) { self.dark[row * self.size + column].toggle() }
            }
        }
        self.drawFormat(mask: mask)
    }

    private static func isInverted(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    // MARK: Penalty

    /// The penalty of the code: a lower one is easier to read.
    ///
    /// - Source: ISO/IEC 18004:2015 §7.8.3.
    var penalty: Int {
        var penalty = 0
        for index in 0..<self.size {
            penalty += Self.penalty(of: (0..<self.size).map { self[index, $0] })
            penalty += Self.penalty(of: (0..<self.size).map { self[$0, index] })
        }
        for row in 0..<self.size - 1 {
            for column in 0..<self.size - 1 {
                let first = self[row, column]
                if self[row, column + 1] == first, self[row + 1, column] == first, self[row + 1, column + 1] == first {
                    penalty += 3
                }
            }
        }
        let share = self.dark.count { $0 } * 100
        let modules = self.size * self.size
        return penalty + abs(share - 50 * modules) / (5 * modules) * 10
    }

    private static let finder = [true, false, true, true, true, false, true]

    /// The penalty of a row or column: runs of a colour, and patterns like those of a finder.
    private static func penalty(of line: [Bool]) -> Int {
        var penalty = 0
        var run = 0
        for index in line.indices {
            run = index > 0 && line[index] == line[index - 1] ? run + 1 : 1
            if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
        }
        for begin in 0...(line.count - 7) where line[begin..<begin + 7].elementsEqual(self.finder) {
            let before = (begin - 4..<begin).allSatisfy { $0 < 0 || !line[$0] }
            let after = (begin + 7..<begin + 11).allSatisfy { $0 >= line.count || !line[$0] }
            if before { penalty += 40 }
            if after { penalty += 40 }
        }
        return penalty
    }
}
