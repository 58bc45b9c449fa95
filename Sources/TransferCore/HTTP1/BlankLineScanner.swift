// SPDX-License-Identifier: Apache-2.0
/// Finds the blank line that ends a block of field lines, across any split of the input.
struct BlankLineScanner: Sendable {
    private enum State: Sendable {
        case inLine
        case afterLF
        case afterLFAndCR
    }

    private var state: State

    /// Creates a scanner.
    ///
    /// - Parameter atLineStart: Whether an immediate line end would be the blank line.
    init(atLineStart: Bool) {
        self.state = atLineStart ? .afterLF : .inLine
    }

    /// Continues at `start`; returns the offset after the blank line, or `nil` if the input ends before it.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var state = self.state
        var index = start
        while index < bytes.count {
            // Bounds: `start` is an offset of the input, and `index` is compared with the count.
            if case .inLine = state {
                index = bytes.firstControl(from: index)
                guard index < bytes.count else { break }
            }
            let byte = bytes[index]
            index += 1
            switch state {
            case .inLine:
                if byte == Byte.lf { state = .afterLF }
            case .afterLF:
                if byte == Byte.lf { return index }
                state = byte == Byte.cr ? .afterLFAndCR : .inLine
            case .afterLFAndCR:
                if byte == Byte.lf { return index }
                // A bare CR; the parser refuses it when the block is complete.
                state = .inLine
            }
        }
        self.state = state
        return nil
    }
}
