// SPDX-License-Identifier: Apache-2.0
/// Splits a stream of bytes into lines, with bounded memory.
///
/// Pure value: it consumes chunks of any size.
struct LineSplitter {
    /// A line without its line end.
    enum Line {
        case text(ArraySlice<UInt8>)
        /// A line longer than the limit; its content is dropped.
        case tooLong
    }

    private let limit: Int
    private var held: [UInt8] = []
    private var isTooLong = false
    /// The number of the line that is being read, from 1.
    private(set) var line: Int64 = 1

    /// Creates a splitter.
    ///
    /// - Parameter limit: The maximum length of a line in bytes.
    init(limit: Int) { self.limit = limit }

    /// Whether the input so far ends within a line.
    var isWithinLine: Bool { self.isTooLong || !self.held.isEmpty }

    /// Consumes a chunk, and calls `take` with each complete line and its number.
    mutating func split<E: Error>(_ chunk: ArraySlice<UInt8>, _ take: (Line, Int64) throws(E) -> Void) throws(E) {
        var rest = chunk
        while let feed = rest.firstIndex(of: 0x0A) {
            let end = rest[..<feed]
            if self.isTooLong || self.held.count + end.count > self.limit {
                try take(.tooLong, self.line)
            } else if self.held.isEmpty {
                try take(.text(Self.withoutReturn(end)), self.line)
            } else {
                self.held += end
                try take(.text(Self.withoutReturn(self.held[...])), self.line)
            }
            self.held.removeAll(keepingCapacity: true)
            self.isTooLong = false
            self.line += 1
            rest = rest[(feed + 1)...]
        }
        guard !self.isTooLong, !rest.isEmpty else { return }
        if self.held.count + rest.count > self.limit {
            self.isTooLong = true
            self.held = []
        } else {
            self.held += rest
        }
    }

    /// Completes the last line if its line end is missing.
    mutating func finish<E: Error>(_ take: (Line, Int64) throws(E) -> Void) throws(E) {
        guard self.isWithinLine else { return }
        defer {
            self.held = []
            self.isTooLong = false
        }
        try take(self.isTooLong ? .tooLong : .text(Self.withoutReturn(self.held[...])), self.line)
    }

    private static func withoutReturn(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == 0x0D ? line.dropLast() : line
    }
}
