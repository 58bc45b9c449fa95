// SPDX-License-Identifier: Apache-2.0
/// Splits a stream of bytes into lines, with bounded memory.
///
/// Pure value: it consumes chunks of any size.
struct LineSplitter {
    /// A line without its line end.
    enum Line {
        case text(ArraySlice<UInt8>)
        /// A line longer than the limit; its content is dropped.
        ///
        /// `hasReturns`: whether it has a CR before its end.
        case tooLong(hasReturns: Bool)
    }

    private let limit: Int
    private var held: [UInt8] = []
    private var isTooLong = false
    /// Of a line that is too long: its CRs, and whether one is its last byte so far.
    private var returns = (count: 0, isLast: false)
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
                self.drop(end)
                try take(.tooLong(hasReturns: self.hasReturns), self.line)
            } else if self.held.isEmpty {
                try take(.text(Self.withoutReturn(end)), self.line)
            } else {
                self.held += end
                try take(.text(Self.withoutReturn(self.held[...])), self.line)
            }
            self.held.removeAll(keepingCapacity: true)
            self.isTooLong = false
            self.returns = (0, false)
            self.line += 1
            rest = rest[(feed + 1)...]
        }
        guard !rest.isEmpty else { return }
        if self.isTooLong || self.held.count + rest.count > self.limit { self.drop(rest) } else { self.held += rest }
    }

    /// Drops a part of a line that is too long, and what is held of it.
    private mutating func drop(_ part: ArraySlice<UInt8>) {
        self.isTooLong = true
        for bytes in [self.held[...], part] {
            self.returns.count += bytes.count { $0 == 0x0D }
            if let last = bytes.last { self.returns.isLast = last == 0x0D }
        }
        self.held = []
    }

    /// Whether a line that is too long has a CR that is not part of its end.
    private var hasReturns: Bool { self.returns.count > (self.returns.isLast ? 1 : 0) }

    /// Completes the last line if its line end is missing.
    mutating func finish<E: Error>(_ take: (Line, Int64) throws(E) -> Void) throws(E) {
        guard self.isWithinLine else { return }
        defer {
            self.held = []
            self.isTooLong = false
        }
        let line =
            self.isTooLong
            ? Line.tooLong(hasReturns: self.hasReturns) : .text(Self.withoutReturn(self.held[...]))
        try take(line, self.line)
    }

    private static func withoutReturn(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == 0x0D ? line.dropLast() : line
    }
}
